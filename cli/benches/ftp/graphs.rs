//! The same parts as a graph and as a static stack: a client of each from one server, a server of
//! each to one client.

use std::process::Command;

use stackwright_programs::content::{SIZES, Sized};
use stackwright_programs::processes::stackwright;
use stackwright_programs::raw;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::Ground;
use crate::contest::{Contestant, Verdict, check_and_remove, compete, time, verdicts};
use crate::terminal;

/// At most this ratio of time, where so much is moved that starting is no matter.
const MOST: f64 = 1.02;

pub(crate) fn compare(ground: &Ground) -> Vec<Verdict> {
    terminal::title(
        "graphs: a file by the same parts, put together while the program runs and before",
    );
    let folder = ground.folder.path();
    let (woven, static_server) =
        (ours(folder, false, &["--stack", "serve"]), ours(folder, false, &[]));
    let into = Scratch::below(folder);
    let fetch = |server: &Server, size: Sized, options: &[&str]| {
        let target = into.join(&size.file());
        let mut command = Command::new(stackwright());
        command.arg("get").args(options).arg(server.url(&size.file())).arg(&target);
        let seconds = time(&mut command);
        check_and_remove(&target, size.octets);
        seconds
    };
    let mut all = Vec::new();
    for size in SIZES[1..].iter().copied() {
        let rounds = 2 * ground.rounds(size.octets);
        let clients = vec![
            Contestant::new("graph", || fetch(&static_server, size, &["--stack", "get"])),
            Contestant::new("static", || fetch(&static_server, size, &[])),
        ];
        let columns = compete(clients, rounds);
        let of_clients = verdicts(&format!("get {} on a graph", size.name), &columns);
        all.extend(terminal::row(size.name, &columns, of_clients));
        let raw = |server: &Server| {
            raw::fetch(server.address, &size.file(), size.octets).expect("a transfer")
        };
        let servers = vec![
            Contestant::new("graph", || raw(&woven)),
            Contestant::new("static", || raw(&static_server)),
        ];
        let columns = compete(servers, 5 * rounds);
        let of_servers = verdicts(&format!("serve {} on a graph", size.name), &columns);
        all.extend(terminal::row(size.name, &columns, of_servers));
    }
    // A target stands for the largest file alone: a small one is mostly the start of a process.
    let largest = SIZES[SIZES.len() - 1].name;
    all.retain(|verdict| verdict.task.contains(&format!(" {largest} ")));
    all.into_iter().map(|verdict| Verdict { most: MOST, ..verdict }).collect()
}
