//! How two transfers share one link: ARTP with itself, with TCP, and BBR with CUBIC.

use std::thread;
use std::time::Duration;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::lossy::{MTU, link};
use super::parallel::{all, cores};
use super::transports::{Ends, Programs, Rival, Work, may_link};
use super::{About, AnyTable, Table};
use crate::measure::{Course, Effort, Limit};
use crate::run;

/// Who shares the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    /// Two transfers by ARTP's default.
    Alike,
    /// ARTP by default, and CUBIC of the kernel's TCP.
    Tcp,
    /// ARTP by BBR, and CUBIC: ARTP's in the simulator, TCP's on real sockets.
    Bbr,
}

/// Two transfers, and the link that they share.
#[derive(Clone, Copy, Debug)]
struct Cell {
    key: &'static str,
    pair: Pair,
    /// In the simulator, or on real sockets.
    real: bool,
    /// In bits per second.
    rate: u64,
    /// In milliseconds.
    round_trip: u64,
    /// As a multiple of the bandwidth-delay product.
    queue: f64,
    /// The least effort that has time for it.
    quick: bool,
}

const fn cell(key: &'static str, pair: Pair, rate: u64, round_trip: u64, queue: f64) -> Cell {
    let real = key.as_bytes()[0] == b'r';
    let quick = !real || matches!(pair, Pair::Tcp) || round_trip == 20;
    Cell { key, pair, real, rate, round_trip, queue, quick }
}

const M20: u64 = 20_000_000;
const CELLS: [Cell; 16] = [
    cell("sim/alike/100k/100ms/q1", Pair::Alike, 100_000, 100, 1.0),
    cell("sim/alike/1M/100ms/q1", Pair::Alike, 1_000_000, 100, 1.0),
    cell("sim/alike/20M/20ms/q1", Pair::Alike, M20, 20, 1.0),
    cell("sim/alike/20M/100ms/q1", Pair::Alike, M20, 100, 1.0),
    cell("real/alike/20M/20ms/q1", Pair::Alike, M20, 20, 1.0),
    cell("real/alike/20M/100ms/q1", Pair::Alike, M20, 100, 1.0),
    cell("real/tcp/20M/20ms/q1", Pair::Tcp, M20, 20, 1.0),
    cell("real/tcp/20M/100ms/q1", Pair::Tcp, M20, 100, 1.0),
    cell("sim/bbr/20M/100ms/q0.1", Pair::Bbr, M20, 100, 0.1),
    cell("sim/bbr/20M/100ms/q0.5", Pair::Bbr, M20, 100, 0.5),
    cell("sim/bbr/20M/100ms/q1", Pair::Bbr, M20, 100, 1.0),
    cell("sim/bbr/20M/100ms/q4", Pair::Bbr, M20, 100, 4.0),
    cell("real/bbr/20M/100ms/q0.1", Pair::Bbr, M20, 100, 0.1),
    cell("real/bbr/20M/100ms/q0.5", Pair::Bbr, M20, 100, 0.5),
    cell("real/bbr/20M/100ms/q1", Pair::Bbr, M20, 100, 1.0),
    cell("real/bbr/20M/100ms/q4", Pair::Bbr, M20, 100, 4.0),
];

/// How many packets a queue holds at least.
const QUEUE_LEAST: u64 = 10;
/// The least share of the link that each shall have beside the other.
const SHARE: f64 = 0.35;

