//! How much of each path ARTP uses, from 1.2 kbit/s to 1 Gbit/s and from 1 to 600 ms.
//!
//! | file | what |
//! | --- | --- |
//! | `cell.rs` | a path, and what follows from its figures |
//! | `simulated.rs` | a transfer over it in the simulator |
//! | `bars.rs` | what each contestant shall reach |

mod bars;
mod cell;
mod simulated;

use super::outcome::{Axes, Column, Row, Sample};
use super::{About, Cells, Table};
use crate::measure::{Course, Effort, Limit};
use crate::problem::Problem;
use bars::Bars;
use cell::Cell;
use simulated::{Figures, Transfer, all};

/// The table.
pub(crate) struct Paths;

/// ARTP as it is by default, and as a profile sets it for lossy and long paths: the name, and the
/// congestion control.
const CONTESTANTS: [(&str, Option<&str>); 2] = [("ARTP", None), ("ARTP, BBR", Some("bbr"))];

/// How many packets all seeds of a simulated cell may have together.
const PACKETS: u64 = 1_000_000;

impl Table for Paths {
    fn about(&self) -> About {
        About {
            name: "paths",
            title: "the share of a path’s capacity that is used",
            measures: "One transfer over a path without other traffic, from the request to the last octet, in messages that fill a packet of \
                       1200 octets. It has the octets that the path carries in 60 s (10 s with --quick), in 40 round trips and in 100 \
                       packets at least; with packet loss it is cut short after that time. Packets are lost in both directions; jitter of \
                       0.1 ms without reordering; a queue has room for 10 packets of 1500 octets at least. Shown is the share of the payload \
                       limit, rate × payload / packet on the wire. Windows and buffers hold four times the bandwidth-delay product. With \
                       loss the figures are the median of up to 10 seeds.",
            source: "",
            axes: Axes {
                x: "rate, bit/s".into(),
                y: "round trip, ms".into(),
                log_x: false,
                log_y: false,
            },
            limit: Limit::Work,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let simulated = Cell::all().filter(|cell| cell.is_simulated(effort));
        simulated.map(|cell| format!("sim/{cell}")).collect()
    }

    fn open(&self, _: &[String], _: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        Ok(Box::new(Measuring))
    }
}

struct Measuring;

impl Cells for Measuring {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        match key.split_once('/') {
            Some(("sim", path)) => simulated(key, Cell::parse(path).ok_or_else(unknown)?, course),
            _ => Err(unknown()),
        }
    }
}

/// At the payload limit, in seconds.
fn seconds(cell: &Cell, effort: Effort) -> f64 {
    cell.seconds(if effort == Effort::Quick { 10.0 } else { 60.0 })
}

fn simulated(key: &str, cell: Cell, course: &mut Course) -> Result<Row, Problem> {
    course.progress.set_message(format!("{key}, simulated"));
    let group = format!("simulated, {}", cell.group());
    let mut row = Row::new(key, group, cell.label(), "Mb/s");
    (row.more_is_better, row.x, row.y) =
        (true, Some(cell.rate() as f64), Some(cell.round_trip as f64));
    row.limit = Some(cell.limit() / 1e6);
    row.columns = columns(&cell, course, &Bars::simulated(&cell))?;
    Ok(row)
}

/// Both contestants in the simulator; none where somebody asked for the end.
fn columns(cell: &Cell, course: &Course, bars: &Bars) -> Result<Vec<Column>, Problem> {
    let seconds = seconds(cell, course.effort);
    let transfer = |congestion, seed| Transfer {
        cell: *cell,
        congestion,
        seconds,
        seed,
        steps: String::new(),
    };
    let mut transfers = Vec::new();
    for (at, (_, congestion)) in CONTESTANTS.into_iter().enumerate() {
        let seeds = seeds(cell, course.effort, congestion);
        transfers.extend((1..=seeds).map(|seed| (at, transfer(congestion, course.seed + seed))));
    }
    let (whose, transfers): (Vec<_>, Vec<_>) = transfers.into_iter().unzip();
    let figures = all(&transfers, &course.stop)?;
    let mut columns = Vec::new();
    for (at, (name, congestion)) in CONTESTANTS.into_iter().enumerate() {
        let own = whose.iter().zip(&figures).filter(|(whose, _)| **whose == at);
        let own: Vec<Figures> = own.map(|(_, figures)| *figures).collect();
        let mut column = Column::new(name, true);
        let sample = |one: &Figures| Sample { value: one.goodput, probes: [0.0; 2], slow: false };
        column.samples = own.iter().map(sample).collect();
        bars.tell(&mut column, &own, congestion.is_none());
        columns.push(column);
    }
    columns.retain(|column| !column.samples.is_empty());
    Ok(columns)
}

/// How many seeds: without loss one is as good as another.
fn seeds(cell: &Cell, effort: Effort, congestion: Option<&str>) -> u64 {
    let most = match effort {
        _ if cell.is_lossless() => 1,
        Effort::Quick => 3,
        Effort::Usual | Effort::Full => 10,
    };
    // CUBIC sends little where packets are lost; BBR goes on.
    let packets = cell.messages(seconds(cell, effort));
    let fit =
        if congestion.is_some() || cell.rate() > 100_000_000 { PACKETS / packets } else { most };
    fit.clamp(1, most)
}
