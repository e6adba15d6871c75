//! Servers that lie, stall, cut and babble, against our client: it ends by itself, says that it
//! failed, and leaves nothing under the final name.

use std::io::{self, Write};
use std::net::{Shutdown, TcpListener};
use std::thread;
use std::time::Duration;
use std::{fs, str};

use libtest_mimic::Trial;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::Scratch;

use crate::scripted::{Scripted, Session, Turn, reset};
use crate::setting::{our_client, trial};

/// What a client may need at most, in kilobytes, whatever it is sent.
const MEMORY: u64 = 64 * 1024;

const LENGTH: usize = 1_000_000;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, fn()); 17] = [
        ("endless-greeting", endless_greeting),
        ("endless-line", endless_line),
        ("long-line", long_line),
        ("garbage", garbage),
        ("hang-up", hang_up),
        ("foreign-pasv", foreign_pasv),
        ("senseless-pasv", senseless_pasv),
        ("data-reset", data_reset),
        ("data-cut", data_cut),
        ("data-cut-and-gone", data_cut_and_gone),
        ("shrinking-file", shrinking_file),
        ("octet-by-octet", octet_by_octet),
        ("confusing-lines", confusing_lines),
        ("control-characters", control_characters),
        ("upload-refused", upload_refused),
        ("upload-reset", upload_reset),
        ("upload-denied-at-the-end", upload_denied_at_the_end),
    ];
    all.map(|(name, run)| trial(format!("hostile-server/{name}"), &[], false, run)).into()
}

/// What our client makes of a script, and what it leaves.
fn get<S>(script: S) -> (Outcome, Scratch)
where
    S: Fn(&mut Session, &str, &str) -> io::Result<Turn> + Send + Sync + 'static,
{
    let server = Scripted::start(octets(1, LENGTH), script);
    let scratch = Scratch::new();
    let outcome =
        run(our_client("get").arg(server.url("it")).arg(scratch.join("it")).arg("--json"));
    assert!(outcome.memory < MEMORY, "{} kB", outcome.memory);
    (outcome, scratch)
}

/// The transfer must fail, and leave no trace.
fn get_fails<S>(script: S) -> Outcome
where
    S: Fn(&mut Session, &str, &str) -> io::Result<Turn> + Send + Sync + 'static,
{
    let (outcome, scratch) = get(script);
    let outcome = outcome.failed();
    assert!(
        outcome.text().lines().last().unwrap_or_default().contains("\"failed\""),
        "{}",
        outcome.text()
    );
    assert!(!scratch.join("it").exists(), "a file under the final name");
    outcome
}

/// The transfer must succeed all the same.
fn get_succeeds<S>(script: S)
where
    S: Fn(&mut Session, &str, &str) -> io::Result<Turn> + Send + Sync + 'static,
{
    let (outcome, scratch) = get(script);
    outcome.succeeded();
    assert_same(&fs::read(scratch.join("it")).expect("the file"), &octets(1, LENGTH));
}

fn put_fails<S>(script: S)
where
    S: Fn(&mut Session, &str, &str) -> io::Result<Turn> + Send + Sync + 'static,
{
    let server = Scripted::start(Vec::new(), script);
    let scratch = Scratch::new();
    fs::write(scratch.join("it"), octets(1, 10 * LENGTH)).expect("a folder of ours");
    run(our_client("put").arg(scratch.join("it")).arg(server.url("it")).arg("--json")).failed();
}

fn endless_greeting() {
    get_fails(|session, verb, _| {
        while verb.is_empty() {
            session.send(&b"220-and then, once upon another time,\r\n".repeat(1_000))?;
        }
        Ok(Turn::Usual)
    });
}

fn endless_line() {
    get_fails(|session, verb, _| {
        while verb.is_empty() {
            session.send(&[b'2'; 65_536])?;
        }
        Ok(Turn::Usual)
    });
}

