//! How much of each path ARTP uses, from 1.2 kbit/s to 1 Gbit/s and from 1 to 600 ms.
//!
//! | file | what |
//! | --- | --- |
//! | `cell.rs` | a path, and what follows from its figures |
//! | `simulated.rs` | a transfer over it in the simulator |
//! | `real.rs` | the same on real sockets, beside others |
//! | `steps.rs` | paths whose delay changes |
//! | `shapes.rs` | paths with a fault of their own kind, for each transport beside TCP |
//! | `bars.rs` | what each contestant shall reach |

mod bars;
mod cell;
mod real;
mod shapes;
mod simulated;
mod steps;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;

use super::parallel;
use super::transports::{Programs, may_link};
use super::{About, AnyTable, Table};
use crate::measure::{Course, Effort, Limit};
use bars::Bars;
use cell::Cell;
use real::Contestant;
use shapes::Shape;
use simulated::{Figures, Transfer};
use steps::{Steps, steps};

/// ARTP as it is by default, and as a profile sets it for lossy and long paths: the name, and the
/// congestion control.
const CONTESTANTS: [(&str, Option<&str>); 2] = [("ARTP", None), ("ARTP, BBR", Some("bbr"))];

/// How many packets all seeds of a simulated cell may have together.
const PACKETS: u64 = 1_000_000;

