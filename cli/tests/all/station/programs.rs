//! Programs at call signs of a station, called by a program of another one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::station::agw::Program;
use crate::station::hub::hub;
use crate::station::{Station, command, content, text};

const CALLER: &str = "N0AAA";

/// Two stations, and a program at the first: the second has these programs. A third one repeats.
fn called(programs: &str) -> (Program, [Station; 2], Station) {
    let channel = hub();
    let relay = text("N0CCC", channel).replace("[serve]", "[ax25]\ndigipeat = true\n[serve]");
    let relay = Station::start(&relay, &[]);
    let near = Station::start(&text(CALLER, channel), &[]);
    let far = Station::start(&(text("N0BBB", channel) + programs), &[]);
    (Program::registered(near.agw, CALLER), [near, relay], far)
}

fn table(call: &str, script: &str) -> String {
    format!("[[program]]\ncall = \"{call}\"\nrun = ['/bin/sh', '-c', '{script}']\ncallers = 1\n")
}

impl Program {
    /// Returns what comes until the link ends.
    fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        loop {
            let frame = self.next();
            match frame.kind {
                'D' => rest.extend(frame.data),
                'd' => return rest,
                _ => {}
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.extend(self.expect('D'));
        }
        String::from_utf8(line).expect("text")
    }
}

/// The link is its input and output, both ways at once; it ends with the link.
#[test]
fn a_program_has_the_link() {
    let (mut program, _near, far) = called(&table("N0BBB-5", "echo $$; exec cat"));
    program.ask(b'C', CALLER, "N0BBB-5", b"");
    program.expect('C');
    let process = program.line();
    let mut sends = program.another();
    let sends = thread::spawn(move || {
        content(1).chunks(500).for_each(|data| sends.ask(b'D', CALLER, "N0BBB-5", data));
    });
    assert!(program.data(16 << 10) == content(1), "its echo");
    sends.join().expect("no panic");
    program.ask(b'd', CALLER, "N0BBB-5", b"");
    program.expect('d');
    ends(process.trim());
    let said = far.stop();
    assert!(said.contains("N0AAA is connected to N0BBB-5"), "{said}");
}

fn ends(process: &str) {
    let path = format!("/proc/{process}");
    // It was reaped: none that waits for that is there, either.
    let is_gone = |_| {
        thread::sleep(Duration::from_millis(50));
        !Path::new(&path).exists()
    };
    assert!((0..1200).any(is_gone), "{process} has ended");
}

/// One that does not read is killed, with what it has started; so it is when the station ends.
#[test]
fn a_program_does_not_outlive_its_link() {
    let script = r#"trap "" HUP TERM; sleep 1000 & echo $$ $!; wait"#;
    let (mut program, _near, far) = called(&table("N0BBB-5", script));
    for station in [None, Some(far)] {
        // Until the one before is gone, there is no place.
        let processes = loop {
            program.ask(b'C', CALLER, "N0BBB-5", b"");
            program.expect('C');
            let line = program.line();
            if !line.contains("has as many callers as it may have") {
                break line;
            }
            program.rest();
            thread::sleep(Duration::from_millis(100));
        };
        match station {
            None => program.ask(b'd', CALLER, "N0BBB-5", b""),
            Some(station) => drop(station.stop()),
        }
        processes.split_whitespace().for_each(ends);
        program.rest();
    }
}

/// The link ends behind the last octet of the program, which knows who called, and how.
#[test]
fn a_link_ends_with_its_program() {
    let script = "echo $CALLER $CALLED via $VIA.; head -c 20000 /dev/zero";
    let (mut program, _near, _far) = called(&table("N0BBB-5", script));
    for (kind, via, said) in [
        (b'C', &b""[..], "N0AAA N0BBB-5 via .\n"),
        (b'v', b"\x01N0CCC\0\0\0\0\0", "N0AAA N0BBB-5 via N0CCC.\n"),
    ] {
        program.ask(kind, CALLER, "N0BBB-5", via);
        program.expect('C');
        let rest = program.rest();
        let (line, zeros) = rest.split_at(said.len());
        assert_eq!(String::from_utf8_lossy(line), said);
        assert!(zeros == [0; 20000], "{} octets", zeros.len());
        thread::sleep(Duration::from_millis(500)); // it is waited for
    }
}

/// A caller is told why there is no program: another one has it, or it is gone.
#[test]
fn who_is_refused_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = folder.path().join("program");
    std::fs::copy("/bin/cat", &there).expect("a program");
    let gone = format!("[[program]]\ncall = \"N0BBB-6\"\nrun = ['{}']\n", there.display());
    let (mut first, [near, _], far) = called(&(table("N0BBB-5", "cat") + &gone));
    std::fs::remove_file(&there).expect("it is there");
    first.ask(b'C', CALLER, "N0BBB-5", b"");
    first.expect('C');
    let mut second = Program::registered(near.agw, "N0AAA-7");
    for (call, says) in [
        ("N0BBB-5", "N0BBB-5 has as many callers as it may have; try again later\r\n"),
        ("N0BBB-6", "N0BBB-6 cannot be started\r\n"),
    ] {
        second.ask(b'C', "N0AAA-7", call, b"");
        second.expect('C');
        assert_eq!(String::from_utf8_lossy(&second.rest()), says);
    }
    first.ask(b'D', CALLER, "N0BBB-5", b"still there");
    assert_eq!(first.data(11), b"still there");
    let said = far.stop();
    assert!(said.contains("not started"), "{said}");
    // The file is refused before any link is opened.
    let text = text("N0BBB", hub()) + &gone;
    let refused = command(&folder, &text, &["--check"]).stderr(Stdio::piped()).output();
    let refused = refused.expect("our own program");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = BufReader::new(&refused.stderr[..]).lines().next().expect("a line").expect("text");
    assert!(said.contains("there is no such program"), "{said}");
}
