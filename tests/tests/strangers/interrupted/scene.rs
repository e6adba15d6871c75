//! A transfer of a large file between our client and our server, and a look at what stands under
//! its final name meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::place::Place;
use stackwright_programs::processes::{Outcome, Running, eventually, run, stackwright};
use stackwright_programs::scratch::Scratch;

use super::wire::Wire;

pub(super) const LENGTH: usize = 100_000_000;
/// At this rate the file takes a second.
pub(super) const RATE: &str = "800mbit";
/// How long it takes at least.
pub(super) const DURATION: Duration = Duration::from_millis(1000);
/// What the file replaces, where it replaces another.
const OLD: usize = 1000;
const NAME: &str = "file";
const PORT: u16 = 2121;

/// The octets of the file.
pub(super) fn content() -> &'static [u8] {
    static CONTENT: OnceLock<Vec<u8>> = OnceLock::new();
    CONTENT.get_or_init(|| octets(7, LENGTH))
}

/// From where to where the file is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Get,
    Put,
}

impl Direction {
    pub(super) const BOTH: [Direction; 2] = [Direction::Get, Direction::Put];

    pub(super) fn name(self) -> &'static str {
        if self == Direction::Get { "get" } else { "put" }
    }
}

/// A source, a target, and a network between them.
pub(super) struct Scene {
    // In this order: what runs in the network ends before it.
    server: Option<Running>,
    pub(super) wire: Wire,
    direction: Direction,
    source: Scratch,
    target: Scratch,
}

impl Scene {
    pub(super) fn new(direction: Direction, rate: &str) -> Self {
        let wire = Wire::new(rate);
        // Disks are not what is tried.
        let memory = Path::new("/dev/shm");
        let folder = || if memory.is_dir() { Scratch::below(memory) } else { Scratch::new() };
        let (source, target) = (folder(), folder());
        fs::write(source.join(NAME), content()).expect("room for the file");
        let mut scene = Scene { server: None, wire, direction, source, target };
        scene.start_server();
        scene
    }

    /// The folder into which the file is copied.
    pub(super) fn target(&self) -> &Path {
        self.target.path()
    }

    fn served(&self) -> &Scratch {
        if self.direction == Direction::Get { &self.source } else { &self.target }
    }

    pub(super) fn start_server(&mut self) {
        let place = self.wire.server();
        let mut command = place.command(&stackwright());
        let listen = format!("{}:{PORT}", place.address());
        command.arg("serve").arg(self.served().path()).args(["--listen", &listen, "--no-sync"]);
        // An upload on a network of its own needs no password.
        command.args(["--writable", "--user", "ada", "--password-file"]).arg(self.password());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(Running::start(&mut command));
        let listens = || self.greets();
        assert!(eventually(Duration::from_secs(20), listens), "the server does not listen");
    }

    fn password(&self) -> PathBuf {
        // Beside the file that is copied, where nobody asks for it.
        let path = self.source.join("password");
        fs::write(&path, "secret\n").expect("a folder of ours");
        path
    }

    /// Whether the server accepts connections: the kernel tells it of the namespace.
    fn greets(&self) -> bool {
        let number = self.server.as_ref().map_or(0, Running::number);
        let sockets = fs::read_to_string(format!("/proc/{number}/net/tcp")).unwrap_or_default();
        // 0A is LISTEN (proc_net_tcp).
        sockets.lines().any(|line| {
            let mut words = line.split_whitespace().skip(1);
            let local = words.next().is_some_and(|local| local.ends_with(&format!(":{PORT:04X}")));
            local && words.nth(1) == Some("0A")
        })
    }

    pub(super) fn kill_server(&mut self) {
        self.server = None;
    }

    /// The client's command line.
    pub(super) fn client(&self, options: &[&str]) -> Command {
        let mut command = self.wire.client().command(&stackwright());
        let url = format!("ftp://ada@{}:{PORT}/{NAME}", self.wire.server().address());
        match self.direction {
            Direction::Get => command.arg("get").arg(url).arg(self.target.join(NAME)),
            Direction::Put => command.arg("put").arg(self.source.join(NAME)).arg(url),
        };
        command.args(["--json", "--password-file"]).arg(self.password()).args(options);
        command
    }

    /// Runs the client to its end.
    pub(super) fn copy(&self, options: &[&str]) -> Outcome {
        run(&mut self.client(options))
    }

    /// Starts the client, whose output nobody reads.
    pub(super) fn begin(&self, options: &[&str]) -> Running {
        let mut command = self.client(options);
        Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Removes what a transfer before has left; with `old`, there is another file of that name.
    pub(super) fn prepare(&self, old: bool) {
        for name in self.target.names() {
            fs::remove_file(self.target.join(&name)).expect("a folder of ours");
        }
        if old {
            fs::write(self.target.join(NAME), octets(3, OLD)).expect("a folder of ours");
        }
    }

    /// Insists that the file is there, whole, and nothing else.
    #[track_caller]
    pub(super) fn assert_copied(&self) {
        assert_same(&fs::read(self.target.join(NAME)).expect("the file"), content());
        assert_eq!(self.target.names(), [NAME], "nothing else is left");
    }

    /// Looks at the final name from now on.
    pub(super) fn watch(&self) -> Watch {
        let path = self.target.join(NAME);
        let before = length(&path);
        let ended = Arc::new(AtomicBool::new(false));
        let until = ended.clone();
        let looks = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let found = length(&path);
                let sound = found == before || found == Some(LENGTH as u64);
                assert!(sound, "{found:?} octets stand under the final name");
                thread::sleep(Duration::from_micros(500));
            }
        });
        Watch { ended, looks: Some(looks) }
    }
}

fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.len())
}

/// A look at the final name.
pub(super) struct Watch {
    ended: Arc<AtomicBool>,
    looks: Option<JoinHandle<()>>,
}

impl Watch {
    /// Insists that no half file stood there.
    #[track_caller]
    pub(super) fn end(mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let looks = self.looks.take().expect("it ends once");
        assert!(looks.join().is_ok(), "a half file stood under the final name");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// The octet at which a client that printed this went on, where it did.
pub(crate) fn resumed_at(text: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: serde_json::Value| line.get("resumed_at")?.as_u64()).next_back()
}

/// How many octets a run that is killed has left at least.
pub(crate) const LEFT: u64 = 100_000;

/// Runs a client that fetches a file into `near`, and kills it when it has a part of it.
pub(crate) fn leave_part(get: &mut Command, near: &Scratch) {
    get.args(["--limit-rate", "400000"]);
    let mut running = Running::start(get.stdin(Stdio::null()).stdout(Stdio::null()));
    let has_part = || {
        let parts = near.names().into_iter().filter(|name| name.ends_with(".part"));
        let length = |name: String| fs::metadata(near.join(&name)).map_or(0, |found| found.len());
        parts.map(length).any(|length| length >= LEFT)
    };
    assert!(eventually(Duration::from_secs(20), has_part), "nothing arrives");
    assert!(running.alive(), "it was too quick");
    running.kill();
}

/// Waits until a transfer that has just begun is this far, in parts of its duration.
pub(super) fn let_pass(since: Instant, part: f64) {
    thread::sleep(DURATION.mul_f64(part).saturating_sub(since.elapsed()));
}
