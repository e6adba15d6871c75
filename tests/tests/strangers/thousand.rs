//! A thousand sessions at once, on the one thread of a server: each logs in, lists and fetches, and
//! all do it together. Where the system allows few open files, fewer are served at once.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::control::Control;
use stackwright_programs::processes::{Running, eventually, stackwright};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::ours;

use crate::setting::{ignorable, trial};

const SESSIONS: usize = 1_000;
/// The most threads: one for all sessions, and the disk's two, which know of none.
const THREADS: u64 = 3;
/// Descriptors of this process: two connections of each session, and its own.
const DESCRIPTORS: u64 = 2 * SESSIONS as u64 + 100;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        ignorable("crowd/1000-sessions".into(), &[], false, at_once),
        trial("crowd/soft-limit-of-files".into(), &[], false, soft_limit),
        trial("crowd/few-open-files".into(), &[], false, few_open_files),
    ]
}

/// Raises the limit of open files; `None` where that is possible.
fn lacks_descriptors() -> Option<String> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|most| most >= DESCRIPTORS) {
        return None;
    }
    let raised = limit.maximum.is_none_or(|most| most >= DESCRIPTORS)
        && setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).is_ok();
    (!raised).then(|| format!("the system allows fewer than {DESCRIPTORS} open files"))
}

/// A server that a shell started with a limit of open files, and the file of its complaints.
struct Limited {
    _running: Running,
    address: SocketAddr,
    complaints: PathBuf,
    folder: Scratch,
}

fn limited(limit: &str) -> Limited {
    let folder = Scratch::new();
    fs::write(folder.join("file"), "some").expect("a folder of ours");
    let complaints = folder.join("complaints");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(stackwright());
    command.arg("serve").arg(folder.path()).args(["--listen", "127.0.0.1:0", "--json"]);
    command.stdout(Stdio::piped()).stderr(File::create(&complaints).expect("a folder of ours"));
    let mut running = Running::start(&mut command);
    let mut lines = BufReader::new(running.output());
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    let address = line.split("ftp://").nth(1).and_then(|rest| rest.split('/').next()?.parse().ok());
    // Its events are read away, or it would stop at a full pipe.
    thread::spawn(move || lines.lines().all(|line| line.is_ok()));
    let address = address.unwrap_or_else(|| panic!("no address in {line:?}"));
    Limited { _running: running, address, complaints, folder }
}

/// A limit that a program may raise is raised.
fn soft_limit() {
    let server = limited("ulimit -S -n 40");
    let all: Vec<Control> =
        (0..100).map(|_| Control::guest(server.address).expect("a login")).collect();
    assert_eq!(all.len(), 100);
}

/// Where the system allows few, the server says what it needs, and later clients wait until others
/// go.
fn few_open_files() {
    let server = limited("ulimit -n 40");
    let said = fs::read_to_string(&server.complaints).expect("what it said");
    assert!(said.contains("open files, and this system allows 40"), "{said:?}");
    let mut waiting: Vec<TcpStream> =
        (0..60).map(|_| TcpStream::connect(server.address).expect("a connection")).collect();
    let greeted = |stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket of ours");
        stream.peek(&mut [0]).is_ok_and(|octets| octets > 0)
    };
    let first = waiting.iter().filter(|stream| greeted(stream)).count();
    assert!((5..40).contains(&first), "{first} are served at first");
    let all = eventually(Duration::from_secs(20), || {
        waiting.retain(|stream| !greeted(stream));
        waiting.is_empty()
    });
    assert!(all, "{} were never served", waiting.len());
    let fetched = Control::guest(server.address).and_then(|mut guest| guest.retrieve("file"));
    assert_eq!(fetched.expect("a server that still serves"), b"some");
    drop(server.folder);
}

fn at_once() -> Option<String> {
    if let Some(why) = lacks_descriptors() {
        return Some(why);
    }
    let folder = Scratch::new();
    let contents: Vec<Vec<u8>> = (0..10).map(|seed| octets(seed, 1_000)).collect();
    for (nth, content) in contents.iter().enumerate() {
        std::fs::write(folder.join(&format!("file-{nth}")), content).expect("a folder of ours");
    }
    let server = ours(folder.path(), false, &["--sessions-per-address", "1000"]);
    let mut all: Vec<Control> = (0..SESSIONS)
        .map(|nth| Control::guest(server.address).unwrap_or_else(|why| panic!("{nth}: {why}")))
        .collect();
    // One more is told so, and takes nobody's place.
    Control::connect(server.address).expect_err("a session too many");
    for name in ["LIST", "RETR"] {
        let mut data: Vec<TcpStream> = all
            .iter_mut()
            .enumerate()
            .map(|(nth, control)| match name {
                "LIST" => control.begin("LIST").expect("a listing"),
                _ => control.begin(&format!("RETR file-{}", nth % 10)).expect("a transfer"),
            })
            .collect();
        for (nth, data) in data.iter_mut().enumerate() {
            let mut arrived = Vec::new();
            data.read_to_end(&mut arrived).expect("all octets");
            if name == "LIST" {
                let text = String::from_utf8(arrived).expect("a listing");
                assert_eq!(text.lines().filter(|line| line.contains("file-")).count(), 10);
            } else {
                assert_same(&arrived, &contents[nth % 10]);
            }
        }
        for control in &mut all {
            control.expect(226).expect("the transfer's end");
        }
    }
    let threads = server.running.status("Threads");
    assert!(threads <= THREADS, "{threads} threads for {SESSIONS} sessions");
    for control in &mut all {
        control.ask("QUIT").and_then(|reply| reply.is(221)).expect("a farewell");
    }
    drop(all);
    Control::guest(server.address).expect("a place that is free again");
    None
}
