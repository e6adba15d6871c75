//! How often a server asks the system: for each command, for each megabyte, for a whole
//! association.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use stackwright_programs::control::Control;
use stackwright_programs::processes::{Running, eventually, find};
use stackwright_programs::raw;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, Vsftpd, may_mount, ours, pure_ftpd, vsftpd};

use crate::Ground;
use crate::terminal;

const COMMANDS: u32 = 500;

pub(crate) fn count(ground: &Ground) {
    terminal::title("system calls of a server (all its processes)");
    if find("strace").is_none() {
        return terminal::skipped("strace is not installed");
    }
    println!("  {:<14}{:>14}{:>14}{:>22}", "", "a command", "a megabyte", "an association, 1 kB");
    for (name, server) in everybody(ground) {
        // A login costs what it costs: it happens before the count begins.
        let mut control = Control::guest(server.address).expect("a login");
        let commands = counted(&server, || {
            for _ in 0..COMMANDS {
                control.ask("NOOP").expect("a reply");
            }
        });
        drop(control);
        let association = counted(&server, || {
            raw::fetch(server.address, "1kB.bin", 1_000).expect("a transfer");
        });
        let large = counted(&server, || {
            raw::fetch(server.address, "100MB.bin", 100_000_000).expect("a transfer");
        });
        let megabyte =
            large.zip(association).map(|(large, small)| large.saturating_sub(small) as f64 / 100.0);
        let command = commands.map(|calls| calls as f64 / f64::from(COMMANDS));
        let [command, megabyte, association] =
            [command, megabyte, association.map(|calls| calls as f64)].map(terminal::number);
        println!("  {name:<14}{command:>14}{megabyte:>14}{association:>22}");
    }
}

/// Everybody who can be started here, ours first.
fn everybody(ground: &Ground) -> Vec<(&'static str, Server)> {
    let folder = ground.folder.path();
    let mut servers = vec![("stackwright", ours(folder, false, &[]))];
    if find("vsftpd").is_some() {
        servers.push(("vsftpd", vsftpd(folder, false, Vsftpd::AsItComes)));
        servers.push(("vsftpd, lean", vsftpd(folder, false, Vsftpd::Lean)));
    } else {
        terminal::skipped("vsftpd is not installed");
    }
    if find("pure-ftpd").is_none() {
        terminal::skipped("pure-ftpd is not installed");
    } else if may_mount() {
        servers.push(("pure-ftpd", pure_ftpd(folder, false)));
    } else {
        terminal::skipped("pure-ftpd needs a mount, which is not allowed here");
    }
    servers
}

/// The number of system calls a server makes meanwhile; nothing when it cannot be traced.
fn counted(server: &Server, work: impl FnOnce()) -> Option<u64> {
    let scratch = Scratch::new();
    let report = scratch.join("report");
    let mut strace = Command::new(find("strace")?);
    strace.args(["-c", "-f", "-o"]).arg(&report);
    for process in family(server.running.number()) {
        strace.args(["-p", &process.to_string()]);
    }
    strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut tracer = Running::start(&mut strace);
    if !eventually(Duration::from_secs(5), || server.running.status("TracerPid") != 0) {
        return None;
    }
    work();
    // What the server does after the farewell belongs to the association.
    std::thread::sleep(Duration::from_millis(50));
    // An interrupt lets it write its report; the shell is what every machine has for that.
    let interrupt = format!("kill -INT {}", tracer.number());
    let _ = Command::new("sh").args(["-c", &interrupt]).status();
    eventually(Duration::from_secs(5), || !tracer.alive());
    let report = fs::read_to_string(report).ok()?;
    // % time, seconds, usecs/call, calls, perhaps errors, the word.
    let total = report.lines().find(|line| line.trim_end().ends_with(" total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

/// A process and its children: associations that are open already have theirs.
fn family(process: u32) -> Vec<u32> {
    let children =
        fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let mut all = vec![process];
    for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
        all.extend(family(child));
    }
    all
}
