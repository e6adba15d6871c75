//! How many instructions our programs need: for a command, for a megabyte. Valgrind counts those of
//! user space exactly, so the figures are the same on every run.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use stackwright_programs::control::Control;
use stackwright_programs::processes::{Running, eventually, find, stackwright};
use stackwright_programs::raw;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Vsftpd, vsftpd};

use crate::Ground;
use crate::terminal;

const COMMANDS: usize = 200;
const SMALL: (&str, usize) = ("1MB.bin", 1_000_000);
const LARGE: (&str, usize) = ("10MB.bin", 10_000_000);

pub(crate) fn count(ground: &Ground) {
    terminal::title("instructions of ours in user space (valgrind)");
    if find("valgrind").is_none() {
        return terminal::skipped("valgrind is not installed");
    }
    let between = |few: Option<u64>, many: Option<u64>, units: f64| {
        terminal::number(few.zip(many).map(|(few, many)| many.saturating_sub(few) as f64 / units))
    };
    let megabytes = (LARGE.1 - SMALL.1) as f64 / 1e6;

    let ask = |commands: usize| {
        move |address| {
            let mut control = Control::guest(address).expect("a login");
            for _ in 0..commands {
                control.ask("NOOP").expect("a reply");
            }
        }
    };
    let fetch = |(name, size): (&'static str, usize)| {
        move |address| {
            raw::fetch(address, name, size).expect("a transfer");
        }
    };
    let served = |work: &dyn Fn(SocketAddr)| of_server(ground.folder.path(), work);
    let command = between(served(&ask(COMMANDS)), served(&ask(2 * COMMANDS)), COMMANDS as f64);
    let sent = between(served(&fetch(SMALL)), served(&fetch(LARGE)), megabytes);

    let server = vsftpd(ground.folder.path(), false, Vsftpd::Lean);
    let got = |(name, _): (&str, usize)| of_get(&server.url(name));
    let received = between(got(SMALL), got(LARGE), megabytes);
    println!(
        "  serve, a command {command:>12}    serve, a megabyte sent {sent:>12}    get, a megabyte {received:>12}"
    );
}

fn counting(report: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--log-file={}", report.display())).arg(stackwright());
    valgrind.stdin(Stdio::null()).stderr(Stdio::null());
    valgrind
}

fn of_server(folder: &Path, work: &dyn Fn(SocketAddr)) -> Option<u64> {
    let scratch = Scratch::new();
    let report = scratch.join("report");
    let mut server = counting(&report);
    server
        .arg("serve")
        .arg(folder)
        .args(["--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped());
    let mut running = Running::start(&mut server);
    let mut line = String::new();
    let mut lines = BufReader::new(running.output());
    lines.read_line(&mut line).ok()?;
    let (_, rest) = line.split_once("ftp://")?;
    work(rest.split_once('/')?.0.parse().ok()?);
    // Its events are not read, and fit into the pipe. It ends in good order, and valgrind tells
    // what it counted.
    let _ = Command::new("sh").args(["-c", &format!("kill -TERM {}", running.number())]).status();
    eventually(Duration::from_secs(10), || !running.alive());
    collected(&report)
}

fn of_get(url: &str) -> Option<u64> {
    let scratch = Scratch::new();
    let report = scratch.join("report");
    let done =
        counting(&report).args(["get", url]).arg(scratch.path()).stdout(Stdio::null()).status();
    done.ok().filter(|status| status.success())?;
    collected(&report)
}

/// `==123== Collected : 4567`
fn collected(report: &Path) -> Option<u64> {
    let report = fs::read_to_string(report).ok()?;
    report.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}
