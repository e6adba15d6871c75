//! The documents' tables: rows of tasks, contestants that do them in turns, the document's numbers
//! beside.
//!
//! | table | experiment |
//! | --- | --- |
//! | [`map`] | E1: what a lookup costs |
//! | [`demux`] | E2, E3: what a packet costs, by the number of associations |
//! | [`product_line`] | E10: the 48 generated bases |
//! | [`ftp`] | E4–E7: latency, throughput, processor time and memory of file transfer |
//! | [`artp`] | E22: ARTP beside TCP and UDP |
//! | [`transports`] | ours and strangers': bulk, requests, associations |
//! | [`loss`] | goodput where packets are lost, near and far |
//! | [`paths`] | how much of each path is used, slow and fast, near and far |
//! | [`adaptive`] | a transport that fits itself to a path that changes |
//! | [`xtp`] | E14: XTP beside TCP and UDP by the length of messages |
//! | [`recovery`] | E16: selective repeat beside go-back-N |
//! | [`fairness`] | how two transfers share a link |
//! | [`soak`] | E25: many octets, many associations, and what they hold |
//! | [`inet`] | TCP and IP of our own beside smoltcp and the kernel's |
//! | [`bindings`] | ARTP from Rust, C and Python |
//! | [`switching`] | E21: messages that wait for a change of the transport |
//! | [`placement`] | E19: a transport in its program, and in a server |
//! | [`group`] | groups beside others: casts, a replicated store, and how many members there may be |
//! | [`radio`] | E8, E9: files by packet radio |
//! | [`xstp`] | XSTP beside TCP over losses and passes |
//! | [`csma`] | how stations share a radio channel, beside the analysis |
//! | [`jis`] | E17, E18, E20: pictures by a generated protocol |
//! | [`octets`] | E11–E13, E15: checks, their operations, several layers in one pass |
//! | [`wire`] | the limits of this machine: kernel TCP, raw UDP, the crossing of a layer |

mod adaptive;
mod artp;
mod bindings;
mod command;
mod csma;
mod demux;
mod fairness;
mod ftp;
mod group;
mod inet;
mod jis;
mod loss;
mod lossy;
mod map;
mod octets;
mod parallel;
mod paths;
mod placement;
mod product_line;
mod radio;
mod recovery;
mod run;
mod soak;
mod switching;
mod transports;
mod wire;
mod xstp;
mod xtp;

pub(crate) use bindings::BindingsEnd;
pub(crate) use command::Arguments;
pub(crate) use group::GroupScale;
pub(crate) use inet::InetEnd;
pub(crate) use jis::{Arrived, Sending, arrive};

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
    pub(crate) axes: Axes<&'static str>,
    /// What limits it, which is probed between any two samples.
    pub(crate) limit: Limit,
}

/// No axes: rows without places.
const NO_AXES: Axes<&str> = Axes { x: "", y: "", log_x: false, log_y: false };

/// A cell: its row, which has all but samples, and the task that is measured for it.
type Cell<Task> = (Row, Task);

type Open<Task, Ground> = fn(&[Cell<Task>], &mut Vec<String>) -> Result<Ground, Problem>;
type Measure<Task, Ground> = fn(&mut Ground, &Task, &mut Row, &mut Course) -> Result<(), Problem>;

/// A table: its cells as data, and how one of them is measured.
struct Table<Task, Ground> {
    about: About,
    /// The cells that this effort has time for, in the order of the rows. A full effort has time
    /// for all.
    cells: fn(Effort) -> Vec<Cell<Task>>,
    /// Brings up what these cells stand on, and adds a note where something is missing. Fails where
    /// nothing can be measured.
    open: Open<Task, Ground>,
    /// Fills the row of a cell. One that stays empty is left out.
    measure: Measure<Task, Ground>,
}

/// Measures the cell of a key.
type Measuring<'a> = Box<dyn FnMut(&str, &mut Course) -> Result<Row, Problem> + 'a>;

/// A table of the lab, whatever its tasks are.
pub(crate) trait AnyTable {
    /// What is known before.
    fn about(&self) -> &About;

    /// The names of all cells that this effort has time for, in the order of the rows.
    fn keys(&self, effort: Effort) -> Vec<String>;

    /// Brings up what these cells stand on, and adds a note where something is missing.
    ///
    /// # Errors
    /// Where nothing can be measured, and why.
    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Measuring<'_>, Problem>;
}

impl<Task, Ground> AnyTable for Table<Task, Ground> {
    fn about(&self) -> &About {
        &self.about
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        (self.cells)(effort).into_iter().map(|(row, _)| row.key).collect()
    }

    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Measuring<'_>, Problem> {
        let mut cells = (self.cells)(Effort::Full);
        cells.retain(|(row, _)| keys.contains(&row.key));
        let mut ground = (self.open)(&cells, notes)?;
        Ok(Box::new(move |key, course| {
            let cell = cells.iter().find(|(row, _)| row.key == key);
            let (row, task) =
                cell.ok_or_else(|| Problem::usage(format!("this table has no cell {key}")))?;
            let mut row = row.clone();
            (self.measure)(&mut ground, task, &mut row, course)?;
            Ok(row)
        }))
    }
}

/// All tables, in the order of `all`.
pub(crate) fn tables() -> [&'static dyn AnyTable; 35] {
    [
        map::TABLE,
        demux::TABLE,
        product_line::TABLE,
        ftp::LATENCY,
        ftp::THROUGHPUT,
        ftp::CPU,
        ftp::MEMORY,
        octets::CHECKSUM,
        octets::OPERATIONS,
        octets::ONE_PASS,
        wire::TABLE,
        artp::TABLE,
        transports::TABLE,
        loss::TABLE,
        paths::TABLE,
        adaptive::TABLE,
        switching::TABLE,
        inet::TABLE,
        bindings::TABLE,
        placement::TABLE,
        group::CASTS,
        group::STORE,
        group::SCALE,
        xtp::TABLE,
        recovery::TABLE,
        fairness::TABLE,
        jis::SIZE,
        jis::PICTURES,
        jis::FIRST,
        jis::LOSSES,
        soak::TABLE,
        radio::LATENCY,
        radio::THROUGHPUT,
        csma::TABLE,
        xstp::TABLE,
    ]
}
