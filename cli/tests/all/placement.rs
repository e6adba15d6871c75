//! One transport for several programs: `host`, and measurements with `--placement server=`.

mod replace;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stackwright_programs::picture::Picture;
use stackwright_programs::processes::{Outcome, Running, eventually, run};
use stackwright_programs::scratch::Scratch;

use crate::over_udp::{complaints, json, path};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stackwright"))
}

/// Starts what reports events, and returns the first `lines` of them.
fn start(command: &mut Command, lines: usize) -> (Running, Vec<Value>) {
    command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(command);
    let mut out = BufReader::new(running.output()).lines();
    let told = (0..lines).map(|_| json(&out.next().expect("a line").expect("of text"))).collect();
    thread::spawn(move || out.all(|line| line.is_ok()));
    (running, told)
}

fn host(folder: &Scratch, stacks: &[&str]) -> Running {
    let mut command = program();
    command.arg("host").args(stacks).arg("--at").arg(folder.join("at"));
    let (running, told) = start(&mut command, stacks.len());
    assert!(told.iter().all(|told| told["event"] == "hosting"), "{told:?}");
    running
}

fn placement(folder: &Scratch) -> String {
    format!("--placement=server={}", path(&folder.join("at")))
}

fn serve(folder: &Scratch, url: &str) -> (Running, String) {
    let (running, told) = start(program().args(["perf", "serve", url]).arg(placement(folder)), 1);
    let url = told[0]["url"].as_str().expect("an address").to_owned();
    (running, url)
}

fn measure(arguments: &[&str]) -> Outcome {
    run(program().args(["perf", "run", "--json"]).args(arguments))
}

#[test]
fn programs_share_a_transport_and_speak_with_those_that_have_their_own() {
    let folder = Scratch::new();
    let _host = host(&folder, &["artp://", "xtp", "udp", "stream+xtp", "tcp"]);
    for scheme in ["artp", "xtp", "udp", "stream+xtp", "tcp"] {
        let (_server, url) = serve(&folder, &format!("{scheme}://127.0.0.1:0"));
        for placement in ["--placement=library", &placement(&folder)] {
            let bulk = measure(&[&url, placement, "--size", "1200", "--octets", "60kB"]);
            let bulk = json(&bulk.succeeded().text());
            assert_eq!((&bulk["octets"], &bulk["messages"]), (&60_000.into(), &50.into()));
            let requests = measure(&[&url, placement, "--requests", "--octets", "6400"]);
            assert_eq!(json(&requests.succeeded().text())["messages"], 100);
        }
    }
    // What a program says of a transport is nothing to one that is the server's.
    let placed = |url| {
        let mut command = program();
        command.args(["perf", "run", url]).arg(placement(&folder));
        command
    };
    let why = complaints(&run(placed("artp://127.0.0.1:9").args(["--window", "64"])).exited(2));
    assert!(why.contains("a transport in a server has no --window"), "{why}");
    let why = complaints(&run(&mut placed("bulk+xtp://127.0.0.1:9")).exited(3));
    assert!(why.contains("no server at") && why.contains("stackwright host"), "{why}");
    let taken = run(program().args(["host", "artp", "--at"]).arg(folder.join("at")));
    assert!(complaints(&taken.exited(1)).contains("another server is there"));
}

#[test]
fn files_move_over_a_transport_that_is_a_servers_at_both_ends_or_at_one() {
    let folder = Scratch::new();
    let _host = host(&folder, &["artp", "stream+xtp", "tcp"]);
    let octets: Vec<u8> = (0..500_000_u32).flat_map(u32::to_be_bytes).collect();
    let [from, to] = ["from", "to"].map(|name| folder.join(name));
    fs::create_dir(&from).expect("a folder of ours");
    fs::create_dir(&to).expect("a folder of ours");
    fs::write(from.join("file"), &octets).expect("a file of ours");
    for listen in ["--artp=127.0.0.1:0", "--xtp=127.0.0.1:0", "--listen=127.0.0.1:0"] {
        let mut serve = program();
        serve.args(["serve", path(&from), listen, "--writable"]);
        let (_server, told) = start(serve.arg(placement(&folder)), 1);
        let url = told[0]["url"].as_str().expect("an address").trim_end_matches('/').to_owned();
        for (number, placement) in ["--placement=library", &placement(&folder)].iter().enumerate() {
            let name = format!("{}{number}", url.split(':').next().expect("a scheme"));
            let file = to.join(&name);
            let from_url = format!("{url}/file");
            run(program().args(["get", placement, &from_url, path(&file)])).succeeded();
            assert!(fs::read(&file).expect("it came") == octets);
            run(program().args(["put", placement, path(&file), &format!("{url}/")])).succeeded();
            assert!(fs::read(from.join(name)).expect("it went") == octets);
        }
    }
    let radio = "ftp+xstp+ax25://DL1ABC@127.0.0.1:9/file";
    let why = run(program().args(["get", radio, "--call", "DL1DEF"]).arg(placement(&folder)));
    assert!(complaints(&why.exited(2)).contains("has no --placement"));
}

