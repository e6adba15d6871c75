//! Transfers that are interrupted and go on.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use stackwright_programs::processes::{Running, eventually};
use stackwright_programs::scratch::Scratch;

use crate::ftp::fake::{Fake, Script};
use crate::ftp::{complaints, path, program, say};

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

/// Within a run and by the next one, whatever the clocks say, and however long the other is.
#[test]
fn a_file_that_was_modified_meanwhile_is_fetched_anew() {
    let other: Vec<u8> = content().iter().map(|octet| !octet).collect();
    let longer = [&other[..], &other[..1000]].concat();
    for (before, after) in
        [("20000229000000", "20000229000001"), ("29990101000000", "19990101000000")]
    {
        for changed in [&other[..], &longer, &other[..900_000], &other[..100]] {
            for retries in ["3", "0"] {
                let mut script =
                    Script::sending(content()).reply("MDTM", format!("213 {before}\r\n"));
                script.cuts = vec![700_000];
                script.changes = Some((changed.into(), after.into()));
                let server = Fake::start(script);
                let here = Scratch::new();
                let get =
                    || say(&["get", "--retries", retries, &server.url("f"), path(&here.join("f"))]);
                if retries == "0" {
                    get().exited(7);
                }
                get().succeeded();
                assert!(fs::read(here.join("f")).expect("it was fetched") == changed);
                assert_eq!(restarts(&server), [0; 0]);
                assert_eq!(here.names(), ["f"], "no part is left");
            }
        }
    }
}

/// Nothing shows that it is the same.
#[test]
fn a_file_of_which_no_time_is_told_is_fetched_anew() {
    let mut script = Script::sending(content());
    script.cuts = vec![700_000];
    let server = Fake::start(script);
    let here = Scratch::new();
    say(&["get", &server.url("f"), path(&here.join("f"))]).succeeded();
    assert!(fs::read(here.join("f")).expect("it was fetched") == content());
    assert_eq!(restarts(&server), [0; 0]);
}

#[test]
fn a_server_that_ignores_rest_adds_nothing_to_a_part() {
    let mut script = Script::sending(content()).reply("MDTM", "213 20000229000000\r\n");
    (script.cuts, script.ignores_rest) = (vec![700_000], true);
    let server = Fake::start(script);
    let here = Scratch::new();
    say(&["get", &server.url("f"), path(&here.join("f"))]).succeeded();
    assert!(fs::read(here.join("f")).expect("it was fetched") == content());
    assert_eq!(restarts(&server).len(), 1, "then it begins anew");
}

/// All was sent, and the reply never comes: the server is asked what it has.
#[test]
fn an_upload_whose_confirmation_is_lost_is_not_sent_again() {
    let here = Scratch::new();
    fs::write(here.join("f"), content()).expect("a folder of ours");
    for (size, sent) in [(content().len(), 1), (7, 2)] {
        let mut script = Script::default().reply("SIZE", format!("213 {size}\r\n"));
        script = script.reply("CWD", "550 no\r\n");
        script.final_reply = Some(Vec::new());
        let server = Fake::start(script);
        let told = say(&["put", "--retries", "1", path(&here.join("f")), &server.url("f")]);
        let stored = server.lines().iter().filter(|line| line.starts_with("STOR")).count();
        assert_eq!(stored, sent, "{}", complaints(&told));
        if sent == 1 {
            told.succeeded();
            assert!(server.stored() == content());
        } else {
            told.exited(7);
        }
    }
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
    assert_eq!(running.ended().and_then(|status| status.code()), Some(7));
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
