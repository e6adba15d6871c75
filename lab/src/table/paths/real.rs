//! A path on real sockets, over `lab link`: ARTP as in the simulator, the kernel's TCP, and quinn.

use std::time::Duration;

use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Queue};

use super::cell::{Cell, MESSAGE, TCP_PAYLOAD};
use super::simulated::{Figures, Transfer};
use crate::measure::Stop;
use crate::table::lossy::{link, loss};
use crate::table::parallel::all;
use crate::table::transports::{Ends, Programs, Rival, Work};

/// One who uses a path on real sockets.
pub(super) enum Contestant {
    /// ARTP, with this congestion control, or its default.
    Artp(Option<&'static str>),
    /// A program of others.
    Rival(Rival),
}

/// All of them with their names.
pub(super) fn contestants(cell: &Cell, programs: &Programs) -> Vec<(String, Contestant)> {
    let tcp = |congestion: &str| {
        let name = format!("TCP, {congestion}");
        let options = format!("--congestion {congestion}");
        (name.clone(), Contestant::Rival(Rival::peer(name, "tcp", &options)))
    };
    let quinn = format!("--window {}", window(cell));
    let mut all: Vec<_> = super::CONTESTANTS
        .into_iter()
        .map(|(name, congestion)| (name.to_owned(), Contestant::Artp(congestion)))
        .collect();
    if programs.has_peers() {
        all.extend([tcp("cubic"), tcp("bbr")]);
        all.push(("quinn".to_owned(), Contestant::Rival(Rival::peer("quinn", "quinn", &quinn))));
    }
    all
}

/// Four times the bandwidth-delay product, and what a short path needs at least.
fn window(cell: &Cell) -> u64 {
    (4 * cell.bandwidth_delay()).max(4_000_000)
}

/// Above this rate contestants run one after the other: together they would want more of the
/// processor than there is.
const TOGETHER: u64 = 10_000_000;
/// How many slow paths are measured at the same time.
const PATHS: usize = 4;

/// The paths that are measured together with the first of `cells`: that alone, or some slow ones.
pub(super) fn together(cells: &[Cell]) -> Vec<Cell> {
    let slow = |cell: &&Cell| cell.rate() <= TOGETHER;
    match cells.first() {
        Some(first) if !slow(&first) => vec![*first],
        _ => cells.iter().filter(slow).take(PATHS).copied().collect(),
    }
}

/// What came of one path: of each contestant, in their order.
pub(super) type Measured = Vec<Result<Figures, Problem>>;

/// Lets all contestants use each of these paths. `seconds` tells how long a path is used.
///
/// # Errors
/// Where one stops unexpectedly.
pub(super) fn measure(
    cells: &[Cell],
    programs: &Programs,
    seconds: impl Fn(&Cell) -> f64 + Sync,
    seed: u64,
    stop: &Stop,
) -> Result<Vec<Measured>, Problem> {
    all(cells, cells.len(), &Stop::default(), |cell| one(cell, programs, seconds(cell), seed, stop))
}

/// Lets all use the path, each on a link of its own. Who fails has no figures, but a reason.
fn one(
    cell: &Cell,
    programs: &Programs,
    seconds: f64,
    seed: u64,
    stop: &Stop,
) -> Result<Measured, Problem> {
    let contestants = contestants(cell, programs);
    let threads = if cell.rate() > TOGETHER { 1 } else { contestants.len() };
    all(&contestants, threads, &Stop::default(), |(_, contestant)| {
        Ok(match contestant {
            _ if stop.asked() => Err(Problem::interrupted()),
            // By the scenario that is simulated as well.
            Contestant::Artp(congestion) => {
                let (cell, congestion, steps) = (*cell, *congestion, String::new());
                Transfer { cell, congestion, seconds, seed, steps }.run(true)
            }
            Contestant::Rival(rival) => peer(cell, rival.clone(), programs, seconds, seed),
        })
    })
}

/// One of the others.
fn peer(
    cell: &Cell,
    rival: Rival,
    programs: &Programs,
    seconds: f64,
    seed: u64,
) -> Result<Figures, Problem> {
    if let Some(why) = rival.lacks() {
        return Err(Problem::new(why));
    }
    let link = Conditions {
        jitter: Duration::from_micros(100),
        loss: loss(cell.loss()),
        queue: Queue::octets(cell.queue_octets()),
        ..link(cell.rate() / 8, cell.round_trip)
    };
    let ends = Ends::wire(&link, seed)?;
    ends.tcp_buffers(2 * window(cell))?;
    let serving = rival.serve(&ends, programs, None)?;
    // Long enough for few calls, short enough for a slow path.
    let size = if cell.rate() >= 1_000_000 { 10 * MESSAGE } else { MESSAGE };
    let octets = (cell.messages(seconds) * MESSAGE).next_multiple_of(size);
    let work = if cell.is_lossless() {
        Work::Octets { size, octets }
    } else {
        Work::Bulk { size, seconds }
    };
    let patience = Duration::from_secs_f64(3.0 * seconds + 60.0);
    let measured = serving.run_within(patience, &ends, programs, work, None)?;
    Ok(Figures {
        goodput: measured.goodput(),
        ended: true,
        delivered: measured.octets,
        resent: measured.retransmitted.map(|packets| packets * TCP_PAYLOAD),
        duplicates: None,
    })
}
