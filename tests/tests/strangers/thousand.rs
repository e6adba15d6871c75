//! A thousand sessions at once, on the one thread of a server: each logs in, lists and fetches, and
//! all do it together.

use std::io::Read;
use std::net::TcpStream;

use libtest_mimic::Trial;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::control::Control;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::ours;

use crate::setting::ignorable;

const SESSIONS: usize = 1_000;
/// The most threads: one for all sessions, and the disk's two, which know of none.
const THREADS: u64 = 3;
/// Descriptors of this process: two connections of each session, and its own.
const DESCRIPTORS: u64 = 2 * SESSIONS as u64 + 100;

pub(crate) fn trials() -> Vec<Trial> {
    vec![ignorable("crowd/1000-sessions".into(), &[], false, at_once)]
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
