//! `group store`: three replicas, of which one ends and comes back, and then two end at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");

struct Replica {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
    redis: String,
}

impl Replica {
    fn start(place: usize, all: &[String], join: bool) -> Self {
        let others: Vec<&str> =
            all.iter().filter(|at| **at != all[place]).map(|at| &**at).collect();
        let mut program = Command::new(PROGRAM);
        program.args(["group", "store", "--json", "--redis", "127.0.0.1:0", "--at", &all[place]]);
        program.args(["--with", &others.join(",")]).args(join.then_some("--join"));
        Replica::run(&mut program)
    }

    fn run(program: &mut Command) -> Self {
        let mut child = program.stdout(Stdio::piped()).spawn().expect("the program starts");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut replica = Replica { child, said, redis: String::new() };
        let serving = replica.hears(|said| said["event"] == "serving");
        replica.redis = serving["redis"].as_str().expect("an address").into();
        replica
    }

    fn hears(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.said.read_line(&mut line).expect("a pipe") > 0, "it ended");
            let said = serde_json::from_str(&line).expect("JSON");
            if is_it(&said) {
                return said;
            }
        }
    }

    /// Waits for a view with this many members, all of which have the state.
    fn sees(&mut self, count: usize) {
        self.hears(|said| {
            said["voters"] == count && said["members"].as_array().map(Vec::len) == Some(count)
        });
    }

    /// Says something on a connection of its own, and returns what is answered until its end.
    fn says(&self, commands: &str) -> String {
        let mut stream = TcpStream::connect(&self.redis).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.write_all(format!("{commands}\r\nQUIT\r\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        answer
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn a_store_outlives_its_replicas_but_not_its_quorum() {
    let sockets: Vec<_> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port")).collect();
    let all: Vec<_> =
        sockets.iter().map(|one| one.local_addr().expect("bound").to_string()).collect();
    drop(sockets);
    let mut replicas: Vec<_> = (0..3).map(|nth| Replica::start(nth, &all, nth > 0)).collect();
    replicas.iter_mut().for_each(|one| one.sees(3));

    // A client sees its own writes, in the order in which it says them.
    let said = replicas[1].says("SET a 1\r\nINCR a\r\nGET a\r\nPING\r\nDBSIZE");
    assert_eq!(said, "+OK\r\n:2\r\n$1\r\n2\r\n+PONG\r\n:1\r\n+OK\r\n");
    let long = "x".repeat(512 << 10);
    let set = format!("*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n${}\r\n{long}", long.len());
    assert_eq!(replicas[2].says(&set), "+OK\r\n+OK\r\n");
    assert_eq!(replicas[2].says("STRLEN long"), ":524288\r\n+OK\r\n");

    replicas[0].kill();
    replicas[1].sees(2);
    assert_eq!(replicas[2].says("INCR a"), ":3\r\n+OK\r\n");
    replicas[0] = Replica::start(0, &all, true);
    replicas.iter_mut().for_each(|one| one.sees(3));
    assert_eq!(replicas[0].says("GET a\r\nSTRLEN long"), "$1\r\n3\r\n:524288\r\n+OK\r\n");

    replicas[0].kill();
    replicas[2].kill();
    let refused = loop {
        let said = replicas[1].says("INCR a");
        // Until the silence is noticed nobody knows.
        if !said.starts_with("-UNKNOWN ") && !said.starts_with("-TIMEOUT ") {
            break said;
        }
    };
    assert!(refused.starts_with("-NOQUORUM "), "{refused}");
    assert!(refused.contains(&all[0]) && refused.contains(&all[2]), "{refused}");
    assert_eq!(replicas[1].says("GET a"), "$1\r\n3\r\n+OK\r\n");

    // The status says why.
    let told = status(&[&replicas[1].redis, "--json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["quorum"], false);
    assert!(told["reason"].as_str().expect("a reason").starts_with("NOQUORUM "));
    let silent = told["members"].as_array().expect("members").iter();
    let silent = silent.filter(|member| member["silent"] == true && member["votes"] == true);
    let mut silent: Vec<_> = silent.map(|member| member["address"].as_str().unwrap()).collect();
    silent.sort_unstable();
    let mut gone = [&*all[0], &*all[2]];
    gone.sort_unstable();
    assert_eq!(silent, gone);
    let said = status(&[&replicas[1].redis]);
    assert!(said.contains(", silent") && said.contains("nothing can be written: "), "{said}");
}

/// A client that does not read stops its own connection; one that makes no sense is told so.
#[test]
fn a_client_holds_only_its_own_connection() {
    let sockets: Vec<_> = (0..2).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port")).collect();
    let all: Vec<_> =
        sockets.iter().map(|one| one.local_addr().expect("bound").to_string()).collect();
    drop(sockets);
    let mut replica = Replica::start(0, &all, false);
    replica.sees(1);
    let long = "x".repeat(512 << 10);
    let set = format!("*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n${}\r\n{long}", long.len());
    assert_eq!(replica.says(&set), "+OK\r\n+OK\r\n");
    // 2 GB of replies that nobody takes.
    let deaf: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&replica.redis).expect("it listens");
            stream.write_all("GET long\r\n".repeat(500).as_bytes()).expect("it reads");
            stream
        })
        .collect();
    assert_eq!(replica.says("PING\r\nINCR a"), "+PONG\r\n:1\r\n+OK\r\n");
    let status = std::fs::read_to_string(format!("/proc/{}/status", replica.child.id()));
    let status = status.expect("it runs");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kilobytes: u32 = memory.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kilobytes < 300_000, "{memory}");
    drop(deaf);
    let garbled = replica.says("*99\r\n");
    assert_eq!(garbled, "-ERR Protocol error: invalid multibulk length\r\n");
}

/// The built-in stack as a file, without one of its layers: what stood on it stands on `lower`.
fn without(layer: &str, lower: &str) -> String {
    let stack = include_str!("../../stacks/group-store.toml");
    let table = format!("[{layer}]\nprotocol = \"group {layer}\"\nover = \"{lower}\"\n");
    assert!(stack.contains(&table), "{table}");
    let stack = stack.replace(&table, "").replace(&format!("\"{layer}\""), &format!("\"{lower}\""));
    stack.replace("[\"state\"", &format!("[\"{}\"", if layer == "state" { lower } else { "state" }))
}

/// A layer that is left out takes a promise with it, and somebody above needs that.
#[test]
fn a_stack_file_without_a_layer_is_refused_by_who_needs_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stack.toml");
    for (layer, lower, says) in [
        ("state", "total", "`replica` needs the state of the others for who joins"),
        ("total", "safe", "`group state` needs delivery in one order at all members"),
        ("safe", "membership", "`replica` needs delivery of what a quorum has"),
    ] {
        std::fs::write(&file, without(layer, lower)).expect("it is written");
        let mut program = Command::new(PROGRAM);
        program.args(["group", "store", "--at", "127.0.0.1:4370", "--stack"]).arg(&file);
        let output = program.output().expect("it starts");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && said.contains(says), "{layer}: {said}");
    }
}

#[test]
fn a_stack_file_says_what_the_options_would() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let at = socket.local_addr().expect("bound").to_string();
    drop(socket);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("stack.toml");
    std::fs::write(&file, include_str!("../../stacks/group-store.toml")).expect("it is written");
    let mut program = Command::new(PROGRAM);
    program.args(["group", "store", "--json", "--redis", "127.0.0.1:0", "--at", &at]);
    let mut replica = Replica::run(program.arg("--stack").arg(file));
    replica.sees(1);
    assert_eq!(replica.says("INCR a"), ":1\r\n+OK\r\n");
}

fn status(arguments: &[&str]) -> String {
    let mut program = Command::new(PROGRAM);
    let output = program.args(["group", "status"]).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_demonstration_ends_with_equal_states() {
    let output = Command::new(PROGRAM).args(["demo", "group"]).output().expect("it starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("replica 4 refuses a write: NOQUORUM "), "{said}");
    let hashes: Vec<_> = said.lines().filter_map(|line| line.strip_suffix('…')).collect();
    let hash = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
    assert_eq!(hashes.len(), 5);
    assert!(hashes.iter().all(|line| hash(line) == hash(hashes[0])), "{said}");
}
