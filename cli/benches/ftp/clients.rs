//! Our client and ncftpget, from the same vsftpd.

use std::process::Command;

use crate::Ground;
use crate::content::{SIZES, Sized};
use crate::contest::{Contestant, Verdict, check_and_remove, compete, time, verdicts};
use crate::processes::{find, run, stackwright};
use crate::scratch::Scratch;
use crate::servers::{Server, Vsftpd, vsftpd};
use crate::terminal;

pub(crate) fn compare(ground: &Ground) -> Vec<Verdict> {
    terminal::title("clients: a file from vsftpd (whole process)");
    if find("vsftpd").is_none() || find("ncftpget").is_none() {
        terminal::skipped("vsftpd or ncftpget is not installed");
        return Vec::new();
    }
    let server = vsftpd(ground.folder.path(), false, Vsftpd::AsItComes);
    let into = Scratch::below(ground.folder.path());
    let mut all = Vec::new();
    for size in &SIZES[1..] {
        let fetch = |mut command: Command| {
            let seconds = time(&mut command);
            check_and_remove(&into.join(&size.file()), size.octets);
            seconds
        };
        let contestants = vec![
            Contestant::new("stackwright", || fetch(stackwright_get(&server, &into, *size))),
            Contestant::new("ncftpget", || fetch(ncftpget(&server, &into, *size))),
        ];
        let columns = compete(contestants, ground.rounds(size.octets));
        let task = format!("get {}", size.name);
        all.extend(terminal::row(size.name, &columns, verdicts(&task, &columns)));
    }
    let largest = SIZES[SIZES.len() - 1];
    let ours = run(&mut stackwright_get(&server, &into, largest)).succeeded().memory;
    let theirs = run(&mut ncftpget(&server, &into, largest)).succeeded().memory;
    println!("  memory of the client at {}, peak: stackwright {ours} kB, ncftpget {theirs} kB", largest.name);
    all
}

fn stackwright_get(server: &Server, into: &Scratch, size: Sized) -> Command {
    let mut command = Command::new(stackwright());
    command.arg("get").arg(server.url(&size.file())).arg(into.join(&size.file()));
    command
}

/// Quiet, passive, without looking for a file to resume: the least that ncftpget does.
pub(crate) fn ncftpget(server: &Server, into: &Scratch, size: Sized) -> Command {
    let mut command = Command::new(find("ncftpget").unwrap_or_default());
    command.args([
        "-V",
        "-F",
        "-Z",
        "-P",
        &server.address.port().to_string(),
        &server.address.ip().to_string(),
    ]);
    command.arg(into.path()).arg(size.file());
    command
}
