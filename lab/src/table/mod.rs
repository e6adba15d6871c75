//! The documents' tables: rows of tasks, contestants that do them in turns, the document's numbers
//! beside.
//!
//! | table | experiment |
//! | --- | --- |
//! | [`map`] | E1: what a lookup costs |
//! | [`product_line`] | E10: the 48 generated bases |
//! | [`ftp`] | E4–E7: latency, throughput, processor time and memory of file transfer |
//! | [`artp`] | E22: ARTP beside TCP and UDP |
//! | [`transports`] | ours and strangers': bulk, requests, associations |
//! | [`loss`] | goodput where packets are lost, near and far |
//! | [`paths`] | how much of each path is used, slow and fast, near and far |
//! | [`xtp`] | E14: XTP beside TCP and UDP by the length of messages |
//! | [`recovery`] | E16: selective repeat beside go-back-N |
//! | [`fairness`] | how two transfers share a link |
//! | [`soak`] | E25: many octets, many associations, and what they hold |
//! | [`jis`] | E17, E18, E20: pictures by a generated protocol |
//! | [`octets`] | E11–E13, E15: checks, their operations, several layers in one pass |
//! | [`wire`] | the limits of this machine: kernel TCP, raw UDP, the crossing of a layer |

mod artp;
mod command;
mod fairness;
mod ftp;
mod jis;
mod loss;
mod map;
mod octets;
mod parallel;
mod paths;
mod product_line;
mod recovery;
mod run;
mod soak;
mod transports;
mod wire;
mod xtp;

pub(crate) use command::Arguments;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};

use crate::measure::{Course, Effort, Limit};

/// What is known of a table before it is measured.
pub(crate) struct About {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it is about, in a few words.
    pub(crate) title: &'static str,
    /// What is measured, and how.
    pub(crate) measures: &'static str,
    /// The document and the table whose numbers stand beside ours; empty where there is none.
    pub(crate) source: &'static str,
    /// The document's axes.
    pub(crate) axes: Axes,
    /// What limits it, which is probed between any two samples.
    pub(crate) limit: Limit,
}

/// A table of the lab.
pub(crate) trait Table {
    /// What is known before.
    fn about(&self) -> About;

    /// The names of all cells that this effort has time for, in the order of the rows.
    fn keys(&self, effort: Effort) -> Vec<String>;

    /// Brings up what these cells stand on, and adds a note where something is missing.
    ///
    /// # Errors
    /// Where nothing can be measured, and why.
    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem>;
}

/// A table that is ready to be measured.
pub(crate) trait Cells {
    /// Measures one cell.
    ///
    /// # Errors
    /// Where a contestant fails.
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem>;
}

/// All tables, in the order of `all`.
pub(crate) fn tables() -> Vec<Box<dyn Table>> {
    vec![
        Box::new(map::Map),
        Box::new(product_line::ProductLine),
        Box::new(ftp::Latency),
        Box::new(ftp::Throughput),
        Box::new(ftp::Cpu),
        Box::new(ftp::Memory),
        Box::new(octets::Checksum),
        Box::new(octets::Operations),
        Box::new(octets::OnePass),
        Box::new(wire::Wire),
        Box::new(artp::Artp),
        Box::new(transports::Transports),
        Box::new(loss::Losses),
        Box::new(paths::Paths),
        Box::new(xtp::Xtp),
        Box::new(recovery::Recovery),
        Box::new(fairness::Fairness),
        Box::new(jis::JisSize),
        Box::new(jis::Jis),
        Box::new(jis::JisFirst),
        Box::new(jis::JisLosses),
        Box::new(soak::Soak),
    ]
}
