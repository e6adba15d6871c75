//! Programs at AGW of our station: a stranger in Python, with gensio at the other end of the link.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use stackwright_programs::processes::{Running, find};

use crate::channel::channel;
use crate::hub::hub;
use crate::process::Process;
use crate::rig::Rig;
use crate::trial;

const OCTETS: usize = 16 << 10;

pub(crate) fn trials() -> Vec<Trial> {
    let shared = [false, true].map(|shared| {
        let way = if shared { "through-a-shared-tnc" } else { "at-once" };
        trial(&format!("station/calls/{way}"), "gensiot", move || with_python(|| calls(shared)))
    });
    let called = trial("station/is-called", "gensiot", || with_python(is_called));
    let direwolf = trial("station/calls/direwolf", "direwolf", || with_python(calls_direwolf));
    let channel = trial("station/calls/on-a-channel", "python3", on_a_channel);
    let monitors = trial("station/is-monitored", "python3", is_monitored);
    shared.into_iter().chain([called, direwolf, channel, monitors]).collect()
}

fn with_python(run: impl FnOnce()) {
    if find("python3").is_some() {
        run();
    } else {
        println!("skipped: python3 is not installed");
    }
}

pub(crate) fn program(arguments: &[&str]) -> (Running, BufReader<ChildStdout>) {
    python("program.py", arguments)
}

fn python(name: &str, arguments: &[&str]) -> (Running, BufReader<ChildStdout>) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "radio", name].iter().collect();
    let mut command = Command::new("python3");
    command.arg(path).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running::start(&mut command);
    let out = BufReader::new(running.output());
    (running, out)
}

pub(crate) fn line(out: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    line.trim_end().to_owned()
}

/// The program calls gensio, which echoes: on the channel, or behind the TNC of a station of ours.
fn calls(shared: bool) {
    let channel = hub();
    let station = Process::start("N0AAA", channel);
    let other = Process::start("N0BBB", channel);
    let tnc = if shared { other.kiss } else { channel.port() };
    let accepts = format!("ax25(laddr=N0BBB-1),conacc,kiss,tcp,127.0.0.1,{tnc}");
    let mut echo =
        Running::start(Command::new("gensiot").args(["-i", "echo", "--server", "-a", &accepts]));
    thread::sleep(Duration::from_millis(1500)); // it has connected
    let (port, octets) = (station.agw.to_string(), OCTETS.to_string());
    let (mut program, mut out) = program(&[&port, "calls", "N0AAA", "N0BBB-1", &octets]);
    assert_eq!(line(&mut out), "equal 0");
    program.kill();
    echo.kill();
}

/// gensio calls the program, which echoes.
fn is_called() {
    let channel = hub();
    let station = Process::start("N0AAA", channel);
    let (_program, mut out) = program(&[&station.agw.to_string(), "answers", "N0AAA"]);
    assert_eq!(line(&mut out), "ready");
    let tnc = format!("kiss,tcp,127.0.0.1,{}", channel.port());
    let calls = format!(r#"ax25(extended=1,laddr=N0BBB-1,addr="0,N0AAA,N0BBB-1"),{tnc}"#);
    let mut command = Command::new("gensiot");
    command.args(["-i", "stdio(self)", &calls]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut caller = Running::start(&mut command);
    let (mut input, mut output) = (caller.input(), caller.output());
    let content: Vec<u8> = (0..OCTETS).map(|place| (place * 31 % 251) as u8).collect();
    let expected = content.clone();
    let writer = thread::spawn(move || {
        input.write_all(&content).expect("it reads");
        input
    });
    let mut echo = vec![0; OCTETS];
    output.read_exact(&mut echo).expect("its echo");
    assert!(echo == expected, "the same octets");
    drop(writer.join().expect("no panic"));
    assert_eq!(line(&mut out), format!("echoed {OCTETS}"));
}

/// The same program at two stations of ours on a channel of ours, where bits are wrong now and
/// then.
fn on_a_channel() {
    let (_channel, tncs) = channel(1e-5);
    let calls = ["N0AAA", "N0BBB"];
    let [one, other] = [0, 1].map(|place| Process::on_channel(calls[place], tncs[place]));
    let (_answers, mut ready) = program(&[&other.agw.to_string(), "answers", "N0BBB"]);
    assert_eq!(line(&mut ready), "ready");
    let (_calls, mut out) = program(&[&one.agw.to_string(), "calls", "N0AAA", "N0BBB", "4096"]);
    assert_eq!(line(&mut out), "equal 0");
    assert_eq!(line(&mut ready), "echoed 4096");
}

/// The same program at both ends: at ours, and at Direwolf's, which has links of its own.
fn calls_direwolf() {
    let rig = Rig::new(9600);
    let station = Process::at_modem("N0AAA", rig.kiss(0), 9600, "");
    let direwolf = rig.agw(1).port().to_string();
    let (_answers, mut ready) = program(&[&direwolf, "answers", "N0BBB"]);
    assert_eq!(line(&mut ready), "ready");
    let port = station.agw.to_string();
    let (_calls, mut out) = program(&[&port, "calls", "N0AAA", "N0BBB", "4096"]);
    assert_eq!(line(&mut out), "equal 0", "{}", rig.logs());
    assert_eq!(line(&mut ready), "echoed 4096");
}

/// The library of Paracon watches what one of ours sends and another program calls, and sends a
/// frame itself.
fn is_monitored() {
    let mut library = Command::new("python3");
    let has_library = library.args(["-c", "import pe"]).stderr(Stdio::null());
    if !has_library.status().is_ok_and(|status| status.success()) {
        println!("skipped: pyham_pe is not installed");
        return;
    }
    let channel = hub();
    let [one, other] = ["N0AAA", "N0BBB"].map(|call| Process::start(call, channel));
    let (_watch, mut shown) = python("monitor.py", &[&one.agw.to_string()]);
    assert_eq!(line(&mut shown), "ready");
    thread::sleep(Duration::from_millis(500)); // what it asked is done
    // UI from N0BBB to CQ.
    let frame = "86a240404040e09c608484844061".to_owned() + "03f068656c6c6f";
    let (_sends, _) = python("monitor.py", &[&other.agw.to_string(), "send", &frame]);
    let mut both = [line(&mut shown), line(&mut shown)];
    both.sort();
    let raw = format!("K 0 {frame}");
    assert!(both[0].starts_with("K 0 ") && both[0].ends_with(&frame), "{both:?} {raw}");
    assert_eq!(both[1], "U 0 N0BBB CQ hello");
    // A link of the two stations, as seen at one of them.
    let (_answers, mut ready) = program(&[&one.agw.to_string(), "answers", "N0AAA"]);
    assert_eq!(line(&mut ready), "ready");
    let port = other.agw.to_string();
    let (_calls, mut out) = program(&[&port, "calls", "N0BBB", "N0AAA", "100"]);
    assert_eq!(line(&mut out), "equal 0");
    let seen = loop {
        let line = line(&mut shown);
        if line.starts_with("S 0 N0BBB N0AAA ") {
            break line;
        }
    };
    assert_eq!(seen, "S 0 N0BBB N0AAA SABME");
}
