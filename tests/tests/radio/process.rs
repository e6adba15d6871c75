//! A station of ours as a process: `stackwright station`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use stackwright_programs::processes::{Running, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::channel::{RATE, SPEED};

pub(crate) struct Process {
    running: Running,
    /// Where it offers AGW, and KISS.
    pub(crate) agw: u16,
    pub(crate) kiss: u16,
    _folder: Scratch,
}

impl Process {
    /// Starts a station on a channel without a modem.
    pub(crate) fn start(call: &str, channel: SocketAddr) -> Self {
        let access = r#"txdelay = "10 ms", persistence = 1.0, slot = "10 ms""#;
        Self::with(call, channel, 200_000, access)
    }

    /// Starts a station at a modem of the rig, with more in its file.
    pub(crate) fn at_modem(call: &str, modem: SocketAddr, baud: u32, more: &str) -> Self {
        let access = r#"txdelay = "200 ms", persistence = 1.0, slot = "10 ms", tail = "50 ms""#;
        Self::with_more(call, modem, baud, access, more)
    }

    /// Starts a station at a TNC of our channel.
    pub(crate) fn on_channel(call: &str, tnc: SocketAddr) -> Self {
        Self::serving(call, tnc, "")
    }

    /// The same with more in its file.
    pub(crate) fn serving(call: &str, tnc: SocketAddr, more: &str) -> Self {
        let access = r#"txdelay = "10 ms", persistence = 0.25, slot = "10 ms""#;
        Self::with_more(call, tnc, RATE * SPEED, access, more)
    }

    /// Starts a station at a TNC of our channel, of this rate by the clock.
    pub(crate) fn at_rate(call: &str, tnc: SocketAddr, rate: u32) -> Self {
        Self::with(call, tnc, rate, r#"txdelay = "100 ms", persistence = 0.25, slot = "10 ms""#)
    }

    /// Returns the time that it has had on a processor, of all its threads.
    pub(crate) fn processor(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.running.number()));
        let tasks = tasks.expect("it runs").flatten();
        // The first number is nanoseconds (the kernel's text on the scheduler's statistics).
        let time = |path: PathBuf| {
            let text = fs::read_to_string(path.join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        Duration::from_nanos(tasks.filter_map(|task| time(task.path())).sum())
    }

    fn with(call: &str, tnc: SocketAddr, rate: u32, access: &str) -> Self {
        Self::with_more(call, tnc, rate, access, "")
    }

    fn with_more(call: &str, tnc: SocketAddr, rate: u32, access: &str, more: &str) -> Self {
        let folder = Scratch::new();
        let file = folder.join("station.toml");
        let text = format!(
            "call = \"{call}\"\n[tnc.test]\nline = \"tcp://{tnc}\"\nrate = {rate}\n\
             kiss = {{ {access} }}\n\
             [serve]\nagw = \"127.0.0.1:0\"\nkiss = \"127.0.0.1:0\"\nkiss_calls = [\"{call}-1\"]\n{more}"
        );
        fs::write(&file, text).expect("a folder of ours");
        let mut command = Command::new(stackwright());
        command.arg("station").arg(&file).stdin(Stdio::null());
        let mut running = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut out = BufReader::new(running.output());
        let [agw, kiss] = ["AGW", "KISS"].map(|what| port(&mut out, what));
        Process { running, agw, kiss, _folder: folder }
    }
}

/// Returns the port in the line that begins so.
fn port(out: &mut BufReader<ChildStdout>, what: &str) -> u16 {
    let mut line = String::new();
    while !line.starts_with(what) {
        line.clear();
        assert_ne!(out.read_line(&mut line).expect("text"), 0, "{what}");
    }
    line.trim_end().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
}
