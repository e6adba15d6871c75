//! What `ls` shows of what servers send.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use stackwright_programs::control::Control;
use stackwright_programs::processes::Running;
use stackwright_programs::scratch::Scratch;

use crate::ftp::fake::{Fake, Script};
use crate::ftp::{complaints, path, program, say};

#[test]
fn what_is_not_understood_is_counted_and_told() {
    let server = Fake::start(Script::sending(
        b"07-20-26  09:52AM  <DIR>  Docs\r\nhello\r\n-rw-r--r-- 1 u g 5 Jan 15 08:00 r\xe4k\r\n",
    ));
    let told = say(&["ls", &server.url("")]).succeeded();
    assert_eq!(told.text().trim(), "Docs/");
    let complaints = complaints(&told);
    assert!(complaints.contains("2 lines of the listing could not be understood"), "{complaints}");
}

#[test]
fn nothing_understood_is_not_nothing_there() {
    let server = Fake::start(Script::sending("ls: cannot access 'x'\r\n"));
    let told = say(&["ls", &server.url("")]).exited(1);
    assert!(!complaints(&told).contains("(nothing)"), "{}", complaints(&told));
    let server = Fake::start(Script::sending("total 0\r\n"));
    let told = say(&["ls", &server.url("")]).succeeded();
    assert_eq!(complaints(&told), "(nothing)\n");
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let script = Script::sending("").reply("CWD", "550 nonexistent: No such directory\r\n");
    let told = say(&["ls", &Fake::start(script).url("nonexistent/")]).exited(1);
    assert!(
        complaints(&told).contains("550 nonexistent: No such directory"),
        "{}",
        complaints(&told)
    );
}

#[test]
fn nothing_a_server_says_reaches_a_terminal_as_it_is() {
    let evil = "evil\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{202e}name";
    let line = format!("-rw-r--r-- 1 u g 5 Jan 15 08:00 {evil}\r\n");
    let raw = |octets: &[u8]| {
        String::from_utf8_lossy(octets)
            .chars()
            .any(|letter| letter.is_control() && letter != '\n' || letter == '\u{202e}')
    };
    let mut script = Script::sending(line).reply("RETR", format!("550 {evil}: no\r\n"));
    script.greeting = Some(format!("220-{evil}\r\n220 {evil}\r\n").into_bytes());
    let server = Fake::start(script);
    for arguments in [&["ls"][..], &["ls", "-v"], &["get", "-v"], &["get"]] {
        let told = say(
            &[arguments, &[&server.url(if arguments[0] == "get" { "f" } else { "" })]].concat()
        );
        assert!(!raw(&told.output) && !raw(&told.complaints), "{}", complaints(&told));
        let shown = told.text() + &complaints(&told);
        assert!(shown.contains("evil\\x1b[2J"), "{shown}");
    }
}

/// Every message of the client, with every word of a server in it.
#[test]
fn no_message_of_the_client_has_what_a_terminal_acts_on() {
    let here = Scratch::new();
    std::fs::write(here.join("own"), "content").expect("a folder of ours");
    let own = here.join("own");
    // Each verb is refused once, in evil words.
    for refused in
        ["", "USER", "PASS", "CWD", "LIST", "EPSV", "RETR", "STOR", "DELE", "MKD", "RNFR"]
    {
        refuses_in_evil_words(refused, &own);
    }
}

