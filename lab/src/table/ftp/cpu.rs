//! E6: how much of a processor a client takes for a file of 100 MB.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use stackwright_programs::processes::eventually;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::clients::{CLIENTS, Client, take_away, timed};
use super::ground::{Ground, VSFTPD};
use super::held::family;
use super::latency::needs_vsftpd;
use super::task::pairs;
use super::wires::{FAST, LOOPBACK, WIRES};
use super::{size, strangers};
use crate::measure::{Contestant, Course, Effort, Limit};
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct Cpu;

impl Table for Cpu {
    fn about(&self) -> About {
        About {
            name: "ftp-cpu",
            title: "processor time of FTP clients",
            measures: "User and system time of a client that downloads 100 MB from vsftpd, as accounted by the kernel; with TLS that of \
                       the client and its server, ours or vsftpd. \
                       The split into the two is the kernel's estimate; their sum is exact.",
            source: "thesis of 2003, figure 5.7, which has no numbers: the system's part nearly equal for all, ours noticeably more \
                     user time than NcFTP's",
            axes: Axes::default(),
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let cells = WIRES.iter().flat_map(|wire| PARTS.map(|part| (*wire, part)));
        // Where the wire is the limit a client wakes again and again; where that is slow, it takes
        // long.
        let usual = |wire, part| wire == LOOPBACK || wire == FAST && part == "sum";
        cells
            .filter(|(wire, part)| effort == Effort::Full || usual(*wire, *part))
            .map(|(wire, part)| format!("{wire}/{part}"))
            .collect()
    }

    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let ground = Ground::new(keys, notes)?;
        needs_vsftpd()?;
        notes.extend(strangers::note(&["ncftpget", "lftp", "curl"]));
        Ok(Box::new(Times { ground }))
    }
}

const PARTS: [&str; 4] = ["sum", "user", "system", TLS];
/// The sum with TLS, of a client and its server.
const TLS: &str = "tls";
/// How long the processes of a server may go on when their client has ended.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// In which the kernel tells the time of other processes (`USER_HZ`, proc(5)).
const TICKS: f64 = 100.0;

/// The system accounts a process in steps that are large beside a tenth of a second.
const PATIENCE: f64 = 5.0;

struct Times {
    ground: Ground,
}

impl Cells for Times {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (wire, part) = key.split_once('/').ok_or_else(unknown)?;
        let part = PARTS.into_iter().find(|name| *name == part).ok_or_else(unknown)?;
        let size = size("100MB").ok_or_else(unknown)?;
        let label = match part {
            "sum" => "user + system",
            TLS => "client and server with TLS",
            other => other,
        };
        let mut row = Row::new(key, format!("a client gets 100 MB, {wire}"), label, "s");
        if !self.ground.has(wire) {
            return Ok(row);
        }
        if part == TLS {
            let both = |server: u32, run: &dyn Fn() -> Result<f64, Problem>| {
                let (before, served) = (children()?, times(server));
                run()?;
                let after = children()?;
                // A server's process for one session ends a little later than the client.
                eventually(AFTERWARDS, || family(server).len() == 1);
                Ok(after.0 + after.1 - before.0 - before.1 + times(server) - served)
            };
            row.columns = pairs(&mut self.ground, wire, size, both, course)?;
            row.compare_with_all(Some(Target::AtMost(1.0)));
            return Ok(row);
        }
        let server = self.ground.server(wire, VSFTPD)?;
        let into = self.ground.into.path().to_owned();
        let near = self.ground.wire(wire)?.near();
        let run = |client: Client| {
            let before = children()?;
            timed(client.get(near, server, &size.file(), &into))?;
            let after = children()?;
            take_away(&into.join(size.file()), size.octets)?;
            let (user, system) = (after.0 - before.0, after.1 - before.1);
            Ok(match part {
                "user" => user,
                "system" => system,
                _ => user + system,
            })
        };
        let run = &run;
        let there = CLIENTS.into_iter().filter(|client| client.is_there());
        let contestants = there.map(|client| match client {
            Client::Stackwright => Contestant::ours(client.name(), move || run(client)),
            _ => Contestant::peer(client.name(), move || run(client)),
        });
        row.columns = course.compete_for(PATIENCE, contestants.collect())?;
        // Of the two parts nothing is promised: the kernel estimates them.
        row.compare_with_all((part == "sum").then_some(Target::AtMost(1.0)));
        Ok(row)
    }
}

/// User and system time, in seconds, of a process, of all that descend from it, and of those of
/// them that have ended.
fn times(process: u32) -> f64 {
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
