//! Our server, vsftpd and pure-ftpd, with the same clients.

use std::fs;
use std::io::Read;
use std::process::Command;

use crate::Ground;
use crate::clients::ncftpget;
use crate::content::{SIZES, Sized};
use crate::contest::{Contestant, Verdict, check_and_remove, compete, time, verdicts};
use crate::control::Control;
use crate::processes::find;
use crate::raw;
use crate::scratch::Scratch;
use crate::servers::{Server, Vsftpd, may_mount, ours, pure_ftpd, vsftpd};
use crate::terminal;

/// Who fetches.
#[derive(Clone, Copy)]
enum Client {
    Raw,
    Ncftpget,
    /// Version 7.88 waits 200 ms now and then before it opens a data connection: printed, never judged.
    Curl,
}

/// Everybody who can be started here, ours first.
pub(crate) fn everybody(ground: &Ground) -> Vec<(&'static str, Server)> {
    let folder = ground.folder.path();
    let mut servers = vec![("stackwright", ours(folder, false, &[]))];
    if find("vsftpd").is_some() {
        servers.push(("vsftpd", vsftpd(folder, false, Vsftpd::AsItComes)));
        servers.push(("vsftpd, lean", vsftpd(folder, false, Vsftpd::Lean)));
    } else {
        terminal::skipped("vsftpd is not installed");
    }
    if find("pure-ftpd").is_none() {
        terminal::skipped("pure-ftpd is not installed");
    } else if may_mount() {
        servers.push(("pure-ftpd", pure_ftpd(folder, false)));
    } else {
        terminal::skipped("pure-ftpd needs a mount, which is not allowed here");
    }
    servers
}

pub(crate) fn compare(ground: &Ground) -> Vec<Verdict> {
    terminal::title("servers");
    let servers = everybody(ground);
    println!("  lean: without isolate, isolate_network and seccomp_sandbox, which vsftpd has on by default");
    let into = Scratch::below(ground.folder.path());
    let mut all = Vec::new();
    for client in [Client::Raw, Client::Ncftpget, Client::Curl] {
        let (name, program) = match client {
            Client::Raw => ("a raw client (connect to farewell, no process)", None),
            Client::Ncftpget => ("ncftpget (whole process)", Some("ncftpget")),
            Client::Curl => ("curl (whole process; 200 ms waits of its own, not judged)", Some("curl")),
        };
        terminal::title(&format!("servers: a file to {name}"));
        if program.is_some_and(|program| find(program).is_none()) {
            terminal::skipped("it is not installed");
            continue;
        }
        for size in SIZES[1..].iter().copied() {
            let contestants: Vec<_> = servers
                .iter()
                .map(|(name, server)| Contestant::new(name, || fetch(client, server, &into, size)))
                .collect();
            let rounds = ground.rounds(size.octets);
            // The raw client costs little: more rounds, narrower intervals.
            let rounds = if matches!(client, Client::Raw) { 5 * rounds } else { rounds };
            let columns = compete(contestants, rounds);
            let task = format!("serve {} to {}", size.name, program.unwrap_or("raw"));
            let judged = terminal::row(size.name, &columns, verdicts(&task, &columns));
            if !matches!(client, Client::Curl) {
                all.extend(judged);
            }
        }
    }
    memory(&servers);
    all
}

fn fetch(client: Client, server: &Server, into: &Scratch, size: Sized) -> f64 {
    let mut command = match client {
        Client::Raw => return raw::fetch(server.address, &size.file(), size.octets),
        Client::Ncftpget => ncftpget(server, into, size),
        Client::Curl => {
            let mut command = Command::new(find("curl").unwrap_or_default());
            command
                .arg("--silent")
                .arg("--output")
                .arg(into.join(&size.file()))
                .arg(server.url(&size.file()));
            command
        }
    };
    let seconds = time(&mut command);
    check_and_remove(&into.join(&size.file()), size.octets);
    seconds
}

/// What a server holds while it serves: all of its processes, in the middle of large transfers.
fn memory(servers: &[(&str, Server)]) {
    terminal::title("servers: memory, all processes of each (kB; shared pages counted once for PSS)");
    println!("  {:<14}{:>12}{:>12}{:>12}{:>12}", "", "idle RSS", "idle PSS", "20 gets RSS", "20 gets PSS");
    let largest = SIZES[SIZES.len() - 1];
    for (name, server) in servers {
        let idle = holds(server);
        let held: Vec<_> = (0..20)
            .map(|_| {
                let mut control = Control::guest(server.address).expect("a login");
                let mut data = control.begin(&format!("RETR {}", largest.file())).expect("a transfer");
                data.read_exact(&mut vec![0; 1_000_000]).expect("some of it");
                (control, data)
            })
            .collect();
        let busy = holds(server);
        drop(held);
        println!("  {name:<14}{:>12}{:>12}{:>12}{:>12}", idle.0, idle.1, busy.0, busy.1);
    }
}

/// RSS and PSS of a process and all that descend from it.
fn holds(server: &Server) -> (u64, u64) {
    let mut family = vec![server.running.number()];
    let mut next = 0;
    while next < family.len() {
        family.extend(children(family[next]));
        next += 1;
    }
    family.iter().fold((0, 0), |sum, process| {
        let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        let field = |name: &str| {
            let line = rollup.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        (sum.0 + field("Rss:"), sum.1 + field("Pss:"))
    })
}

fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}
