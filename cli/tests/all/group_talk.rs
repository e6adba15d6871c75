//! `group talk`: three processes, one of them killed.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");

struct Talker {
    child: Child,
    said: Receiver<Value>,
}

impl Talker {
    fn start(place: usize, all: &[String]) -> Self {
        let others: Vec<&str> =
            all.iter().filter(|at| **at != all[place]).map(|at| &**at).collect();
        let mut program = Command::new(PROGRAM);
        program.args(["group", "talk", "--json", "--at", &all[place], "--with"]);
        program.arg(others.join(",")).stdin(Stdio::piped()).stdout(Stdio::piped());
        if place > 0 {
            program.arg("--join");
        }
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

    fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("it reads");
    }

    /// Waits for what `is_it` knows.
    fn hears(&self, what: &str, is_it: impl Fn(&Value) -> bool) {
        while let said = self.said.recv_timeout(Duration::from_secs(60))
            && !is_it(said.as_ref().unwrap_or_else(|_| panic!("it was not told of {what}")))
        {
        }
    }

    fn sees(&self, members: &[&String]) {
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

#[test]
fn who_is_there_hears_all_and_who_goes_is_missed() {
    let sockets: Vec<_> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port")).collect();
    let all: Vec<_> =
        sockets.iter().map(|one| one.local_addr().expect("bound").to_string()).collect();
    drop(sockets);
    let mut talkers: Vec<_> = (0..3).map(|place| Talker::start(place, &all)).collect();
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