/// The table. It stands on the programs of real transfers, where there are real sockets.
pub(super) const TABLE: &dyn AnyTable = &Table::<Cell, Option<Programs>> {
    about: About {
        name: "fairness",
        title: "two transfers on one link",
        measures: "Two transfers begin at the same time; after 60 s (10 s with --quick) the \
                   share of the link’s rate of each is reported, \
                   and Jain’s index of both: as payload, but beside TCP as packets, \
                   which the link counts. Median of three seeds, or of three runs at the same \
                   time, each on a link of \
                   its own (one with --quick). Jitter of 0.1 ms, packets of 1500 octets, no \
                   loss but by the queue, whose size is a \
                   multiple of the bandwidth-delay product. The kernel’s TCP has the \
                   congestion control that its name says, set for \
                   each socket.",
        source: "",
        axes: Axes {
            x: "queue, × bandwidth-delay",
            y: "share of the link",
            log_x: true,
            log_y: false,
        },
        limit: Limit::Work,
    },
    cells: |effort| {
        let chosen = CELLS.into_iter().filter(|cell| effort != Effort::Quick || cell.quick);
        chosen.map(|cell| (row(&cell), cell)).collect()
    },
    open: |cells, notes| {
        let real = cells.iter().any(|(_, cell)| cell.real);
        if real && may_link(" on real sockets", notes) {
            Programs::new().map(Some)
        } else {
            Ok(None)
        }
    },
    measure,
};

fn measure(
    programs: &mut Option<Programs>,
    cell: &Cell,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let (programs, key, rivals) = (programs.as_ref(), cell.key, cell.rivals());
    if cell.real && programs.is_none() {
        return Ok(());
    }
    if let Some(why) = rivals.iter().filter(|_| cell.real).find_map(Rival::lacks) {
        course.progress.suspend(|| eprintln!("lab: skipping {key}: {why}"));
        return Ok(());
    }
    let (seconds, rounds) = if course.effort == Effort::Quick { (10.0, 1) } else { (60.0, 3) };
    course.progress.set_message(format!("{key}, {seconds:.0} s"));
    let seeds: Vec<u64> = (1..=rounds).map(|round| course.seed + round).collect();
    let threads = if cell.real { seeds.len() } else { cores() };
    let shares = all(&seeds, threads, &course.stop, |seed| match programs {
        Some(programs) if rivals.iter().any(|rival| !rival.ours) => {
            cell.beside_tcp(programs, seconds, *seed)
        }
        _ => cell.artp(seconds, *seed),
    })?;
    if !shares.is_empty() {
        row.columns = columns(cell, &rivals, &shares);
    }
    Ok(())
}

/// A row without columns.
fn row(cell: &Cell) -> Row {
    let place = if cell.real { "real sockets" } else { "simulated" };
    let rate = stackwright_results::step(cell.rate as f64);
    let (path, group) = match cell.pair {
        Pair::Bbr => (String::new(), format!("BBR beside CUBIC, {place}, {rate}bit/s, 100 ms")),
        Pair::Alike => {
            (format!("{rate}bit/s, {} ms, ", cell.round_trip), "ARTP beside ARTP".into())
        }
        Pair::Tcp => (format!("{rate}bit/s, {} ms, ", cell.round_trip), "ARTP beside TCP".into()),
    };
    let place = if cell.pair == Pair::Alike { format!(", {place}") } else { String::new() };
    let label = format!("{path}queue {} × bandwidth-delay{place}", cell.queue);
    let row = Row::new(cell.key, group, label, "").more_is_better();
    if cell.pair == Pair::Bbr { row.at(cell.queue) } else { row }
}

/// The shares of both in all rounds, and what they shall be.
fn columns(cell: &Cell, rivals: &[Rival; 2], shares: &[[f64; 2]]) -> Vec<Column> {
    let fair = match cell.pair {
        Pair::Alike => Some(if cell.rate >= 1_000_000 { 0.95 } else { 0.85 }),
        Pair::Tcp | Pair::Bbr => None,
    };
    let least = (cell.pair == Pair::Tcp).then_some(Target::AtLeast(SHARE));
    let columns = rivals.iter().enumerate().map(|(at, rival)| {
        let own: Vec<f64> = shares.iter().map(|shares| shares[at]).collect();
        let mut column = Column::exact(&rival.name, rival.ours, own.iter().copied());
        column.tell("share of the link", "", &own, least);
        if at == 0 {
            let index: Vec<f64> = shares.iter().map(jain).collect();
            column.tell("Jain’s index", "", &index, fair.map(Target::AtLeast));
        }
        column
    });
    columns.collect()
}

/// Jain's index of fairness: 1 where both have the same, 0.5 where one has all.
fn jain(shares: &[f64; 2]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 { sum * sum / (2.0 * squares) } else { 0.0 }
}