/// A megabyte in one line. To refuse it is right, to read past it too.
fn long_line() {
    let (outcome, scratch) = get(|session, verb, _| {
        if verb != "PASS" {
            return Ok(Turn::Usual);
        }
        session.say(&format!("230 {}", "a".repeat(1_000_000)))?;
        Ok(Turn::Done)
    });
    match outcome.status.code() {
        Some(0) => {
            assert_same(&fs::read(scratch.join("it")).expect("the file"), &octets(1, LENGTH))
        }
        Some(1) => assert!(!scratch.join("it").exists(), "a file under the final name"),
        _ => panic!("{}", outcome.status),
    }
}

fn garbage() {
    get_fails(|session, verb, _| {
        if verb.is_empty() {
            session.send(b"SSH-2.0-OpenSSH_9.2\r\n\0\xFF\xFE\r\n")?;
            return Ok(Turn::Leave);
        }
        Ok(Turn::Usual)
    });
}

/// Gone, at each command in turn.
fn hang_up() {
    for at in ["", "USER", "PASS", "TYPE", "RETR"] {
        get_fails(move |_, verb, _| Ok(if verb == at { Turn::Leave } else { Turn::Usual }));
    }
}

/// A server that tells a third party's address: the client connects to the server, or refuses, but
/// never there.
fn foreign_pasv() {
    let trap = TcpListener::bind("127.0.0.2:0").expect("a second loopback address");
    trap.set_nonblocking(true).expect("a socket of ours");
    let port = trap.local_addr().expect("a bound socket").port();
    let (outcome, scratch) = get(move |session, verb, _| match verb {
        "EPSV" => session.say("500 What?").map(|()| Turn::Done),
        "PASV" => {
            // The same port at home, where it leads to the file.
            session.listen_on(port)?;
            session.say(&format!(
                "227 Entering Passive Mode (127,0,0,2,{},{}).",
                port >> 8,
                port & 255
            ))?;
            Ok(Turn::Done)
        }
        _ => Ok(Turn::Usual),
    });
    let trapped = trap.accept();
    assert!(trapped.is_err(), "the client went to {:?}", trapped.map(|(_, from)| from));
    match outcome.status.code() {
        Some(0) => {
            assert_same(&fs::read(scratch.join("it")).expect("the file"), &octets(1, LENGTH))
        }
        Some(1) => assert!(!scratch.join("it").exists(), "a file under the final name"),
        _ => panic!("{}", outcome.status),
    }
}

fn senseless_pasv() {
    for line in [
        "227 Entering Passive Mode (1,2,3).",
        "227 (127,0,0,1,999,999)",
        "227 (127,0,0,1,0,0)",
        "227 ,,,,,,",
    ] {
        get_fails(move |session, verb, _| match verb {
            "EPSV" => session.say("500 What?").map(|()| Turn::Done),
            "PASV" => session.say(line).map(|()| Turn::Done),
            _ => Ok(Turn::Usual),
        });
    }
    for line in ["229 (|||0|)", "229 (|||70000|)", "229 Entering", "229 (||||)"] {
        get_fails(move |session, verb, _| match verb {
            "EPSV" => session.say(line).map(|()| Turn::Done),
            "PASV" => session.say("502 Not here.").map(|()| Turn::Done),
            _ => Ok(Turn::Usual),
        });
    }
}

/// Sends half of the file, then lets `end` decide how it breaks off.
fn half(session: &mut Session) -> io::Result<std::net::TcpStream> {
    session.opening()?;
    let mut data = session.data()?;
    data.write_all(&session.content[..LENGTH / 2])?;
    Ok(data)
}

fn data_reset() {
    get_fails(|session, verb, _| {
        if verb != "RETR" {
            return Ok(Turn::Usual);
        }
        let data = half(session)?;
        // Time for the client to have something that it could keep.
        thread::sleep(Duration::from_millis(50));
        reset(data);
        session.say("426 Connection closed; transfer aborted.")?;
        Ok(Turn::Done)
    });
}

