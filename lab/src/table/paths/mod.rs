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

use std::thread;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row, Sample};
use stackwright_results::verdict::Target;

use super::parallel;
use super::transports::Programs;
use super::{About, Cells, Table};
use crate::link;
use crate::measure::{Course, Effort, Limit};
use bars::Bars;
use cell::Cell;
use real::Contestant;
use simulated::{Figures, Transfer};
use steps::steps;

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
        let real = Cell::all().filter(|cell| cell.is_real(effort));
        let simulated = Cell::all().filter(|cell| cell.is_simulated(effort));
        let real = real.map(|cell| format!("real/{cell}"));
        let steps = steps::KEYS.iter().map(|key| format!("steps/{key}"));
        let shapes = shapes::keys(effort).map(|key| format!("shape/{key}"));
        real.chain(shapes).chain(steps).chain(simulated.map(|cell| format!("sim/{cell}"))).collect()
    }

    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let real: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix("real/")).collect();
        let shapes = keys.iter().any(|key| key.starts_with("shape/"));
        let may = if real.is_empty() && !shapes { Ok(()) } else { link::check_rights() };
        if let Err(why) = &may {
            notes.push(format!("Nothing was measured on real sockets: {}.", why.says()));
        }
        if may.is_err() || real.is_empty() && !shapes {
            return Ok(Box::new(Measuring {
                programs: None,
                compared: Vec::new(),
                measured: Vec::new(),
            }));
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
        if real.is_empty() {
            let programs = Some(Programs::ours()?);
            return Ok(Box::new(Measuring {
                programs,
                compared: Vec::new(),
                measured: Vec::new(),
            }));
        }
        notes.push(
            "On real sockets a transfer lasts 20 s at the least, with --full 60 s; with --quick 4 \
             s and 20 packets. Up to 10 Mbit/s \
             contestants run at the same time, each on a link of its own. The limits of the \
             kernel’s TCP buffers are raised to eight times \
             the bandwidth-delay product in the link’s namespaces."
                .into(),
        );
        if real.iter().any(|path| path.starts_with("1G/")) {
            notes.push(
                "At 1 Gbit/s on real sockets the link and both ends share the processors: what is \
                 missing there is not the \
                 transport’s alone."
                    .into(),
            );
        }
        let compared = real.into_iter().filter_map(Cell::parse).collect();
        let programs = Some(Programs::new()?);
        Ok(Box::new(Measuring { programs, compared, measured: Vec::new() }))
    }
}

struct Measuring {
    /// What others run by, where there are real sockets.
    programs: Option<Programs>,
    /// The paths for which TCP is measured, in the order of the table.
    compared: Vec<Cell>,
    /// What came of some of them, which were measured at the same time as another.
    measured: Vec<(Cell, real::Measured)>,
}

impl Cells for Measuring {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (place, path) = key.split_once('/').ok_or_else(unknown)?;
        if place == "steps" {
            return stepped(key, &steps(path).ok_or_else(unknown)?, course);
        }
        if place == "shape" {
            let shape = shapes::find(path).ok_or_else(unknown)?;
            return match &self.programs {
                Some(programs) => shape.measure(key, programs, course),
                None => Ok(shape.row(key)),
            };
        }
        let cell = Cell::parse(path).ok_or_else(unknown)?;
        match place {
            "sim" => self.simulated(key, &cell, course),
            "real" => self.real(key, &cell, course),
            _ => Err(unknown()),
        }
    }
}

/// A row without columns.
fn row(key: &str, cell: &Cell, place: &str) -> Row {
    let mut row = Row::new(key, format!("{place}, {}", cell.group()), cell.label(), "Mb/s");
    row.more_is_better = true;
    (row.x, row.y) = (Some(cell.rate() as f64), Some(cell.round_trip as f64));
    row.limit = Some(cell.limit() / 1e6);
    row
}

/// A column of the table: a name, what came of each run, and what is asked of them.
fn column(name: &str, ours: bool, figures: &[Figures], bars: &Bars, default: bool) -> Column {
    let mut column = Column::new(name, ours);
    let sample = |one: &Figures| Sample { value: one.goodput, probes: [0.0; 2], slow: false };
    column.samples = figures.iter().map(sample).collect();
    bars.tell(&mut column, figures, default);
    column
}

impl Measuring {
    fn simulated(&self, key: &str, cell: &Cell, course: &mut Course) -> Result<Row, Problem> {
        let least = if course.effort == Effort::Quick { 10.0 } else { 60.0 };
        let mut row = row(key, cell, "simulated");
        // Where TCP is measured, that is what ARTP is compared with.
        let measured = self.compared.contains(cell);
        let bars = if measured { Bars::real(cell) } else { Bars::simulated(cell) };
        let figures = simulated(cell, "", cell.seconds(least, 100), course)?;
        for ((name, congestion), figures) in CONTESTANTS.into_iter().zip(&figures) {
            row.columns.push(column(name, true, figures, &bars, congestion.is_none()));
        }
        Ok(row)
    }

    fn real(&mut self, key: &str, cell: &Cell, course: &mut Course) -> Result<Row, Problem> {
        let mut row = row(key, cell, "real sockets");
        let Some(programs) = &self.programs else { return Ok(row) };
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
            let measured = real::all(&cells, programs, seconds, seed, &course.stop);
            self.measured.extend(cells.into_iter().zip(measured));
        }
        let place = self.measured.iter().position(|(known, _)| known == cell);
        let measured = place.map_or_else(Vec::new, |place| self.measured.swap_remove(place).1);
        let contestants = real::contestants(cell, programs);
        for ((name, who), figures) in contestants.iter().zip(measured) {
            let figures = match (who, figures) {
                _ if course.stop.asked() => return Ok(row),
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
        compare(&mut row, cell);
        Ok(row)
    }
}

/// Both contestants over a path whose delay changes, and over the same where it does not.
fn stepped(key: &str, steps: &steps::Steps, course: &mut Course) -> Result<Row, Problem> {
    let cell = &steps.cell;
    let label = format!("{}: {}", cell.label(), steps.name);
    let mut row = Row::new(key, "simulated, steps of the delay", label, "Mb/s");
    row.more_is_better = true;
    row.limit = Some(cell.limit() / 1e6);
    let bars = Bars::none(cell);
    for (delay, suffix) in [(&*steps.delay, ""), ("", ", without steps")] {
        let figures = simulated(cell, delay, steps.seconds, course)?;
        for ((name, _), figures) in CONTESTANTS.into_iter().zip(&figures) {
            row.columns.push(column(&format!("{name}{suffix}"), true, figures, &bars, false));
        }
    }
    for (name, _) in CONTESTANTS {
        row.compare(name, &format!("{name}, without steps"), None);
    }
    Ok(row)
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
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let done = parallel::all(&transfers, workers, &course.stop, Transfer::run)?;
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
