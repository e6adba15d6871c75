//! TCP and IP of our own beside smoltcp and the kernel's.
//!
//! ```text
//!   A, a namespace: who takes part                          B, another
//!   kernel ─────────────────────────────┬─ TUN ─ lab link ─ TUN ─ kernel
//!   ours ── sw0 ─ kernel, a peer or a router ─┘
//!   smoltcp ── sm0 ─┘
//! ```
//!
//! `unshare -Urnm sh -c 'mount -t tmpfs none /run && lab table inet'` needs no root where everybody
//! may open `/dev/net/tun`.

mod end;
mod smoltcp;

pub(crate) use end::InetEnd;

use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::ValueEnum as _;
use stackwright_programs::processes::{Running, eventually};
use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::lossy::{Lossy, cells};
use super::transports::{Ends, may_link, seconds};
use super::{About, AnyTable, Cell, NO_AXES, Table};
use crate::link::Side;
use crate::measure::{Contestant, Course, Effort, Limit};
use end::{InetStack, InetWork};

/// In octets a second: 100 Mb/s.
const RATE: u64 = 12_500_000;
const ANY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What is measured.
enum Task {
    Work(InetWork),
    Lossy(Lossy),
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, ()> {
    about: About {
        name: "inet",
        title: "TCP and IP in user space",
        measures: "One connection between a stack on a TUN device and the kernel at its other end; \
                   kernel to kernel, through two devices and a relay of ours with offload. Loss: \
                   through a modelled link of 100 Mb/s behind that kernel, as a router, each packet \
                   lost with that probability, acknowledgements, too; a queue of a round trip (64 \
                   packets at least). CUBIC everywhere, smoltcp with buffers of 1 MB. Goodput is \
                   counted by the receiver.",
        source: "",
        axes: NO_AXES,
        limit: Limit::Work,
    },
    cells: |_| {
        let work = [
            ("send", "to the kernel", "Mb/s", InetWork::Send),
            ("receive", "from the kernel", "Mb/s", InetWork::Receive),
            ("accept", "64 connections at once", "1/s", InetWork::Accept),
            ("ask", "an octet and its answer", "s", InetWork::Ask),
        ];
        let work = work.map(|(key, label, unit, work)| -> Cell<Task> {
            let row = Row::new(key, "through a TUN device", label, unit);
            (Row { more_is_better: work != InetWork::Ask, ..row }, Task::Work(work))
        });
        let lossy = cells(&[1, 20, 100], &[0.1, 1.0, 3.0], "Mb/s").into_iter();
        let lossy = lossy.map(|(row, link)| (row.more_is_better(), Task::Lossy(link)));
        lossy.chain(work).collect()
    },
    open: |_, notes| {
        may_link("", notes);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        notes.push(format!("The load of the processors at the beginning: {}.", load.trim()));
        Ok(())
    },
    measure: |(), task, row, course| match task {
        Task::Lossy(link) => lossy(link, row, course),
        Task::Work(work) => plain(*work, row, course),
    },
};

fn lossy(link: &Lossy, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let queue = Queue::octets(link.product(RATE).max(64 * 1500));
    let ground = Ground::up(&Conditions { queue, ..link.link(RATE) }, course.seed)?;
    // Far away, slow start and what it overshoots are most of what a short trial sees.
    let usual = match (link.round_trip, course.effort) {
        (20.., _) => 30.0,
        (_, Effort::Quick) => 4.0,
        _ => 10.0,
    };
    let send =
        |stack| move |ground: &Ground| ground.takes_part(stack, InetWork::Send, Side::B, usual);
    let (ours, kernel) = (send(InetStack::Ours), send(InetStack::Kernel));
    row.columns = course.compete([
        Contestant::ours("ours", || ours(&ground)),
        Contestant::peer("kernel", || kernel(&ground)),
    ])?;
    row.compare("ours", "kernel", Some(Target::AtLeast(0.95)));
    Ok(())
}

fn plain(work: InetWork, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let ground = Ground::up(&Conditions::IDEAL, course.seed)?;
    let ground = &ground;
    let time = seconds(course.effort);
    let with = |stack, side| {
        move || match work {
            InetWork::Accept => ground.accepts(stack, side),
            _ => ground.takes_part(stack, work, side, time),
        }
    };
    let mut all = vec![
        Contestant::ours("ours", with(InetStack::Ours, Side::A)),
        Contestant::peer("kernel", with(InetStack::Kernel, Side::B)),
    ];
    if matches!(work, InetWork::Send | InetWork::Receive) {
        all.push(Contestant::peer("smoltcp", with(InetStack::Smoltcp, Side::A)));
    }
    if work == InetWork::Send {
        all.push(Contestant::ours("ours, no GSO", with(InetStack::Segments, Side::A)));
    }
    row.columns = course.compete(all)?;
    let bar = match work {
        InetWork::Ask => Target::AtMost(1.25),
        InetWork::Accept => Target::AtLeast(0.5),
        _ => Target::AtLeast(0.8),
    };
    row.compare("ours", "kernel", Some(bar));
    row.compare("ours", "smoltcp", Some(Target::AtLeast(3.0)));
    row.compare("ours, no GSO", "smoltcp", Some(Target::AtLeast(1.3)));
    Ok(())
}

/// The namespaces, with the devices of those that bring their own TCP, and a peer in each.
struct Ground {
    // Dropped first.
    _peers: [Running; 2],
    ends: Ends,
}

impl Ground {
    fn up(conditions: &Conditions, seed: u64) -> Result<Self, Problem> {
        let ends = Ends::wire(conditions, seed)?;
        let a = "for d in sw0:78 sm0:79; do
                   ip tuntap add dev ${d%:*} mode tun && ip link set ${d%:*} up &&
                   ip address add 10.${d#*:}.0.1/24 dev ${d%:*} || exit 1
                 done; echo 1 > /proc/sys/net/ipv4/ip_forward";
        for (side, set) in [(Side::A, a), (Side::B, "ip route add 10.78.0.0/15 via 10.77.0.1")] {
            let done = ends.command(side, "sh".as_ref(), None).args(["-c", set]).status();
            if !done.is_ok_and(|status| status.success()) {
                return Err(Problem::new("the devices cannot be set up"));
            }
        }
        let [a, b] = Side::ALL
            .map(|side| listens(command(&ends, side, InetStack::Kernel, InetWork::Peer, ANY, 0.0)));
        Ok(Ground { _peers: [a?.0, b?.0], ends })
    }

    /// Lets a stack work with the kernel: that of its own namespace, or the other end of the link.
    fn takes_part(
        &self,
        stack: InetStack,
        work: InetWork,
        peer: Side,
        seconds: f64,
    ) -> Result<f64, Problem> {
        let host = match (peer, stack) {
            (Side::B, _) => self.ends.address(peer),
            (Side::A, InetStack::Smoltcp) => [10, 79, 0, 1].into(),
            (Side::A, _) => [10, 78, 0, 1].into(),
        };
        figure(&mut command(&self.ends, Side::A, stack, work, host, seconds))
    }

    /// Lets the kernel open connections to a stack.
    fn accepts(&self, stack: InetStack, side: Side) -> Result<f64, Problem> {
        let host = match side {
            Side::A => [10, 78, 0, 2].into(),
            Side::B => self.ends.address(side),
        };
        let _server = listens(command(&self.ends, side, stack, InetWork::Accept, host, 0.0))?;
        figure(&mut command(&self.ends, Side::A, stack, InetWork::Open, host, 0.0))
    }
}

fn command(
    ends: &Ends,
    side: Side,
    stack: InetStack,
    work: InetWork,
    host: IpAddr,
    seconds: f64,
) -> Command {
    let program = env::current_exe().unwrap_or_else(|_| "lab".into());
    let mut command = ends.command(side, program.as_os_str(), None);
    let named = |value: Option<clap::builder::PossibleValue>| {
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    };
    command.args(["inet-end", &named(stack.to_possible_value()), &named(work.to_possible_value())]);
    command.args([host.to_string(), seconds.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a server, and waits until it says that it listens, or where.
pub(super) fn listens(mut command: Command) -> Result<(Running, String), Problem> {
    let mut server = Running::try_start(&mut command).map_err(Problem::new)?;
    let mut line = String::new();
    BufReader::new(server.output()).read_line(&mut line).map_err(Problem::new)?;
    Ok((server, line))
}

/// Runs a command that prints a figure.
pub(super) fn figure(command: &mut Command) -> Result<f64, Problem> {
    let mut process = Running::try_start(command).map_err(Problem::new)?;
    let ended = eventually(Duration::from_secs(60), || !process.alive());
    let (mut said, mut complaint) = (String::new(), String::new());
    if ended {
        process.output().read_to_string(&mut said).map_err(Problem::new)?;
        process.errors().read_to_string(&mut complaint).map_err(Problem::new)?;
    }
    said.trim().parse().map_err(|_| Problem::new(format!("no figure: {complaint}")))
}
