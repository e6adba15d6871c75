//! Several files at once.

use std::process::Command;

use stackwright_programs::processes::{run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::client::{Server, complaints, events, path, program, read, say, write};

#[test]
fn several_files_are_fetched_and_one_that_fails_does_not_stop_the_others() {
    let (server, here) = (Server::start(), Scratch::new());
    for name in ["a", "b", "c d"] {
        write(&server.folder, name, name);
    }
    let urls = [server.url("a"), server.url("none"), server.url("b"), server.url("c%20d")];
    let urls: Vec<_> = urls.iter().map(String::as_str).collect();
    let told = say(&[&["get"], &urls[..], &[path(here.path())]].concat()).exited(1);
    assert_eq!(here.names(), ["a", "b", "c d"]);
    assert_eq!(read(&here, "c d").as_deref(), Some("c d"));
    let complaints = complaints(&told);
    assert!(complaints.contains("/none: there is no such file"), "{complaints}");
    let text = told.text();
    assert!(text.contains("3 files copied, 5 B in ") && text.contains(", 1 failed"), "{text}");
    assert_eq!(text.lines().count(), 4, "a line for each file, and a summary: {text}");

    let told = say(&[&["get", "--json"], &urls[..], &[path(here.path())]].concat()).exited(1);
    let events = events(&told);
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((count("began"), count("done"), count("failed")), (3, 3, 1), "{events:?}");
    let summary = events.last().expect("a summary");
    assert_eq!((summary["copied"].as_u64(), summary["failed"].as_u64()), (Some(3), Some(1)));
    assert_eq!(told.complaints, b"");

    let quiet = say(&[&["get", "--quiet"], &urls[..], &[path(here.path())]].concat()).exited(1);
    assert_eq!(quiet.text(), "");
    assert!(!quiet.complaints.is_empty());
}

#[test]
fn several_files_are_stored_in_a_folder() {
    let (server, here) = (Server::start(), Scratch::new());
    for name in ["a", "b"] {
        write(&here, name, name);
    }
    write(&server.folder, "in/old", "");
    let (a, b) = (here.join("a"), here.join("b"));
    // The folder is one, with or without a slash behind it.
    for url in ["in/", "in"] {
        say(&["put", path(&a), path(&b), &server.url(url)]).succeeded();
        assert_eq!(read(&server.folder, "in/b").as_deref(), Some("b"));
        std::fs::remove_file(server.folder.join("in/b")).expect("it was stored");
    }
    let script = "printf hello | \"$0\" put - \"$1\" \"$2\"";
    let _ = program();
    run(Command::new("sh")
        .args(["-c", script])
        .arg(stackwright())
        .args([path(&a), &*server.url("")]))
    .exited(2);
}

#[test]
fn files_are_written_to_standard_output_one_behind_the_other() {
    let server = Server::start();
    let long = "0123456789".repeat(100_000);
    write(&server.folder, "long", &long);
    write(&server.folder, "b", "b");
    let told = say(&["cat", &server.url("long"), &server.url("b"), &server.url("long")]);
    assert!(told.succeeded().text() == [&*long, "b", &long].concat());
    say(&["cat", &server.url("none"), &server.url("b")]).exited(1);
    assert_eq!(say(&["get", &server.url("b"), "-"]).succeeded().text(), "b");
    say(&["cat", &server.url("")]).exited(2);
}

#[test]
fn a_server_that_is_not_there_is_told_once() {
    let told = say(&["get", "ftp://127.0.0.1:1/a", "ftp://127.0.0.1:1/b"]).exited(3);
    assert_eq!(complaints(&told).matches("cannot be reached").count(), 1, "{}", complaints(&told));
}

#[test]
fn two_files_of_one_name_are_refused() {
    let told = say(&["get", "ftp://127.0.0.1:1/x/a", "ftp://127.0.0.1:1/y/a", "/tmp"]).exited(2);
    assert!(complaints(&told).contains("would have this name"), "{}", complaints(&told));
    say(&["get", "ftp://127.0.0.1:1/a", "ftp://127.0.0.1:1/b", "/nonexistent"]).exited(1);
}

#[test]
fn a_person_is_told_what_to_do_next() {
    let (server, here) = (Server::start(), Scratch::new());
    write(&here, "a", "text");
    write(&server.folder, "docs/b", "text");
    let file = here.join("a");
    let told = |arguments: &[&str], code: i32, expected: &str| {
        let told = say(arguments).exited(code);
        assert!(complaints(&told).contains(expected), "{arguments:?}: {}", complaints(&told));
    };
    // A folder is a folder, with or without a slash.
    say(&["put", path(&file), &server.url("docs")]).succeeded();
    assert_eq!(read(&server.folder, "docs/a").as_deref(), Some("text"));
    told(&["put", path(&file), &server.url("none/")], 1, "mkdir --parents");
    told(&["put", path(here.path()), &server.url("none/")], 1, "mkdir --parents");
    told(&["mkdir", &server.url("none/x")], 1, "--parents");
    told(&["cat", &server.url("docs")], 1, "docs: it is a folder");
    told(&["get", &server.url("none")], 1, "stackwright ls");
    told(&["ls", "ftp://nobody.invalid/"], 3, "check its spelling");
    told(&["get", "ftp:/127.0.0.1/a"], 2, "it has no ://");
    told(&["get", "--limit-rate", "10Mb", &server.url("docs/b")], 2, "10 Mb/s");
}

#[test]
fn a_rate_is_kept() {
    let (server, here) = (Server::start(), Scratch::new());
    write(&server.folder, "film", &"0123456789".repeat(30_000));
    let begun = std::time::Instant::now();
    let arguments = ["get", "--limit-rate", "200k", &server.url("film"), path(here.path())];
    say(&arguments).succeeded();
    // Some of it may be moved at once in the beginning.
    assert!(begun.elapsed() > std::time::Duration::from_millis(500), "{:?}", begun.elapsed());
    assert_eq!(read(&here, "film").map(|text| text.len()), Some(300_000));
}
