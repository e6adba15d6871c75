//! Our client and ncftpput, to the same vsftpd.

use std::fs;
use std::process::Command;

use crate::Ground;
use crate::content::SIZES;
use crate::contest::{Contestant, Verdict, check_and_remove, compete, time, verdicts};
use crate::processes::{find, run, stackwright};
use crate::servers::{Vsftpd, vsftpd};
use crate::terminal;

pub(crate) fn compare(ground: &Ground) -> Vec<Verdict> {
    terminal::title("uploads: a file to vsftpd (whole process)");
    if find("vsftpd").is_none() || find("ncftpput").is_none() {
        terminal::skipped("vsftpd or ncftpput is not installed");
        return Vec::new();
    }
    let server = vsftpd(ground.folder.path(), false, Vsftpd::AsItComes);
    let (ip, port) = (server.address.ip().to_string(), server.address.port().to_string());
    let ours = |name: &str| {
        let mut command = Command::new(stackwright());
        command.arg("put").arg(ground.folder.join(name)).arg(server.url(&format!("in/{name}")));
        command
    };
    let theirs = |name: &str| {
        let mut command = Command::new(find("ncftpput").unwrap_or_default());
        command.args(["-V", "-F", "-Z", "-P", &port, &ip, "in"]).arg(ground.folder.join(name));
        command
    };
    let mut all = Vec::new();
    for size in &SIZES[1..] {
        let name = size.file();
        let arrived = ground.folder.join("in").join(&name);
        let store = |mut command: Command| {
            let seconds = time(&mut command);
            check_and_remove(&arrived, size.octets);
            seconds
        };
        let contestants = vec![
            Contestant::new("stackwright", || store(ours(&name))),
            Contestant::new("ncftpput", || store(theirs(&name))),
        ];
        let columns = compete(contestants, ground.rounds(size.octets));
        let task = format!("put {}", size.name);
        all.extend(terminal::row(size.name, &columns, verdicts(&task, &columns)));
    }
    let largest = SIZES[SIZES.len() - 1];
    let memory = [ours(&largest.file()), theirs(&largest.file())].map(|mut command| {
        let memory = run(&mut command).succeeded().memory;
        let _ = fs::remove_file(ground.folder.join("in").join(largest.file()));
        memory
    });
    println!(
        "  memory of the client at {}, peak: stackwright {} kB, ncftpput {} kB",
        largest.name, memory[0], memory[1]
    );
    all
}
