//! The client's commands, with a server of ours.

mod copies;
mod folders;
mod interrupted;
mod shell;
mod terminal;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::thread;

use serde_json::Value;
use stackwright_programs::processes::{Outcome, Running, run, stackwright, use_program};
use stackwright_programs::scratch::Scratch;

/// The program that was built with this test, as a person without files of their own runs it.
fn program() -> Command {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| use_program(env!("CARGO_BIN_EXE_stackwright").into()));
    let mut command = Command::new(stackwright());
    command.env("HOME", "/nonexistent").env("TZ", "UTC").env_remove("XDG_CONFIG_HOME");
    command
}

fn say(arguments: &[&str]) -> Outcome {
    run(program().args(arguments))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a scratch folder's name is a text")
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

/// The events of `--json`.
fn events(outcome: &Outcome) -> Vec<Value> {
    let text = outcome.text();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn write(folder: &Scratch, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("a folder of ours");
    fs::write(path, text).expect("a folder of ours");
}

fn read(folder: &Scratch, name: &str) -> Option<String> {
    fs::read_to_string(folder.join(name)).ok()
}

/// A server of ours where everything may be changed, and its folder.
struct Server {
    folder: Scratch,
    port: u16,
    running: Running,
}

impl Server {
    fn start() -> Self {
        let folder = Scratch::new();
        let (running, port) = serve(folder.path(), 0);
        Server { folder, port, running }
    }

    /// Ends it, and starts another one in its place.
    fn restart(&mut self) {
        self.running.kill();
        (self.running, _) = serve(self.folder.path(), self.port);
    }

    fn url(&self, path: &str) -> String {
        format!("ftp://127.0.0.1:{}/{path}", self.port)
    }
}

/// Serves a folder at a port; 0 is any that is free. Returns the port.
fn serve(folder: &Path, port: u16) -> (Running, u16) {
    let mut command = program();
    command.arg("serve").arg(folder).args(["--json", "--writable", "--no-sync"]);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(&mut command);
    let mut lines = BufReader::new(running.output()).lines();
    let line = lines.next().expect("a line").expect("of text");
    let told: Value = serde_json::from_str(&line).expect("JSON");
    let url = told["url"].as_str().expect("an address").trim_end_matches('/');
    let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    // Its events are read away for as long as it lives, or it would stop at a full pipe.
    thread::spawn(move || lines.all(|line| line.is_ok()));
    (running, port)
}
