//! The limits of this machine: the kernel's TCP, raw UDP with and without offloads, and the
//! crossing of a layer.

mod bulk;
mod crossing;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::{About, AnyTable, Cell, Table};
use crate::measure::{Contestant, Course, Limit};

const TCP: &str = "kernel TCP, cubic";
const OFFLOADED: &str = "UDP, GSO + GRO";
const PLAIN: &str = "UDP";

/// What is measured.
enum Task {
    /// The rate of datagrams of a length, or what it costs.
    Bulk { segment: usize, rate: bool },
    /// So many layers.
    Crossing(usize),
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, ()> {
    about: About {
        name: "wire",
        title: "the limits of this machine",
        measures: "Bulk over the loopback interface between two threads: the kernel's TCP in writes of 256 kB; raw UDP under a \
                   window of 1 MB that the receiver opens again every 128 kB, in batches that the kernel cuts and joins \
                   (GSO, GRO), and a datagram a call. Crossing: a message of 100 octets down through all layers and up again.",
        source: "",
        axes: Axes { x: "layers", y: "time of a round", log_x: false, log_y: false },
        limit: Limit::Loopback,
    },
    cells: |_| cells(),
    open: |_, _| Ok(()),
    measure: |(), task, row, course| match *task {
        Task::Bulk { segment, rate } => bulk(segment, rate, row, course),
        Task::Crossing(layers) => crossing(layers, row, course),
    },
};

fn cells() -> Vec<Cell<Task>> {
    let mut cells = Vec::new();
    for segment in [1472, 8972] {
        let row = |kind, group, unit| {
            let label = format!("datagrams of {segment}");
            Row::new(format!("bulk/{segment}/{kind}"), group, label, unit)
        };
        let rate = row("rate", "bulk, rate", "Gb/s").more_is_better();
        cells.push((rate, Task::Bulk { segment, rate: true }));
        let cpu = row("cpu", "bulk, processor time of both ends", "s/GB");
        cells.push((cpu, Task::Bulk { segment, rate: false }));
    }
    for layers in [2, 4, 8] {
        let group = "crossing, one message down and up";
        let row = Row::new(format!("crossing/{layers}"), group, format!("{layers} layers"), "s");
        cells.push((row.at(layers as f64), Task::Crossing(layers)));
    }
    cells
}

fn bulk(segment: usize, rate: bool, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let told = |sent: Result<bulk::Sent, std::io::Error>| {
        let sent = sent.map_err(|why| Problem::new(format!("the loopback interface: {why}")))?;
        Ok(if rate { sent.gigabits_per_second() } else { sent.seconds_per_gigabyte() })
    };
    row.columns = course.compete([
        Contestant::peer(TCP, || told(bulk::tcp())),
        Contestant::peer(OFFLOADED, || told(bulk::udp(segment, true))),
        Contestant::peer(PLAIN, || told(bulk::udp(segment, false))),
    ])?;
    row.compare(OFFLOADED, TCP, None);
    row.compare(PLAIN, TCP, None);
    Ok(())
}

fn crossing(layers: usize, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let mut fixed = crossing::fixed(layers)?;
    let mut woven = crossing::woven(layers)?;
    row.columns = course.compete([
        Contestant::ours("graph", || Ok(woven.run())),
        Contestant::ours("static", || Ok(fixed.run())),
    ])?;
    // Two layers the compiler folds into one, so that no crossing is left to compare with.
    row.compare("graph", "static", (layers > 2).then_some(Target::AtMost(8.0)));
    Ok(())
}