/// Runs every command with a server that refuses one verb.
fn refuses_in_evil_words(refused: &str, own: &Path) {
    let evil = "evil\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{202e}\u{2066}\u{7f}name";
    let raw = |octets: &[u8]| {
        String::from_utf8_lossy(octets).chars().any(|letter| {
            letter.is_control() && letter != '\n' || matches!(letter, '\u{202e}' | '\u{2066}')
        })
    };
    let listing = format!(
        "-rw-r--r-- 1 u g 5 Jan 15 08:00 {evil}\r\ndrwxr-xr-x 2 u g 5 Jan 15 08:00 d{evil}\r\n\
         lrwxrwxrwx 1 u g 5 Jan 15 08:00 l -> {evil}\r\n{evil} is no line\r\n"
    );
    let mut script = Script::sending(&listing);
    script.greeting = Some(format!("220-{evil}\r\n220 {evil}\r\n").into_bytes());
    script.final_reply = Some(format!("226 {evil}\r\n").into_bytes());
    if !refused.is_empty() {
        script = script.reply(refused, format!("550-{evil}\r\n550 {evil}\r\n"));
    }
    let server = Fake::start(script);
    let (folder, file) = (server.url(""), server.url("f"));
    let target = Scratch::new();
    let commands = [
        vec!["ls", &folder],
        vec!["ls", "--long", &folder],
        vec!["get", "--retries", "0", &file, path(target.path())],
        vec!["get", "--retries", "0", &folder, path(target.path())],
        vec!["mirror", "--retries", "0", &folder, path(target.path())],
        vec!["put", "--retries", "0", path(own), &file],
        vec!["rm", &file],
        vec!["mkdir", &file],
        vec!["mv", &file, "other"],
    ];
    let tells = |command: &[&str]| {
        for options in [&[][..], &["--verbose"], &["--json"]] {
            let told = say(&[command, options].concat());
            let shown = told.text() + &complaints(&told);
            assert!(
                !raw(&told.output) && !raw(&told.complaints),
                "{command:?} {options:?}, {refused} refused: {shown:?}"
            );
        }
    };
    // At the same time, since a login that was refused is tried again after a second.
    thread::scope(|scope| {
        for command in &commands {
            scope.spawn(|| tells(command));
        }
    });
}

/// Whatever a client says, in each message of a server: requests, names that are there, users.
#[test]
fn nothing_a_client_says_reaches_the_servers_terminal_as_it_is() {
    let evil = "evil\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{202e}\u{2066}\u{7f}name";
    for options in [&[][..], &["-v"], &["--json"], &["--json", "-v"]] {
        let folder = Scratch::new();
        std::fs::write(folder.join(evil), "content").expect("a folder of ours");
        let mut command = program();
        command.args(["serve", path(folder.path()), "--listen", "127.0.0.1:0", "--writable"]);
        command.args(options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program is there");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut first = String::new();
        output.read_line(&mut first).expect("it says where it listens");
        let (_, rest) = first.split_once("ftp://").expect("an address");
        let (address, _) = rest.split_once('/').expect("an address");
        let mut control = Control::guest(address.parse().expect("an address")).expect("it serves");
        for command in ["RETR", "STOR", "APPE", "NLST", "MLSD", "LIST"] {
            for name in [evil.to_owned(), format!("{evil}/{evil}"), format!("-{evil}")] {
                drop(control.passive().expect("a port"));
                let reply = control.ask(&format!("{command} {name}")).expect("a reply");
                if reply.code < 200 {
                    control.reply().expect("the end");
                }
            }
        }
        for command in ["CWD", "SIZE", "MKD", "RNFR", "RNTO", "HOST", "OPTS", "SITE", "LANG", ""] {
            control.ask(&format!("{command} {evil}")).expect("a reply");
        }
        control.ask(&format!("USER {evil}")).expect("a reply");
        control.ask(&format!("PASS {evil}")).expect("a reply");
        drop(control);
        std::thread::sleep(std::time::Duration::from_millis(100));
        child.kill().expect("it serves");
        let mut told = Vec::new();
        output.read_to_end(&mut told).expect("a pipe");
        child.stderr.take().expect("it is piped").read_to_end(&mut told).expect("a pipe");
        child.wait().expect("it ends");
        let told = String::from_utf8(told).expect("a text");
        let raw = told.chars().find(|letter| {
            letter.is_control() && *letter != '\n' || matches!(letter, '\u{202e}' | '\u{2066}')
        });
        assert_eq!(raw, None, "{options:?}: {told:?}");
        assert!(told.contains("\\u202e"), "{options:?}: {told}");
        if options == ["--json"] {
            let whole = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
            assert!(told.lines().all(whole), "{told}");
        }
    }
}

#[test]
fn a_listing_without_end_is_shown_as_it_comes() {
    let mut script = Script::sending("-rw-r--r-- 1 u g 5 Jan 15 08:00 a\r\n".repeat(1000));
    script.endless = true;
    let server = Fake::start(script);
    let mut command = program();
    command.args(["ls", &server.url("")]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(command.stdin(Stdio::null()));
    let lines = BufReader::new(running.output()).lines().map_while(Result::ok);
    assert_eq!(lines.take(200_000).filter(|line| line.ends_with("  a")).count(), 200_000);
    let memory = running.status("VmHWM");
    assert!(memory < 64 << 10, "{memory} kB");
}