/// What is measured.
enum Task {
    /// A path in the simulator.
    Simulated(Cell),
    /// One on real sockets.
    Real(Cell),
    /// One whose delay changes.
    Stepped(Steps),
    /// One with a fault of its own kind.
    Shaped(&'static Shape),
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Ground> {
    about: About {
        name: "paths",
        title: "the share of a path’s capacity that is used",
        measures: "One transfer over a path without other traffic, from the request to the \
                   last octet, in messages that fill a packet of \
                   1200 octets. It has the octets that the path carries in 60 s (10 s with \
                   --quick), in 40 round trips and in 100 \
                   packets at least; with packet loss it is cut short after that time. \
                   Packets are lost in both directions; jitter of \
                   0.1 ms without reordering; a queue has room for 10 packets of 1500 octets \
                   at least. Shown is the share of the payload \
                   limit, rate × payload / packet on the wire. Windows and buffers hold four \
                   times the bandwidth-delay product. With \
                   loss the figures are the median of up to 10 seeds.",
        source: "",
        axes: Axes { x: "rate, bit/s", y: "round trip, ms", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |effort| {
        let real = Cell::all().filter(|cell| cell.is_real(effort));
        let real = real.map(|cell| (row(&cell, "real", "real sockets"), Task::Real(cell)));
        let shapes = shapes::chosen(effort).map(|shape| (shape.row(), Task::Shaped(shape)));
        let steps = steps().map(|steps| (steps.row(), Task::Stepped(steps)));
        let simulated = Cell::all().filter(|cell| cell.is_simulated(effort));
        let simulated =
            simulated.map(|cell| (row(&cell, "sim", "simulated"), Task::Simulated(cell)));
        real.chain(shapes).chain(steps).chain(simulated).collect()
    },
    open,
    measure: |ground, task, row, course| match task {
        Task::Simulated(cell) => ground.simulated(cell, row, course),
        Task::Real(cell) => ground.real(cell, row, course),
        Task::Stepped(steps) => steps.measure(row, course),
        Task::Shaped(shape) => match &ground.programs {
            Some(programs) => shape.measure(programs, row, course),
            None => Ok(()),
        },
    },
};

fn open(cells: &[super::Cell<Task>], notes: &mut Vec<String>) -> Result<Ground, Problem> {
    let real = cells.iter().filter_map(|(_, task)| match task {
        Task::Real(cell) => Some(*cell),
        _ => None,
    });
    let mut ground = Ground { programs: None, compared: real.collect(), measured: Vec::new() };
    let shapes = cells.iter().any(|(_, task)| matches!(task, Task::Shaped(_)));
    if !shapes && ground.compared.is_empty() {
        return Ok(ground);
    }
    if !may_link(" on real sockets", notes) {
        ground.compared.clear();
        return Ok(ground);
    }
    if shapes {
        notes.push(
            "Shapes of paths: all contestants at the same time, each on a link of its own, by \
             `stackwright perf` in messages of 10 kB, the kernel’s TCP too, with \
             net.ipv4.tcp_mtu_probing = 1. What the receiver has when the time is over counts; \
             one that does not open, or ends before, reaches nothing."
                .into(),
        );
    }
    if ground.compared.is_empty() {
        ground.programs = Some(Programs::ours()?);
        return Ok(ground);
    }
    notes.push(
        "On real sockets a transfer lasts 20 s at the least, with --full 60 s; with --quick 4 \
         s and 20 packets. Up to 10 Mbit/s \
         contestants run at the same time, each on a link of its own. The limits of the \
         kernel’s TCP buffers are raised to eight times \
         the bandwidth-delay product in the link’s namespaces."
            .into(),
    );
    if ground.compared.iter().any(|cell| cell.rate() == 1_000_000_000) {
        notes.push(
            "At 1 Gbit/s on real sockets the link and both ends share the processors: what is \
             missing there is not the \
             transport’s alone."
                .into(),
        );
    }
    ground.programs = Some(Programs::new()?);
    Ok(ground)
}

struct Ground {
    /// What others run by, where there are real sockets.
    programs: Option<Programs>,
    /// The paths for which TCP is measured, in the order of the table.
    compared: Vec<Cell>,
    /// What came of some of them, which were measured at the same time as another.
    measured: Vec<(Cell, real::Measured)>,
}

/// A row without columns.
fn row(cell: &Cell, place: &str, title: &str) -> Row {
    let group = format!("{title}, {}", cell.group());
    let row = Row::new(format!("{place}/{cell}"), group, cell.label(), "Mb/s");
    let row = row.more_is_better().limited(cell.limit() / 1e6).at(cell.rate() as f64);
    Row { y: Some(cell.round_trip as f64), ..row }
}

/// A column of the table: a name, what came of each run, and what is asked of them.
fn column(name: &str, ours: bool, figures: &[Figures], bars: &Bars, default: bool) -> Column {
    let mut column = Column::exact(name, ours, figures.iter().map(|one| one.goodput));
    bars.tell(&mut column, figures, default);
    column
}

impl Ground {
    fn simulated(&self, cell: &Cell, row: &mut Row, course: &Course) -> Result<(), Problem> {
        let least = if course.effort == Effort::Quick { 10.0 } else { 60.0 };
        // Where TCP is measured, that is what ARTP is compared with.
        let measured = self.compared.contains(cell);
        let bars = if measured { Bars::real(cell) } else { Bars::simulated(cell) };
        let figures = simulated(cell, "", cell.seconds(least, 100), course)?;
        for ((name, congestion), figures) in CONTESTANTS.into_iter().zip(&figures) {
            row.columns.push(column(name, true, figures, &bars, congestion.is_none()));
        }
        Ok(())
    }

    fn real(&mut self, cell: &Cell, row: &mut Row, course: &Course) -> Result<(), Problem> {
        let Some(programs) = &self.programs else { return Ok(()) };
        let key = row.key.clone();
        let seconds = |cell: &Cell| match course.effort {
            Effort::Quick => cell.seconds(4.0, 20),
            Effort::Usual => cell.seconds(20.0, 100),
            Effort::Full => cell.seconds(60.0, 100),
        };
        if !self.measured.iter().any(|(known, _)| known == cell) {
            let rest = self.compared.iter().skip_while(|other| *other != cell).copied();
            let cells = real::together(&rest.collect::<Vec<_>>());
            course.progress.set_message(format!("{key}, {:.0} s for each", seconds(cell)));
            let seed = course.seed + 1;
            let measured = real::measure(&cells, programs, seconds, seed, &course.stop)?;
            self.measured.extend(cells.into_iter().zip(measured));
        }
        let place = self.measured.iter().position(|(known, _)| known == cell);
        let measured = place.map_or_else(Vec::new, |place| self.measured.swap_remove(place).1);
        let contestants = real::contestants(cell, programs);
        for ((name, who), figures) in contestants.iter().zip(measured) {
            let figures = match (who, figures) {
                _ if course.stop.asked() => return Ok(()),
                (_, Ok(figures)) => figures,
                (Contestant::Artp(_), Err(why)) => return Err(why.within(name)),
                (Contestant::Rival(_), Err(why)) => {
                    let says = why.says();
                    course.progress.suspend(|| eprintln!("lab: {key}: skipping {name}: {says}"));
                    continue;
                }
            };
            let (bars, default) = match who {
                Contestant::Artp(congestion) => (Bars::real(cell), congestion.is_none()),
                Contestant::Rival(_) => (Bars::none(cell), false),
            };
            let ours = matches!(who, Contestant::Artp(_));
            let mut column = column(name, ours, &[figures], &bars, default);
            if name.starts_with("TCP") {
                column.limit = Some(cell.tcp_limit() / 1e6);
            }
            row.columns.push(column);
        }
        let figures = simulated(cell, "", seconds(cell), course)?;
        for ((name, _), figures) in CONTESTANTS.into_iter().zip(&figures) {
            let name = format!("{name}, simulated");
            row.columns.push(column(&name, true, figures, &Bars::none(cell), false));
        }
        compare(row, cell);
        Ok(())
    }
}

/// What is compared on real sockets. With loss the default is compared by the median of its seeds:
/// single runs differ by a third.
fn compare(row: &mut Row, cell: &Cell) {
    let [(ours, _), (profile, _)] = CONTESTANTS;
    let simulated = |name: &str| format!("{name}, simulated");
    let fast = cell.is_lossless() && cell.rate() >= 1_000_000 && cell.queue() >= 1.0;
    let least = |wanted: bool, least| wanted.then_some(Target::AtLeast(least));
    for tcp in ["TCP, cubic", "TCP, bbr"] {
        row.compare(ours, tcp, least(fast, 0.90));
    }
    row.compare(ours, "quinn", None);
    let lossy = (0.01..0.02).contains(&cell.loss());
    row.compare(&simulated(ours), "TCP, cubic", least(lossy, 0.95));
    row.compare(profile, "TCP, bbr", least(lossy, 0.95));
    for (name, lossless) in [(ours, cell.is_lossless()), (profile, true)] {
        let same = lossless && cell.rate() <= 100_000_000;
        row.compare(&simulated(name), name, same.then_some(Target::Within(0.1)));
    }
}

/// What comes of both contestants in the simulator, seed by seed; nothing where somebody asked for
/// the end.
fn simulated(
    cell: &Cell,
    steps: &str,
    seconds: f64,
    course: &Course,
) -> Result<Vec<Vec<Figures>>, Problem> {
    course.progress.set_message(format!("{cell}, simulated"));
    let mut transfers = Vec::new();
    for (at, (_, congestion)) in CONTESTANTS.into_iter().enumerate() {
        let seeds = 1..=seeds(cell, cell.messages(seconds), course.effort, congestion);
        transfers.extend(seeds.map(|seed| {
            let (seed, steps) = (course.seed + seed, steps.to_owned());
            (at, Transfer { cell: *cell, congestion, seconds, seed, steps })
        }));
    }
    let (whose, transfers): (Vec<_>, Vec<_>) = transfers.into_iter().unzip();
    let mut figures = vec![Vec::new(); CONTESTANTS.len()];
    let done = parallel::all(&transfers, parallel::cores(), &course.stop, |it| it.run(false))?;
    for (whose, one) in whose.into_iter().zip(done) {
        figures[whose].push(one);
    }
    Ok(figures)
}

/// How many seeds: without loss one is as good as another.
fn seeds(cell: &Cell, packets: u64, effort: Effort, congestion: Option<&str>) -> u64 {
    let (most, all) = match effort {
        _ if cell.is_lossless() => (1, PACKETS),
        Effort::Quick => (3, PACKETS / 10),
        Effort::Usual | Effort::Full => (10, PACKETS),
    };
    // CUBIC sends little where packets are lost; BBR goes on.
    let busy = congestion.is_some() || cell.rate() > 100_000_000;
    if busy { (all / packets).clamp(1, most) } else { most }
}
