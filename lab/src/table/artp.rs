//! E22: ARTP beside TCP and UDP, on links of 100 Mb/s and 1 Gb/s, and as fast as this machine goes.

use std::thread;

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Figure, Row, figures};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::transports::{Contest, Ends, Measured, Programs, Rival, Serving, Work, seconds};
use super::{About, AnyTable, Cell, Table};
use crate::link::Veth;
use crate::measure::{Contestant, Course, Effort, Limit};

/// The document's datagrams, in octets.
const SIZES: [u64; 3] = [2048, 5000, 10_000];
/// So many octets have the packets of the document's links: a segment of TCP has 2048 octets then,
/// beside its header with timestamps and IPv4's.
const MTU: usize = 2048 + 20 + 12 + 20;
/// What ARTP has of them below IPv4 and UDP.
const PACKET: usize = MTU - 20 - 8;

/// How two flows may run.
const AT_ONCE: &str = "at once";
const IN_TURN: &str = "in turn";

const TCP: &str = "TCP, cubic";
const UDP: &str = "UDP";
const ARTP: &str = "ARTP";

/// The path of datagrams of one size, and the measured quantity.
enum Task {
    /// Over a link with this rate in Mb/s: the goodput.
    Shaped { rate: u64, size: u64 },
    /// Without a limit: the goodput, or the processor time.
    Unshaped { veth: bool, cpu: bool, size: u64 },
    /// The processor time of two flows.
    Cores,
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Programs> {
    about: About {
        name: "artp",
        title: "ARTP compared with TCP and UDP",
        measures: "Goodput, counted by the receiver's application. 100m and 1g: a modelled link of that rate whose packets have 2100 \
                   octets, so that a segment of TCP has 2048 as in the document; UDP sends as fast as it can, and what the \
                   link's queue does not hold is lost. loopback and veth: packets of 1500 octets, as fast as it goes, each \
                   side on a core of its own; UDP in full batches is the limit there. cpu: what both processes took of the \
                   processor for a gigabyte. cores: the same of two flows, each with both ends on a \
                   core of its own, at once and in turn.",
        source: "ARTP technical report 11/2004, table 2.1",
        axes: Axes { x: "octets of a datagram", y: "Mb/s", log_x: true, log_y: false },
        limit: Limit::Loopback,
    },
    cells,
    open: |_, _| Programs::new(),
    measure: |programs, task, row, course| match *task {
        Task::Shaped { rate, size } => shaped(programs, rate, size, row, course),
        Task::Unshaped { veth, cpu, size } => unshaped(programs, veth, cpu, size, row, course),
        Task::Cores => cores(programs, row, course),
    },
};

fn cells(effort: Effort) -> Vec<Cell<Task>> {
    let sizes = || SIZES.into_iter().filter(|size| *size == 10_000 || effort != Effort::Quick);
    let row = |key: String, group: String, size: u64, unit| {
        Row::new(key, group, format!("datagrams of {size}"), unit).at(size as f64)
    };
    let mut cells = Vec::new();
    for (place, rate) in [("100m", 100), ("1g", 1000)] {
        // Of goodput the link carries what is left of each packet beside the headers of TCP.
        let limit = rate as f64 * 2048.0 / MTU as f64;
        cells.extend(sizes().map(|size| {
            let row = row(format!("{place}/{size}"), format!("{rate} Mb/s"), size, "Mb/s");
            let row = row.more_is_better().limited(limit).beside(document(rate, size));
            (row, Task::Shaped { rate, size })
        }));
    }
    for (place, veth) in [("loopback", false), ("veth", true)] {
        cells.extend(sizes().map(|size| {
            let row = row(format!("{place}/{size}"), format!("unshaped, {place}"), size, "Mb/s");
            (row.more_is_better(), Task::Unshaped { veth, cpu: false, size })
        }));
        cells.extend(sizes().map(|size| {
            let (key, group) = (format!("{place}-cpu/{size}"), format!("processor time, {place}"));
            (row(key, group, size, "s/GB"), Task::Unshaped { veth, cpu: true, size })
        }));
    }
    let cores =
        Row::new("loopback-cores/10000", "processor time, two flows", "datagrams of 10000", "s/GB");
    cells.push((cores, Task::Cores));
    cells
}

fn shaped(
    programs: &Programs,
    rate: u64,
    size: u64,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let octets = rate * 1_000_000 / 8;
    let link = Conditions {
        rate: Some(octets),
        mtu: Some(MTU),
        queue: Queue::octets(octets / 20),
        delay: Duration::from_micros(100),
        ..Conditions::IDEAL
    };
    let ends = Ends::wire(&link, course.seed)?;
    let mut rivals = vec![
        // As the document's ARTP, whose numbers stand beside it.
        Rival::ours(ARTP, "artp", &format!("--packet {PACKET}")).sending("--congestion document"),
        Rival::ours("our TCP, cubic", "tcp", ""),
        Rival::peer(TCP, "tcp", &format!("--mtu {MTU}")),
    ];
    // As in the document: a longer one is cut by IP, and what lacks a piece is lost.
    if size == 2048 {
        rivals.push(Rival::ours("our UDP", "udp", ""));
    }
    // As much as its buffers hold must not be what is measured.
    let work = Work::Bulk { size, seconds: 2.0 + seconds(course.effort) };
    let contest = Contest { ends: &ends, programs, cores: [None; 2], may_fail: false };
    row.columns = contest.hold(rivals, work, |it| Some(it.goodput()), course)?;
    let tcp = if row.column(TCP).is_some() { TCP } else { "our TCP, cubic" };
    row.compare(ARTP, tcp, Some(Target::AtLeast(0.97)));
    row.compare(ARTP, "our UDP", None);
    Ok(())
}

fn unshaped(
    programs: &Programs,
    veth: bool,
    cpu: bool,
    size: u64,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let ends = if veth { Ends::Veth(Veth::up(1500)?) } else { Ends::Loopback };
    let rivals = vec![
        Rival::ours(ARTP, "artp", ""),
        Rival::ours("ARTP, AES", "artp", "--cipher aes-256-gcm"),
        Rival::ours("our TCP, cubic", "tcp", ""),
        Rival::peer(TCP, "tcp", ""),
        Rival::peer(UDP, "udp", ""),
        Rival::peer("s2n-quic", "s2n-quic", ""),
    ];
    let contest = Contest { ends: &ends, programs, cores: [Some(0), Some(1)], may_fail: false };
    let work = Work::Bulk { size, seconds: seconds(course.effort) };
    let value = |it: &Measured| Some(if cpu { it.processor() } else { it.goodput() });
    row.columns = contest.hold(rivals, work, value, course)?;
    // What is wanted is wanted of the largest.
    let wanted = |target| (size == 10_000).then_some(target);
    if cpu {
        row.compare(ARTP, UDP, wanted(Target::AtMost(1.3)));
        row.compare(ARTP, TCP, None);
    } else {
        row.compare(ARTP, UDP, wanted(Target::AtLeast(0.75)));
        row.compare(ARTP, TCP, wanted(Target::AtLeast(1.4)));
        row.compare("ARTP, AES", "s2n-quic", wanted(Target::AtLeast(2.0)));
    }
    Ok(())
}

/// Whether one flow pays for another. TCP, whose flows share nothing of ours, tells what the
/// machine itself makes of two at once: where both virtual cores lie on one that is real, all
/// are slower.
fn cores(programs: &Programs, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let rivals = [Rival::ours(ARTP, "artp", ""), Rival::peer(TCP, "tcp", "")];
    // Each flow has a server of its own: which socket of a shared port it falls to is the
    // system's choice alone.
    let serve = |rival: Rival| {
        let serve = |core| rival.clone().serve(&Ends::Loopback, programs, Some(core));
        Ok([serve(0)?, serve(1)?])
    };
    let serving = rivals.into_iter().map(serve).collect::<Result<Vec<_>, Problem>>()?;
    let work = Work::Bulk { size: 10_000, seconds: seconds(course.effort) };
    let mut contestants = Vec::new();
    for servers in &serving {
        let Rival { name, ours, .. } = &servers[0].rival;
        for (how, at_once) in [(AT_ONCE, true), (IN_TURN, false)] {
            let name = format!("{name}, {how}");
            let run = move || two_flows(programs, servers, work, at_once);
            contestants.push(Contestant::new(name, *ours, run));
        }
    }
    row.columns = course.compete(contestants)?;
    for (who, target) in [(ARTP, Some(Target::AtMost(1.1))), (TCP, None)] {
        row.compare(&format!("{who}, {AT_ONCE}"), &format!("{who}, {IN_TURN}"), target);
    }
    Ok(())
}

/// What a gigabyte of both takes of the processor.
fn two_flows(
    programs: &Programs,
    servers: &[Serving; 2],
    work: Work,
    at_once: bool,
) -> Result<f64, Problem> {
    let run = |core: usize| servers[core].run(&Ends::Loopback, programs, work, Some(core));
    let (first, second) = if at_once {
        thread::scope(|scope| {
            let first = scope.spawn(|| run(0));
            let second = run(1);
            (first.join().expect("a run does not panic"), second)
        })
    } else {
        (run(0), run(1))
    };
    Ok(Measured::processor_of(&[first?, second?]))
}

/// What the document says, in Mb/s: TCP and ARTP for each size, UDP for the smallest alone.
fn document(rate: u64, size: u64) -> Vec<Figure> {
    let (udp, tcp, artp) = match (rate, size) {
        (100, 2048) => (Some(91.75), 90.00, 84.01),
        (100, 5000) => (None, 89.53, 87.50),
        (100, _) => (None, 89.17, 87.80),
        (_, 2048) => (Some(898.46), 882.94, 215.24),
        (_, 5000) => (None, 881.63, 359.82),
        _ => (None, 881.27, 387.98),
    };
    let udp = udp.map(|value| ("UDP", value));
    figures(udp.into_iter().chain([("TCP", tcp), ("ARTP", artp)]), "Mb/s")
}
