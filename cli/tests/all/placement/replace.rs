//! `host --replace`: a server takes over from the one that is there.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

const SOON: Duration = Duration::from_secs(60);

/// Starts a server that takes over from the one in this folder, if there is one; it is not there
/// yet.
fn successor(folder: &Scratch, options: &[&str]) -> Command {
    let mut command = program();
    command.args(["host", "artp", "udp", "--replace", "--at"]).arg(folder.join("at")).args(options);
    command
}

fn replaced(folder: &Scratch, options: &[&str]) -> Running {
    let (running, told) = start(&mut successor(folder, options), 3);
    assert_eq!(told[2]["event"], "taken over", "{told:?}");
    running
}

fn ends_well(server: &mut Running) {
    assert!(eventually(SOON, || server.ended().is_some()));
    assert_eq!(server.ended().and_then(|status| status.code()), Some(0));
}

#[test]
fn while_a_server_is_replaced_ten_times_no_program_is_refused_and_what_is_open_ends_well() {
    let folder = Scratch::new();
    // The first one replaces nobody.
    let (mut server, _) = start(&mut successor(&folder, &[]), 2);
    let (_peer, told) = start(program().args(["perf", "serve", "artp://127.0.0.1:0"]), 1);
    let url = told[0]["url"].as_str().expect("an address");
    let placement = placement(&folder);
    let (left, finished) = (AtomicUsize::new(10), AtomicUsize::new(0));
    thread::scope(|scope| {
        let long = scope.spawn(|| measure(&[url, &placement, "--time", "2"]).succeeded());
        for _ in 0..2 {
            scope.spawn(|| {
                while left.load(Relaxed) > 0 || finished.load(Relaxed) < 100 {
                    let short = measure(&[url, &placement, "--requests", "--octets", "640"]);
                    // Nobody waits for one that has failed.
                    finished.fetch_add(1, Relaxed);
                    assert_eq!(json(&short.succeeded().text())["messages"], 10);
                }
            });
        }
        let mut old = Vec::new();
        while left.load(Relaxed) > 0 {
            let next = replaced(&folder, &[]);
            old.push(std::mem::replace(&mut server, next));
            left.fetch_sub(1, Relaxed);
        }
        long.join().expect("it ran");
        old.iter_mut().for_each(ends_well);
    });
    assert!(server.alive());
}

#[test]
fn a_server_that_is_killed_while_it_takes_over_leaves_one_that_works() {
    let folder = Scratch::new();
    let (mut first, _) = start(&mut successor(&folder, &[]), 2);
    let (_listens, url) = serve(&folder, "artp://127.0.0.1:0");
    for seed in 0..kills() {
        let mut next = successor(&folder, &[]);
        let mut dies = Running::start(next.stdout(Stdio::null()).stderr(Stdio::null()));
        pause(seed);
        dies.kill();
        drop(dies);
        let measured = measure(&[&url, &placement(&folder), "--requests", "--octets", "640"]);
        assert_eq!(json(&measured.succeeded().text())["messages"], 10, "seed {seed}");
        assert!(first.alive(), "seed {seed}");
    }
    // What is still open when the time is over is ended, and told why.
    let mut open = program();
    open.args(["perf", "run", &url, "--time", "600"]).arg(placement(&folder));
    let mut open = Running::start(open.stdout(Stdio::null()).stderr(Stdio::piped()));
    thread::sleep(Duration::from_millis(300));
    let _second = replaced(&folder, &["--grace", "0"]);
    ends_well(&mut first);
    let said = std::io::read_to_string(open.errors()).expect("text");
    assert!(said.contains("another server has taken over"), "{said}");
    let (_listens, url) = serve(&folder, "artp://127.0.0.1:0");
    measure(&[&url, &placement(&folder), "--octets", "100kB"]).succeeded();
}

#[test]
fn a_server_takes_over_all_sockets_or_none() {
    let folder = Scratch::new();
    let mut first = host(&folder, &["artp", "udp", "xtp"]);
    let why = complaints(&run(&mut successor(&folder, &[])).exited(1));
    assert!(why.contains("it has xtp, too"), "{why}");
    let at = path(&folder.join("at")).to_owned();
    let why = run(program().args(["host", "replace", "--at", &at]));
    assert!(complaints(&why.failed()).contains("no stack has the name `replace`"));
    assert!(first.alive());
    let (second, _) =
        start(program().args(["host", "xtp", "udp", "artp", "tcp", "--replace", "--at", &at]), 5);
    ends_well(&mut first);
    // What the first one has left is there for the programs of the second.
    let (_server, url) = serve(&folder, "xtp://127.0.0.1:0");
    measure(&[&url, &placement(&folder), "--octets", "60kB"]).succeeded();
    let number = Pid::from_raw(second.number() as i32).expect("a number");
    kill_process(number, Signal::TERM).expect("it is ours");
    let left = || fs::read_dir(&at).expect("a folder").count();
    assert!(eventually(SOON, || left() == 0), "its sockets are removed with it");
}