impl Cell {
    /// Both, with what each end of them is told.
    fn rivals(&self) -> [Rival; 2] {
        let artp = |name: &str| Rival::ours(name, "artp", "");
        let bbr = || artp("ARTP, BBR").sending("--congestion bbr");
        let tcp = || Rival::peer("TCP, cubic", "tcp", "--congestion cubic");
        match (self.pair, self.real) {
            (Pair::Alike, _) => [artp("ARTP, first"), artp("ARTP, second")],
            (Pair::Tcp, _) => [artp("ARTP"), tcp()],
            (Pair::Bbr, true) => [bbr(), tcp()],
            (Pair::Bbr, false) => [bbr(), artp("ARTP")],
        }
    }

    fn queue_octets(&self) -> u64 {
        let product = self.rate as f64 * self.round_trip as f64 / 8e3;
        ((self.queue * product) as u64).max(QUEUE_LEAST * MTU as u64)
    }

    /// Two transfers by ARTP, cut short after so many seconds.
    fn scenario(&self, seconds: f64) -> String {
        // More than both can have.
        let octets = (self.rate as f64 * seconds / 8.0) as u64;
        let flow = |control: &str| {
            format!(
                "[[flows]]\nfrom = \"near\"\nto = \"far\"\ntransport = {{ artp = {{ {control} }} \
                 }}\n\
                 workload = {{ bulk = {{ octets = {octets}, message = 1176 }} }}\n"
            )
        };
        let first = if self.pair == Pair::Bbr { "congestion = \"bbr\"" } else { "" };
        format!(
            "time = \"{} ms\"\n[[links]]\nbetween = [\"near\", \"far\"]\nrate = \"{} b/s\"\n\
             delay = \"{} us\"\njitter = \"100 us\"\nkeeps-order = true\nqueue = \"{} B\"\nmtu = {MTU}\n{}{}",
            1e3 * seconds,
            self.rate,
            500 * self.round_trip,
            self.queue_octets(),
            flow(first),
            flow(""),
        )
    }

    /// The part of the link's rate that so many octets in so many seconds are.
    fn share(&self, octets: u64, seconds: f64) -> f64 {
        8.0 * octets as f64 / (self.rate as f64 * seconds)
    }

    /// The shares of two transfers by ARTP, in the simulator or on real sockets.
    fn artp(&self, seconds: f64, seed: u64) -> Result<[f64; 2], Problem> {
        let outcome = run::text(self.scenario(seconds), seed, self.real)?.1;
        Ok([0, 1].map(|at| self.share(outcome.flows[at].counts.octets, seconds)))
    }

    /// The shares of ARTP and of TCP on a link that counts both, while both go on.
    fn beside_tcp(
        &self,
        programs: &Programs,
        seconds: f64,
        seed: u64,
    ) -> Result<[f64; 2], Problem> {
        let link = Conditions {
            jitter: Duration::from_micros(100),
            queue: Queue::octets(self.queue_octets()),
            ..link(self.rate / 8, self.round_trip)
        };
        let mut ends = Ends::wire(&link, seed)?;
        let work = Work::Bulk { size: 10_000, seconds: 2.0 * seconds };
        let serve = |rival: Rival| rival.serve(&ends, programs, None);
        let serving = self.rivals().map(serve);
        let mut started = Vec::new();
        for one in &serving {
            let one = one.as_ref().map_err(|why| Problem::new(why.says()))?;
            started.push(one.start(&ends, programs, work)?);
        }
        thread::sleep(Duration::from_secs_f64(seconds));
        let report = ends.report()?;
        for one in &mut started {
            one.goes_on()?;
        }
        let [artp, tcp] = [report[0].udp, report[0].tcp];
        Ok([artp, tcp].map(|counts| self.share(counts.octets_delivered, seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index() {
        assert!((jain(&[0.4, 0.4]) - 1.0).abs() < 1e-9);
        assert!((jain(&[0.7, 0.0]) - 0.5).abs() < 1e-9);
        assert_eq!(jain(&[0.0, 0.0]), 0.0, "neither has anything: that is not fair");
    }
}
