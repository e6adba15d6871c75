//! E6: how much of a processor a client takes for a file of 100 MB.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use stackwright_programs::processes::eventually;
use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;

use super::LARGEST;
use super::clients::timed;
use super::ground::Ground;
use super::held::family;
use super::task::{downloads, pairs};
use super::wires::{FAST, LOOPBACK, WIRES};
use crate::measure::{Course, Effort, Limit};
use crate::table::{About, AnyTable, NO_AXES, Table};

/// The table. Its tasks are a wire and a part of the time.
pub(crate) const CPU: &dyn AnyTable = &Table::<[&str; 2], Ground> {
    about: About {
        name: "ftp-cpu",
        title: "processor time of FTP clients",
        measures: "User and system time of a client that downloads 100 MB from vsftpd, as accounted by the kernel; with TLS that of \
                   the client and its server, ours or vsftpd. \
                   The split into the two is the kernel's estimate; their sum is exact.",
        source: "thesis of 2003, figure 5.7, which has no numbers: the system's part nearly equal for all, ours noticeably more \
                 user time than NcFTP's",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells: |effort| {
        // Where the wire is the limit a client wakes again and again; where that is slow, it takes
        // long.
        let usual = |wire, part| wire == LOOPBACK || wire == FAST && part == "sum";
        let parts = WIRES.into_iter().flat_map(|wire| PARTS.map(|part| (wire, part)));
        let chosen = parts.filter(|(wire, part)| effort == Effort::Full || usual(*wire, part.0));
        let cell = |(wire, (part, label))| {
            let group = format!("a client gets 100 MB, {wire}");
            (Row::new(format!("{wire}/{part}"), group, label, "s"), [wire, part])
        };
        chosen.map(cell).collect()
    },
    open: |cells, notes| {
        let wires: Vec<_> = cells.iter().map(|(_, [wire, _])| *wire).collect();
        Ground::new(&wires, &["ncftpget", "lftp", "curl"], notes)
    },
    measure,
};

/// The parts of the time, and how rows call them.
const PARTS: [(&str, &str); 4] = [
    ("sum", "user + system"),
    ("user", "user"),
    ("system", "system"),
    (TLS, "client and server with TLS"),
];
/// The sum with TLS, of a client and its server.
const TLS: &str = "tls";
/// How long the processes of a server may go on when their client has ended.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// In which the kernel tells the time of other processes (`USER_HZ`, proc(5)).
const TICKS: f64 = 100.0;

/// The system accounts a process in steps that are large beside a tenth of a second.
const PATIENCE: f64 = 5.0;

fn measure(
    ground: &mut Ground,
    [wire, part]: &[&str; 2],
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    if !ground.has(wire) {
        return Ok(());
    }
    if *part == TLS {
        let both = |server: u32, run: &dyn Fn() -> Result<f64, Problem>| {
            let (before, served) = (children()?, times(server));
            run()?;
            let after = children()?;
            // A server's process for one session ends a little later than the client.
            eventually(AFTERWARDS, || family(server).len() == 1);
            Ok(after.0 + after.1 - before.0 - before.1 + times(server) - served)
        };
        row.columns = pairs(ground, wire, LARGEST, both, course)?;
    } else {
        let run = |command| {
            let before = children()?;
            timed(command)?;
            let after = children()?;
            let (user, system) = (after.0 - before.0, after.1 - before.1);
            Ok(match *part {
                "user" => user,
                "system" => system,
                _ => user + system,
            })
        };
        row.columns = downloads(ground, wire, LARGEST, PATIENCE, run, course)?;
    }
    // Of the two parts nothing is promised: the kernel estimates them.
    row.compare_with_all(["sum", TLS].contains(part).then_some(Target::AtMost(1.0)));
    Ok(())
}

/// User and system time, in seconds, of a process, of all that descend from it, and of those of
/// them that have ended.
pub(in crate::table) fn times(process: u32) -> f64 {
    let of = |process: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name, which is in brackets, may hold anything.
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
        let times = fields.skip(11).take(4).filter_map(|field| field.parse::<f64>().ok());
        times.sum::<f64>() / TICKS
    };
    family(process).into_iter().map(of).sum()
}

/// User and system time, in seconds, of all children that have ended and were waited for. Servers
/// are still running: between two looks only the client has ended.
fn children() -> Result<(f64, f64), Problem> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|why| {
        Problem::new(format!("the system does not tell a process's processor time: {why}"))
    })?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok((seconds(usage.user_time()), seconds(usage.system_time())))
}
