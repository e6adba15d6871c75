//! Under which conditions a table was measured.

use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::SystemTime;
use std::{env, fs};

use serde::{Deserialize, Serialize};

/// The machine, the program, the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// What the processor calls itself.
    pub processor: String,
    /// How many of it this program may use.
    pub cores: usize,
    /// The operating system and its release.
    pub kernel: String,
    /// The congestion control of its TCP, where a row does not say another.
    pub congestion: Option<String>,
    /// The commit of the source, `+` where it was changed since; nothing where there is no
    /// repository.
    pub commit: Option<String>,
    /// The compiler that is installed now.
    pub rustc: Option<String>,
    /// When it began, in universal time.
    pub date: String,
    /// The load of the machine when it began: the mean number of processes that ran, or wanted to,
    /// in the last minute.
    pub load: Option<f64>,
}

impl Conditions {
    /// Asks the system. What cannot be found out is left open.
    pub fn now() -> Self {
        let file = |name: &str| fs::read_to_string(name).unwrap_or_default();
        let described = file("/proc/cpuinfo");
        let processor =
            described.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = file("/proc/sys/kernel/osrelease");
        let congestion = file("/proc/sys/net/ipv4/tcp_congestion_control");
        Conditions {
            processor: processor.map_or(env::consts::ARCH, |(_, name)| name.trim()).to_owned(),
            cores: available_parallelism().map_or(1, usize::from),
            kernel: format!("{} {}", env::consts::OS, kernel.trim()),
            congestion: Some(congestion.trim().to_owned()).filter(|name| !name.is_empty()),
            commit: commit(),
            rustc: said(Command::new("rustc").arg("--version").current_dir(source())),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            load: file("/proc/loadavg")
                .split_whitespace()
                .next()
                .and_then(|load| load.parse().ok()),
        }
    }
}

/// Where the source of this program is, on the machine that built it.
pub fn source() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn commit() -> Option<String> {
    if !source().is_dir() {
        return None;
    }
    let git =
        |arguments: &[&str]| said(Command::new("git").arg("-C").arg(source()).args(arguments));
    let mut commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    if git(&["status", "--porcelain", "--untracked-files=no"])
        .is_some_and(|changes| !changes.is_empty())
    {
        commit.push('+');
    }
    Some(commit)
}

/// What a program prints, if it succeeds.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
