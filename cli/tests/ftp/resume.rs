//! Transfers that are interrupted and go on.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use stackwright_programs::processes::{Running, eventually};
use stackwright_programs::scratch::Scratch;

use crate::fake::{Fake, Script};
use crate::{complaints, path, program, say};

fn content() -> Vec<u8> {
    (0..500_000_u32).flat_map(u32::to_be_bytes).collect()
}

/// A server that cuts off each transfer after the octets that `cuts` says, and tells when its file
/// was modified.
fn cutting(cuts: &[usize], modified: &str) -> Fake {
    let mut script = Script::sending(content()).reply("MDTM", format!("213 {modified}\r\n"));
    script.cuts = cuts.to_vec();
    Fake::start(script)
}

fn restarts(server: &Fake) -> Vec<usize> {
    let lines = server.lines();
    lines.iter().filter_map(|line| line.strip_prefix("REST ")?.parse().ok()).collect()
}

#[test]
fn a_fetch_goes_on_where_the_connection_was_lost() {
    let server = cutting(&[700_000, 300_000], "20000229000000");
    let here = Scratch::new();
    let told = say(&["get", &server.url("f"), path(&here.join("f"))]).succeeded();
    assert!(fs::read(here.join("f")).expect("it was fetched") == content());
    assert!(complaints(&told).contains("trying again in 1 s (1 of 3)"), "{}", complaints(&told));
    let restarts = restarts(&server);
    assert!(restarts.len() == 2 && restarts.is_sorted(), "{restarts:?}");
    assert!(restarts[0] > 0 && restarts[1] <= 1_000_000, "{restarts:?}");
    assert_eq!(here.names(), ["f"], "no part is left");
}

#[test]
fn another_run_goes_on_where_the_first_ended() {
    let server = cutting(&[700_000], "20000229000000");
    let here = Scratch::new();
    let (url, file) = (server.url("f"), here.join("f"));
    let fetch = [&*url, path(&file)];
    say(&[&["get", "--retries", "0"], &fetch[..]].concat()).exited(7);
    assert!(!here.join("f").exists());
    let told = say(&[&["get", "--json"], &fetch[..]].concat()).succeeded();
    assert!(told.text().contains("resumed_at"), "{}", told.text());
    assert!(fs::read(here.join("f")).expect("it was fetched") == content());
}

#[test]
fn a_file_that_was_modified_meanwhile_is_fetched_anew() {
    let server = cutting(&[700_000], "29990101000000");
    let here = Scratch::new();
    say(&["get", &server.url("f"), path(&here.join("f"))]).succeeded();
    assert!(fs::read(here.join("f")).expect("it was fetched") == content());
    assert_eq!(restarts(&server), [0; 0]);
}

#[test]
fn an_interrupted_fetch_is_resumed_too() {
    let mut script = Script::sending(content()).reply("MDTM", "213 20000229000000\r\n");
    script.endless = true;
    let server = Fake::start(script.reply("SIZE", "213 1000000000000\r\n"));
    let here = Scratch::new();
    let mut command = program();
    command.args(["get", &server.url("f"), path(&here.join("f"))]).stdin(Stdio::null());
    let mut running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let grown =
        |name: &String| fs::metadata(here.join(name)).is_ok_and(|status| status.len() > 100_000);
    assert!(eventually(Duration::from_secs(20), || here.names().iter().any(grown)));
    let status =
        std::process::Command::new("kill").args(["-INT", &running.number().to_string()]).status();
    assert!(status.expect("kill is there").success());
    assert!(eventually(Duration::from_secs(20), || running.ended().is_some()));
    assert_eq!(running.ended().and_then(|status| status.code()), Some(130));
    assert!(here.names().iter().all(|name| name.starts_with('.')), "{:?}", here.names());
}

#[test]
fn what_will_not_pass_is_not_tried_again() {
    let server = Fake::start(Script::sending("x").reply("RETR", "550 no such file\r\n"));
    let here = Scratch::new();
    let told = say(&["get", &server.url("f"), path(&here.join("f"))]).exited(1);
    assert!(!complaints(&told).contains("trying again"), "{}", complaints(&told));
    assert_eq!(here.names(), [""; 0]);
    let told = say(&["get", "ftp://127.0.0.1:1/f", path(&here.join("f"))]).exited(3);
    assert!(!complaints(&told).contains("trying again"), "{}", complaints(&told));
}
