//! Pat, a Winlink client, at AGW of our station. It is not packaged:
//!
//! ```sh
//! go install github.com/la5nta/pat@v0.19.0
//! cargo test -p stackwright-tests --test radio -- station/pat --ignored
//! ```

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;
use stackwright_programs::processes::{Running, eventually};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::free_port;

use crate::channel::channel;
use crate::hub::hub;
use crate::process::Process;
use crate::rig::Rig;
use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    let two = trial("station/pat/two-stations", "pat", two_stations).with_ignored_flag(true);
    let one = trial("station/pat/with-direwolf", "pat", with_direwolf).with_ignored_flag(true);
    let channel = trial("station/pat/on-a-channel", "pat", on_a_channel).with_ignored_flag(true);
    vec![two, one, channel]
}

/// A Pat with a mailbox of its own.
struct Pat {
    call: &'static str,
    folder: Scratch,
}

impl Pat {
    fn new(call: &'static str, agw: SocketAddr) -> Self {
        let folder = Scratch::new();
        fs::create_dir_all(folder.join("config/pat")).expect("a folder of ours");
        let http = free_port(false);
        let config = format!(
            r#"{{"mycall":"{call}","locator":"JO20","http_addr":"127.0.0.1:{http}","service_codes":["PUBLIC"],
            "motd":["hi"],"listen":[],"ax25":{{"engine":"agwpe"}},"agwpe":{{"addr":"{agw}","radio_port":0}}}}"#
        );
        fs::write(folder.join("config/pat/config.json"), config).expect("a folder of ours");
        Pat { call, folder }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("pat");
        command.args(arguments).env("HOME", self.folder.path()).env("EDITOR", "true");
        for (name, folder) in [("CONFIG", "config"), ("DATA", "data"), ("STATE", "state")] {
            command.env(format!("XDG_{name}_HOME"), self.folder.join(folder));
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Runs it with this input, to its end.
    fn run(&self, arguments: &[&str], input: &str) -> bool {
        let file = self.folder.join("input");
        fs::write(&file, input).expect("a folder of ours");
        let input = fs::File::open(&file).expect("it is there");
        let mut running = Running::start(self.command(arguments).stdin(input));
        let mut ended = None;
        eventually(Duration::from_secs(120), || {
            ended = running.ended();
            ended.is_some()
        });
        ended.is_some_and(|status| status.success())
    }

    /// Returns how many messages are in a folder of its mailbox.
    fn messages(&self, folder: &str) -> usize {
        let path = self.folder.join(&format!("data/pat/mailbox/{}/{folder}", self.call));
        fs::read_dir(path).map_or(0, |entries| entries.flatten().count())
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// One Pat sends the other a message.
fn exchange(from: SocketAddr, to: SocketAddr) {
    let [sender, receiver] = [Pat::new("N0AAA", from), Pat::new("N0BBB", to)];
    let mut listens = receiver.command(&["--listen", "ax25", "http"]);
    let _listens = Running::start(listens.stdin(Stdio::null()));
    std::thread::sleep(Duration::from_secs(2)); // it says nothing that could be waited for
    let body = "A message through our station.\n".repeat(100);
    let compose = ["compose", "-s", "Subject", "--p2p-only", "N0BBB"];
    assert!(sender.run(&compose, &body), "it is composed");
    // It asks once whether to go on without an account.
    assert!(sender.run(&["connect", "ax25+agwpe:///N0BBB"], "c\nc\n"), "it connects");
    let is_there = eventually(Duration::from_secs(10), || receiver.messages("in") == 1);
    assert!(is_there && sender.messages("sent") == 1, "it has arrived");
}

fn two_stations() {
    let channel = hub();
    let stations = ["N0AAA", "N0BBB"].map(|call| Process::start(call, channel));
    exchange(local(stations[0].agw), local(stations[1].agw));
}

fn on_a_channel() {
    let (_channel, tncs) = channel(1e-5);
    let calls = ["N0AAA", "N0BBB"];
    let stations = [0, 1].map(|place| Process::on_channel(calls[place], tncs[place]));
    exchange(local(stations[0].agw), local(stations[1].agw));
}

/// The receiver is at Direwolf's own AGW.
fn with_direwolf() {
    let rig = Rig::new(9600);
    let station = Process::at_modem("N0AAA", rig.kiss(0), 9600, "");
    exchange(local(station.agw), rig.agw(1));
}
