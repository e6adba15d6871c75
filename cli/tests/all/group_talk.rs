//! `group talk`: three processes, one of them killed.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");

pub(crate) struct Talker {
    child: Child,
    said: Receiver<Value>,
}

impl Talker {
    fn start(place: usize, all: &[String], key: Option<&Path>) -> Self {
        let others: Vec<&str> =
            all.iter().filter(|at| **at != all[place]).map(|at| &**at).collect();
        let mut program = Command::new(PROGRAM);
        program.args(["group", "talk", "--json", "--at", &all[place], "--with"]);
        program.arg(others.join(","));
        if place > 0 {
            program.arg("--join");
        }
        if let Some(key) = key {
            program.arg("--key-file").arg(key);
        }
        Self::run(program)
    }

    /// Starts one that has no list of the others.
    fn without_list(at: &str, group: &str) -> Self {
        let mut program = Command::new(PROGRAM);
        program.args(["group", "talk", "--json", "--at", at, "--multicast", "--group", group]);
        Self::run(program)
    }

    pub(crate) fn run(mut program: Command) -> Self {
        program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (sender, said) = channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        Talker { child, said }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// Waits for what `is_it` knows.
    pub(crate) fn hears(&self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let mut last = Value::Null;
        loop {
            let said = self.said.recv_timeout(Duration::from_secs(60));
            let said = said.unwrap_or_else(|_| panic!("not told of {what}, but of {last}"));
            if is_it(&said) {
                return;
            }
            last = said;
        }
    }

    pub(crate) fn sees(&self, members: &[&String]) {
        self.hears("a view", |said| {
            let seen = said["members"].as_array();
            seen.is_some_and(|seen| {
                seen.len() == members.len()
                    && members.iter().all(|one| seen.contains(&(**one).clone().into()))
            })
        });
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn addresses(count: usize) -> Vec<String> {
    let bind = |_| UdpSocket::bind("127.0.0.1:0").expect("a port");
    let sockets: Vec<_> = (0..count).map(bind).collect();
    sockets.iter().map(|one| one.local_addr().expect("bound").to_string()).collect()
}

#[test]
fn who_has_not_the_key_is_not_heard() {
    let all = addresses(3);
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, another] = ["ours", "another"].map(|name| folder.path().join(name));
    std::fs::write(&ours, [7; 32]).expect("it is written");
    std::fs::write(&another, [8; 32]).expect("it is written");
    let mut strangers = Talker::start(2, &all, Some(&another));
    let mut talkers: Vec<_> = (0..2).map(|place| Talker::start(place, &all, Some(&ours))).collect();
    talkers.iter().for_each(|one| one.sees(&[&all[0], &all[1]]));
    strangers.say("let me in");
    talkers[1].say("only us");
    talkers[0].hears("the line", |said| {
        assert!(said["line"] != "let me in" && said["members"] != 3);
        said["line"] == "only us"
    });
    assert!(strangers.said.try_recv().is_err(), "it is in no view");
}

#[test]
fn who_is_there_hears_all_and_who_goes_is_missed() {
    let all = addresses(3);
    let mut talkers: Vec<_> = (0..3).map(|place| Talker::start(place, &all, None)).collect();
    let everyone: Vec<_> = all.iter().collect();
    talkers.iter().for_each(|one| one.sees(&everyone));
    talkers[1].say("here I am");
    for one in &talkers {
        one.hears("the line", |said| said["line"] == "here I am" && said["from"] == all[1]);
    }
    talkers[1].child.kill().expect("it runs");
    talkers[0].sees(&[&all[0], &all[2]]);
    talkers[2].sees(&[&all[0], &all[2]]);
    talkers[2].say("still here");
    talkers[0].hears("the line", |said| said["line"] == "still here");
    // The end of the input leaves the group, and the others are told at once.
    drop(talkers[2].child.stdin.take());
    talkers[0].sees(&[&all[0]]);
    assert!(talkers[2].child.wait().expect("it ends").success());
}

#[test]
fn who_has_no_list_finds_the_others_by_multicast() {
    // The first begins the group.
    let mut all = addresses(4);
    all.sort();
    let (_, port) = all[3].rsplit_once(':').expect("a port");
    let group = format!("239.77.3.2:{port}");
    let mut talkers: Vec<_> = all[..3].iter().map(|at| Talker::without_list(at, &group)).collect();
    let everyone: Vec<_> = all[..3].iter().collect();
    talkers.iter().for_each(|one| one.sees(&everyone));
    for nth in 0..30 {
        talkers[nth % 3].say(&format!("line {nth}"));
        for one in &talkers {
            let line = format!("line {nth}");
            one.hears("the line", |said| said["line"] == line && said["from"] == all[nth % 3]);
        }
    }
    talkers[2].child.kill().expect("it runs");
    talkers[0].sees(&[&all[0], &all[1]]);
    drop(talkers[1].child.stdin.take());
    talkers[0].sees(&[&all[0]]);
}

#[test]
fn an_address_that_is_no_multicast_address_is_refused() {
    for group in ["127.0.0.1:4370", "[ff12::77:3]:4370"] {
        let mut program = Command::new(PROGRAM);
        program.args(["group", "talk", "--at", "127.0.0.1:4371", "--multicast", "--group", group]);
        let output = program.output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("multicast address"), "{said}");
    }
}

#[test]
fn a_group_stands_on_any_transport_of_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let built_in = include_str!("../../stacks/group-talk.toml");
    for transport in [include_str!("../../stacks/artp.toml"), include_str!("../../stacks/xtp.toml")]
    {
        let (_, layers) = transport.split_once("top = \"").expect("a top");
        let (top, layers) = layers.split_once('"').expect("its name");
        let all = addresses(2);
        let mut talkers: Vec<_> = (0..2)
            .map(|place| {
                let stack: String = built_in.lines().filter(|line| *line != "[udp]").fold(
                    String::new(),
                    |stack, line| match line.split_once(" = ") {
                        Some(("over", "\"udp\"")) => format!("{stack}over = \"{top}\"\n"),
                        Some(("with", _)) => format!("{stack}with = \"{}\"\n", all[1 - place]),
                        _ => format!("{stack}{line}\n"),
                    },
                );
                let file = folder.path().join(format!("{top}-{place}.toml"));
                std::fs::write(&file, stack + layers).expect("it is written");
                let mut program = Command::new(PROGRAM);
                program.args(["group", "talk", "--json", "--at", &all[place], "--stack"]);
                program.arg(file);
                Talker::run(program)
            })
            .collect();
        talkers.iter().for_each(|one| one.sees(&[&all[0], &all[1]]));
        talkers[0].say(top);
        talkers[1].hears("the line", |said| said["line"] == top && said["from"] == all[0]);
    }
}
