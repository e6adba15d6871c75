//! Files over transports of ours over UDP, on loopback, and what is said of their packets.

mod crowd;
mod dissected;
mod files;
mod group;
mod jis;
mod relay;
mod services;
mod stacks;
mod wireshark;
mod xtp;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::thread;

use serde_json::Value;
use stackwright_programs::processes::{Outcome, Running, run, stackwright, use_program};

/// The program that was built with this test, wherever the tests' folder looks for it.
fn program() -> Command {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| use_program(env!("CARGO_BIN_EXE_stackwright").into()));
    Command::new(stackwright())
}

fn say(arguments: &[&str]) -> Outcome {
    run(program().args(arguments))
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("a scratch folder's name is a text")
}

pub(crate) fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

pub(crate) fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

/// A transport of ours, by its name.
type Transport = &'static str;

const ARTP: Transport = "artp";
const XTP: Transport = "xtp";

/// A server of ours, and the port of UDP where it listens.
struct Server {
    running: Running,
    transport: Transport,
    port: u16,
}

impl Server {
    fn start(transport: Transport, folder: &Path, options: &[&str]) -> Self {
        let mut command = program();
        command.arg("serve").arg(folder).arg("--json").args(options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = Running::start(&mut command);
        let mut lines = BufReader::new(running.output()).lines();
        let line = lines.next().expect("a line").expect("of text");
        let url = json(&line)["url"].as_str().expect("an address").to_owned();
        let port = url.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        // Its events are read away for as long as it lives, or it would stop at a full pipe.
        thread::spawn(move || lines.all(|line| line.is_ok()));
        let port = port.unwrap_or_else(|| panic!("{url} has no port"));
        Server { running, transport, port }
    }

    fn over(transport: Transport, folder: &Path, options: &[&str]) -> Self {
        let listens = format!("--{transport}=127.0.0.1:0");
        Self::start(transport, folder, &[&[&*listens], options].concat())
    }

    fn url(&self, path: &str) -> String {
        format!("ftp+{}://127.0.0.1:{}/{path}", self.transport, self.port)
    }
}