#[test]
fn pictures_are_served_and_fetched_where_the_transport_is_a_servers_at_both_ends_or_at_one() {
    let folder = Scratch::new();
    let _host = host(&folder, &["jis://"]);
    let octets = Picture { columns: 80, rows: 50, coefficients: 50 }.file(1);
    fs::write(folder.join("a.jpg"), &octets).expect("a folder of ours");
    for loopback in ["127.0.0.1:0", "[::1]:0"] {
        let mut serve = program();
        serve.args(["jis", "serve", path(folder.path()), "--listen", loopback]);
        serve.arg(placement(&folder)).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server = Running::start(&mut serve);
        let mut line = String::new();
        BufReader::new(server.output()).read_line(&mut line).expect("text");
        let url = format!("{}a.jpg", line.trim().rsplit(' ').next().expect("an address"));
        for placement in ["--placement=library", &placement(&folder)] {
            let got = run(program().args(["jis", "get", &url, "-o", "-", placement]));
            assert!(got.succeeded().output == octets, "{url} {placement}");
        }
    }
}

/// How many of each kind are killed: `STACKWRIGHT_KILLS=100`.
fn kills() -> u64 {
    let kills = std::env::var("STACKWRIGHT_KILLS").ok();
    kills.and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

/// A moment after a start, of this seed.
fn pause(seed: u64) {
    thread::sleep(Duration::from_millis(fastrand::Rng::with_seed(seed).u64(..150)));
}

/// Starts a measurement that only a death ends.
fn endless(url: &str, folder: &Scratch) -> Running {
    let mut command = program();
    command.args(["perf", "run", url, "--time", "600"]).arg(placement(folder));
    Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Killed at any moment, a program ends alone.
#[test]
fn a_program_that_is_killed_harms_nobody_else() {
    let folder = Scratch::new();
    let _host = host(&folder, &["artp"]);
    let (_server, url) = serve(&folder, "artp://127.0.0.1:0");
    for seed in 0..kills() {
        let mut dies = endless(&url, &folder);
        let measured = thread::scope(|scope| {
            let lives = scope.spawn(|| measure(&[&url, &placement(&folder), "--octets", "1MB"]));
            pause(seed);
            dies.kill();
            lives.join().expect("it ran")
        });
        assert_eq!(json(&measured.succeeded().text())["octets"], 1_000_000, "seed {seed}");
    }
}

/// A server that is killed ends with those that use it, which say so.
#[test]
fn a_server_that_is_killed_is_noticed_and_another_takes_its_place() {
    let folder = Scratch::new();
    for seed in 0..kills() {
        // The socket that one left behind is the next one's.
        let mut dies = host(&folder, &["artp"]);
        let (mut listens, url) = serve(&folder, "artp://127.0.0.1:0");
        measure(&[&url, &placement(&folder), "--octets", "100kB"]).succeeded();
        let mut ends = endless(&url, &folder);
        pause(seed);
        dies.kill();
        assert!(eventually(Duration::from_secs(20), || ends.ended().is_some()), "seed {seed}");
        assert_eq!(ends.ended().and_then(|status| status.code()), Some(3), "seed {seed}");
        assert!(eventually(Duration::from_secs(20), || listens.ended().is_some()), "seed {seed}");
        assert_ne!(listens.ended().and_then(|status| status.code()), Some(0), "seed {seed}");
    }
}
