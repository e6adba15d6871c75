//! What a server says beside success, and how many connections it bears.

use std::fs;

use stackwright_programs::scratch::Scratch;

use crate::ftp::fake::{Fake, Script};
use crate::ftp::{complaints, path, say};

/// A mirror that may remove, of a folder that a server lists like this.
fn mirror(script: Script, folder: &str) -> (Vec<String>, String, Option<i32>) {
    let server = Fake::start(script);
    let here = Scratch::new();
    for name in ["a", "own"] {
        fs::write(here.join(name), "12345").expect("a folder of ours");
    }
    let url = server.url(folder);
    let told = say(&["mirror", "--delete", "--retries", "0", &url, path(here.path())]);
    let mut names = here.names();
    names.sort();
    (names, complaints(&told), told.status.code())
}

const LINE: &str = "-rw-r--r-- 1 u g 5 Jan 15 08:00 a\r\n";

#[test]
fn a_list_that_is_doubted_removes_nothing() {
    let ending = |content: &str, last: &str| {
        let mut script = Script::sending(content);
        script.final_reply = Some(format!("{last}\r\n").into_bytes());
        script
    };
    for script in [
        ending("", "226 Transfer done (but failed to open directory)."),
        ending(LINE, "226 Output truncated to 1 matches"),
        ending(LINE, "226-Some error\r\n226 done"),
        ending("", "451 disk error"),
        ending("total 64\r\n", "226 done"),
        ending(LINE.trim_end(), "226 done"),
        ending(&format!("{LINE}what is this\r\n"), "226 done"),
        ending("", "226 done").reply("STAT", format!("213-s\r\n{LINE}213 e\r\n")),
        ending("", "226 done").reply("LIST", "550 no\r\n"),
    ] {
        let (names, complaints, code) = mirror(script, "");
        assert_eq!(names, ["a", "own"], "{complaints}");
        assert!(code.is_some_and(|code| code != 0), "{complaints}");
        assert!(!complaints.is_empty());
    }
    // What may not be entered, and has a size, is listed as a file.
    let (names, complaints, code) = mirror(ending("", "226 done"), "x");
    assert_eq!(names, ["a", "own", "x"], "{complaints}");
    assert!(code.is_some_and(|code| code != 0), "{complaints}");
    // One that is not removes.
    let (names, complaints, code) = mirror(ending(LINE, "226 done"), "");
    assert_eq!((names, code), (vec!["a".to_owned()], Some(0)), "{complaints}");
}

/// What a mirror leaves out is named, and told by the exit code.
#[test]
fn what_is_skipped_is_named() {
    let server =
        Fake::start(Script::sending(format!("{LINE}-rw-r--r-- 1 u g 5 Jan 15 08:00 a/b\r\n")));
    let here = Scratch::new();
    let told = say(&["mirror", &server.url(""), path(here.path())]).exited(1);
    assert!(complaints(&told).contains("a/b"), "{}", complaints(&told));
}

/// A limit of connections is one, whatever it is told with: all files arrive.
#[test]
fn a_server_with_few_connections_is_served_by_these() {
    for (line, refusal) in [
        ("", "421 Too many connections from your address\r\n"),
        ("", ""),
        ("USER", "421 too many users\r\n"),
        ("PASS", "530 Sorry, the maximum number of clients for this user is reached\r\n"),
        ("PASS", "421 later\r\n"),
    ] {
        for most in [1, 2] {
            let mut script = Script::sending("content");
            script.most = Some((most, line, refusal));
            let server = Fake::start(script);
            let here = Scratch::new();
            let urls: Vec<String> = (0..9).map(|nth| server.url(&format!("f{nth}"))).collect();
            let mut command = vec!["get", "--retries", "0", "--parallel", "4"];
            command.extend(urls.iter().map(String::as_str));
            let told = say(&[&command[..], &[path(here.path())]].concat()).succeeded();
            assert_eq!(here.names().len(), 9, "{refusal} {most}: {}", complaints(&told));
        }
    }
}