/// A clean end in the middle, and the truth about it.
fn data_cut() {
    for line in ["426 Connection closed; transfer aborted.", "451 Read error.", "550 Gone."] {
        get_fails(move |session, verb, _| {
            if verb != "RETR" {
                return Ok(Turn::Usual);
            }
            drop(half(session)?);
            session.say(line)?;
            Ok(Turn::Done)
        });
    }
}

/// A clean end in the middle, and nobody left who would tell.
fn data_cut_and_gone() {
    get_fails(|session, verb, _| {
        if verb != "RETR" {
            return Ok(Turn::Usual);
        }
        drop(half(session)?);
        Ok(Turn::Leave)
    });
}

/// The server told a size, gives less, and calls it complete.
fn shrinking_file() {
    get_fails(|session, verb, _| {
        if verb != "RETR" {
            return Ok(Turn::Usual);
        }
        half(session)?.shutdown(Shutdown::Both)?;
        session.say("226 Transfer complete.")?;
        Ok(Turn::Done)
    });
}

fn octet_by_octet() {
    fn slowly(session: &mut Session, text: &str) -> io::Result<Turn> {
        for octet in text.as_bytes() {
            session.send(&[*octet])?;
            thread::sleep(Duration::from_micros(500));
        }
        Ok(Turn::Done)
    }
    get_succeeds(|session, verb, _| match verb {
        "" => slowly(session, "220-Welcome,\r\n220 stranger.\r\n"),
        "USER" => slowly(session, "331 Password?\r\n"),
        "PASS" => slowly(session, "230-Welcome,\r\n 230 indeed.\r\n230 In.\r\n"),
        "TYPE" => slowly(session, "200 Fine.\r\n"),
        "EPSV" => {
            let port = session.listen()?;
            slowly(session, &format!("229 Entering Extended Passive Mode (|||{port}|)\r\n"))
        }
        _ => Ok(Turn::Usual),
    });
}

/// Replies of several lines, in which every line but the last looks like an end.
fn confusing_lines() {
    get_succeeds(|session, verb, _| {
        match verb {
            "" => session.send(
                b"220-Welcome\r\n221 not the end\r\n 220 nor this\r\n220-nor this\r\n\r\n220x\r\n220 end\r\n",
            )?,
            "PASS" => session.send(b"230-530 Login incorrect.\r\n530 no\r\n550-no\r\n230 Yes.\r\n")?,
            _ => return Ok(Turn::Usual),
        }
        Ok(Turn::Done)
    });
}

/// A refusal that would paint the terminal of whoever reads it.
fn control_characters() {
    let outcome = get_fails(|session, verb, _| match verb {
        "RETR" => session.send(b"550 \x1B[31mred\x07\x1B]0;title\x07\r\n").map(|()| Turn::Done),
        _ => Ok(Turn::Usual),
    });
    for octets in [&outcome.output, &outcome.complaints] {
        let raw = octets.iter().any(|octet| matches!(octet, 0x07 | 0x1B));
        assert!(!raw, "{:?}", str::from_utf8(octets));
    }
}

fn upload_refused() {
    put_fails(|session, verb, _| match verb {
        "STOR" => session.say("550 Permission denied.").map(|()| Turn::Done),
        _ => Ok(Turn::Usual),
    });
}

fn upload_reset() {
    put_fails(|session, verb, _| {
        if verb != "STOR" {
            return Ok(Turn::Usual);
        }
        session.say("150 Go ahead.")?;
        reset(session.data()?);
        session.say("426 Connection closed; transfer aborted.")?;
        Ok(Turn::Done)
    });
}

/// All octets were taken, and then the disk was full.
fn upload_denied_at_the_end() {
    put_fails(|session, verb, _| {
        if verb != "STOR" {
            return Ok(Turn::Usual);
        }
        session.say("150 Go ahead.")?;
        io::copy(&mut session.data()?, &mut io::sink())?;
        session.say("452 No room.")?;
        Ok(Turn::Done)
    });
}
