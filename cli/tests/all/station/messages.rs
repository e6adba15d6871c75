//! `stackwright aprs`: messages between stations on a channel without a modem.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stackwright::ax25::header::Unnumbered;

use crate::station::hub::hub;
use crate::station::operator::kiss;
use crate::station::{Station, text};

fn aprs(at: &[&str], call: &str, action: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackwright"));
    command.arg("aprs").args(at).args(["--call", call, "--json"]).args(action);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// One that listens: messages that come are its lines.
struct Listens(Child, BufReader<ChildStdout>);

impl Listens {
    fn start(at: &[&str], call: &str) -> Self {
        let mut child = aprs(at, call, &["listen"]).spawn().expect("our own program");
        let mut begun = [0; 9];
        let errors = child.stderr.as_mut().expect("a pipe");
        while !begun.ends_with(b"listening") {
            begun.copy_within(1.., 0);
            errors.read_exact(&mut begun[8..]).expect("it says that it listens");
        }
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        Listens(child, out)
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.1.read_line(&mut line).expect("text");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for Listens {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sent(at: &[&str], call: &str, rest: &[&str]) -> Output {
    aprs(at, call, &[&["send"], rest].concat()).output().expect("our own program")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// By TNCs, and by stations; the same text twice is two messages.
#[test]
fn messages_are_acknowledged() {
    let channel = hub();
    let stations = ["N0CCC", "N0DDD"].map(|call| Station::start(&text(call, channel), &[]));
    let line = format!("tcp://{channel}");
    let agw = stations.each_ref().map(|station| station.agw.to_string());
    let by_agw = agw.each_ref().map(|agw| ["--agw", &agw[..]]);
    let ends: [(&[&str], _, &[&str], _); 3] = [
        (&[&line], "N0AAA", &[&line], "N0BBB-7"),
        (&by_agw[0], "N0CCC", &by_agw[1], "N0DDD"),
        (&[&line], "N0AAA", &by_agw[0], "N0CCC-7"),
    ];
    for (from, caller, to, called) in ends {
        let mut listens = Listens::start(to, called);
        thread::sleep(Duration::from_millis(300)); // the hub knows it
        for _ in 0..2 {
            let sent = sent(from, caller, &[called, "Hello, are you there?"]);
            assert_eq!(code(&sent), Some(0), "{sent:?}");
            let said: Value = serde_json::from_slice(&sent.stdout).expect("JSON");
            assert_eq!(said["to"], called);
            let came = listens.next();
            assert_eq!(
                (&came["from"], &came["text"]),
                (&caller.into(), &"Hello, are you there?".into())
            );
        }
    }
    let foreign = sent(&by_agw[0], "N0AAA", &["N0BBB", "not mine"]);
    assert_eq!(code(&foreign), Some(2), "{foreign:?}");
}

/// What is not acknowledged is sent again, and shown once by the one that hears it.
#[test]
fn a_message_is_sent_again_until_it_is_acknowledged() {
    let channel = hub();
    let at = [&format!("tcp://{channel}")[..]];
    let repeats = ["N0BBB", "late", "--tries", "20", "--pause", "100 ms"];
    let mut sends = aprs(&at, "N0AAA", &[&["send"], &repeats[..]].concat());
    let mut sends = sends.spawn().expect("our own program");
    let mut errors = BufReader::new(sends.stderr.take().expect("a pipe")).lines();
    assert!(errors.any(|line| line.expect("text").contains("2 of at most 20")), "once in vain");
    let mut listens = Listens::start(&at, "N0BBB");
    let told = sends.wait_with_output().expect("it ends");
    assert_eq!(code(&told), Some(0), "{told:?}");
    let said: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    // The second may be on its way when the other begins to listen.
    assert!(said["tries"].as_u64() >= Some(2), "{said}");
    assert_eq!(code(&sent(&at, "N0AAA", &["N0BBB", "next"])), Some(0));
    assert_eq!([listens.next()["text"].clone(), listens.next()["text"].clone()], ["late", "next"]);
}

#[test]
fn a_message_is_given_up_or_rejected() {
    let channel = hub();
    let at = [&format!("tcp://{channel}")[..]];
    let few = ["N0BBB", "hello", "--tries", "2", "--pause", "50 ms"];
    assert_eq!(code(&sent(&at, "N0AAA", &few)), Some(3));
    assert_eq!(code(&sent(&at, "N0AAA", &["N0BBB", "a{b"])), Some(2));
    let mut air = TcpStream::connect(channel).expect("the hub listens");
    let many = ["send", "N0BBB", "hello", "--tries", "20", "--pause", "1 s"];
    let sends = aprs(&at, "N0AAA", &many).spawn().expect("our own program");
    let (mut came, mut octet) = (Vec::new(), [0]);
    while !(came.ends_with(b"\xc0") && came.windows(6).any(|part| part == b"hello{")) {
        air.read_exact(&mut octet).expect("a frame");
        came.push(octet[0]);
    }
    let number = came.rsplit(|octet| *octet == b'{').next().expect("its number");
    let number = String::from_utf8_lossy(&number[..number.len() - 1]).into_owned();
    let rejects = format!(":N0AAA    :rej{number}");
    air.write_all(&kiss("N0BBB", "APRS", Unnumbered::Ui, rejects.as_bytes())).expect("sent");
    let told = sends.wait_with_output().expect("it ends");
    assert_eq!(code(&told), Some(4), "{told:?}");
}
