//! `stackwright channel` and `stackwright demo radio`: radio without a radio.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::num::NonZero;
use std::path::Path;
use std::process::{ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use stackwright_programs::processes::{Running, eventually, find};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::free_ports;
use stackwright_programs::terminal::Terminal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");
const CHANNEL: &str = "rate = \"1200 b/s\"\nspeed = 50\npersistence = 1\n\
    [[station]]\nname = \"N0AAA\"\nkiss = \"127.0.0.1:0\"\n\
    [[station]]\nname = \"N0BBB\"\nkiss = \"127.0.0.1:0\"\n";

/// A UI frame to CQ from N0CALL-7, "Hi", in KISS.
const UI: &[u8] = b"\xC0\x00\x86\xA2\x40\x40\x40\x40\xE0\x9C\x60\x86\x82\x98\x98\x6F\x03\xF0Hi\xC0";

fn once(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("our own program")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a name of ours")
}

fn start(arguments: &[&str]) -> (Running, BufReader<ChildStdout>) {
    let mut command = Command::new(PROGRAM);
    command.arg("channel").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running::start(&mut command);
    let out = BufReader::new(running.output());
    (running, out)
}

fn line(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    line
}

fn at(line: &str) -> TcpStream {
    let address = line.split("tcp://").nth(1).unwrap_or_else(|| panic!("an address: {line}"));
    let stream = TcpStream::connect(address.trim()).expect("the TNC listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("TCP");
    stream
}

#[test]
fn programs_find_the_stations_and_frames_are_told() {
    let folder = Scratch::new();
    let (file, picture) = (folder.join("air.toml"), folder.join("air.svg"));
    fs::write(&file, CHANNEL).expect("a folder of ours");
    let (running, mut out) = start(&[path(&file), "--all", "--svg", path(&picture)]);
    let first = line(&mut out);
    assert!(first.contains("1200 bit/s, 50 times as fast"), "{first}");
    let stations = [line(&mut out), line(&mut out)];
    assert!(stations[0].contains("N0AAA") && stations[1].contains("N0BBB"), "{stations:?}");
    let [mut near, mut far] = stations.map(|line| at(&line));
    near.write_all(UI).expect("sent");
    let mut heard = vec![0; UI.len()];
    far.read_exact(&mut heard).expect("it is heard");
    assert_eq!(heard, UI);
    let rest = [line(&mut out), line(&mut out)];
    assert!(rest[0].starts_with("Press Ctrl-C") && rest[1] == "\n", "{rest:?}");
    let said = [line(&mut out), line(&mut out)];
    assert!(said[0].contains("N0AAA") && said[0].ends_with("keys up\n"), "{said:?}");
    assert!(said[1].contains("→ CQ  UI") && said[1].ends_with("heard by N0BBB\n"), "{said:?}");
    let interrupt = Command::new("kill").args(["-INT", &running.number().to_string()]).status();
    assert!(interrupt.expect("it runs").success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    let drawn = fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.starts_with("<svg ") && drawn.contains("→ CQ  UI: heard by N0BBB"), "{drawn}");
    drop(running);

    let (_running, mut out) = start(&[path(&file), "--json"]);
    let told: Value = serde_json::from_str(&line(&mut out)).expect("JSON");
    assert_eq!((&told["rate"], &told["speed"]), (&1200.into(), &50.into()));
    let mut near = at(told["stations"][0]["kiss"].as_str().expect("an address"));
    near.write_all(UI).expect("sent");
    let frame: Value = serde_json::from_str(&line(&mut out)).expect("JSON");
    assert_eq!((&frame["kind"], &frame["to"]), (&"UI".into(), &"CQ".into()));
    assert_eq!((&frame["heard"][0], &frame["octets"]), (&"N0BBB".into(), &18.into()));
}

#[test]
fn what_is_wrong_in_the_file_is_shown_in_its_line() {
    let folder = Scratch::new();
    let file = folder.join("air.toml");
    let said = |text: &str| {
        fs::write(&file, text).expect("a folder of ours");
        let output = once(&["channel", path(&file), "--check"]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(said(CHANNEL).0, Some(0));
    let (code, text) = said(&CHANNEL.replace("speed = 50", "speed = 500"));
    assert_eq!(code, Some(2));
    assert!(text.contains("air.toml:2:9: `speed` is 500: write a number from 1 to 50"), "{text}");
    assert!(text.contains("  2 | speed = 500\n    |         ^"), "{text}");
    let (_, text) = said("rate = \"1200 b/s\"\n");
    assert!(text.contains("two stations or more"), "{text}");
    let missing = once(&["channel", "no/such"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no/such"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let there = taken.local_addr().expect("known").to_string();
    fs::write(&file, CHANNEL.replacen("127.0.0.1:0", &there, 1)).expect("a folder of ours");
    let refused = once(&["channel", path(&file)]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(&there));
}

/// A text arrives, whatever collides; it shows how.
#[test]
fn the_demonstration_moves_a_text_and_draws_what_happened() {
    let folder = Scratch::new();
    let picture = folder.join("air.svg");
    let begin = std::time::Instant::now();
    let output = once(&["demo", "radio", "--svg", path(&picture)]);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("SHA-256 of the text, equal at both ends"), "{said}");
    for what in ["keys up", "→ N0BBB  SABM", "→ N0AAA  UA", "→ N0BBB  I N(S)=0", "→ N0BBB  DISC"]
    {
        assert!(said.contains(what), "{what}: {said}");
    }
    // Lines are plain where there is no terminal, and in the order of their times.
    assert!(!said.contains('\x1B'), "{said}");
    let times =
        said.lines().filter_map(|line| line.get(..11)?.strip_suffix(" s")?.trim().parse().ok());
    let times: Vec<f64> = times.collect();
    assert!(times.len() > 20 && times.is_sorted(), "{times:?}");
    assert!(said.contains("  N0AAA  ") && said.contains("█ a frame"), "{said}");
    let drawn = fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.contains("</svg>") && drawn.matches("<rect").count() > 20, "{drawn}");
    let refused = once(&["demo", "--svg", path(&picture)]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn stacks_of_packet_radio_are_explained_and_drawn() {
    let said = |arguments: &[&str]| {
        let output = once(arguments);
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for stack in ["radio", "radio-hub"] {
        let explained = said(&["explain", stack]);
        assert!(explained.contains("it provides Streams and Datagrams"), "{explained}");
        let drawn = said(&["draw", stack]);
        assert!(drawn.contains("│ kiss │") && drawn.contains("│ line │"), "{drawn}");
    }
    assert!(said(&["explain", "ax25"]).contains("uses Frames"));
}

/// The blocks of a page that begin with this line.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let begin = format!("```{kind}\n");
    let all = page.split(begin.as_str()).skip(1);
    all.map(|rest| rest.split("```").next().expect("what is before the end")).collect()
}

/// The commands of the page "Radio without a radio", word for word but for the ports.
#[test]
fn the_pages_commands_send_a_text_from_one_station_to_another() {
    let page = include_str!("../../../docs/radio-without-a-radio.md");
    let (commands, file) = (blocks(page, "sh"), blocks(page, "toml"));
    let [first, second, third] = commands[..] else { panic!("three blocks: {commands:?}") };
    let [install, demo] = lines(first)[..] else { panic!("two commands: {first}") };
    assert_eq!(install, "cargo install --path cli");
    let folder = Scratch::new();
    let demo = shell(&folder, demo).output().expect("a shell");
    assert!(demo.status.success() && folder.join("air.svg").exists(), "{demo:?}");

    let [channel, answers, calls] = lines(second)[..] else { panic!("three commands: {second}") };
    let ports = free_ports::<2>(false).map(|port| port.to_string());
    let moved = |text: &str| text.replace("8101", &ports[0]).replace("8102", &ports[1]);
    fs::write(folder.join("air.toml"), moved(file[0])).expect("a folder of ours");
    let text = "The first line.\nAnd a second one.\n";
    fs::write(folder.join("notes.txt"), text).expect("a folder of ours");
    let piped = |line: &str| {
        let mut command = shell(&folder, &moved(&format!("exec {line}")));
        Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
    };
    let mut channel = piped(channel);
    let mut shown = BufReader::new(channel.output());
    while line(&mut shown) != "\n" {}
    // Its input stays open, as that of a terminal.
    let answering = piped(answers);
    let called = shell(&folder, &moved(calls)).output().expect("a shell");
    assert!(called.status.success(), "{called:?}");
    let arrived = || fs::read_to_string(folder.join("received.txt")).is_ok_and(|it| it == text);
    assert!(eventually(Duration::from_secs(20), arrived), "the file");
    drop(answering);

    let [monitor, sends] = lines(third)[..] else { panic!("two commands: {third}") };
    let mut monitor = piped(monitor);
    let mut heard = BufReader::new(monitor.output());
    if find("kissutil").is_none() {
        return eprintln!("skipped: kissutil is not installed");
    }
    let sent = shell(&folder, &moved(sends)).output().expect("a shell");
    assert!(sent.status.success(), "{sent:?}");
    for text in text.lines() {
        while !line(&mut heard).contains("N0AAA → N0BBB  UI") {}
        let payload = [line(&mut heard), line(&mut heard)];
        assert_eq!(payload[1].trim(), text, "{payload:?}");
        let mut sent = String::new();
        while !sent.contains("→ N0BBB  UI") {
            sent = line(&mut shown);
        }
        assert!(sent.ends_with("heard by N0BBB\n"), "{sent}");
    }
    let capture = fs::metadata(folder.join("heard.pcapng")).expect("a capture");
    assert!(capture.len() > 100);
}

/// A station that waits for one caller does not accept another.
#[test]
fn a_station_that_is_not_awaited_is_turned_away() {
    let folder = Scratch::new();
    let file = folder.join("air.toml");
    fs::write(&file, CHANNEL).expect("a folder of ours");
    let (_running, mut out) = start(&[path(&file), "--json"]);
    let told: Value = serde_json::from_str(&line(&mut out)).expect("JSON");
    let tnc = |nth: usize| told["stations"][nth]["kiss"].as_str().expect("an address").to_owned();
    let connect = |peer: &str, own: &str, tnc: &str, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["connect", peer, tnc, "--call", own, "--rate", "60000"]).args(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Running::start(&mut command)
    };
    let mut answers = connect("N0AAA", "N0BBB", &tnc(1), &["--answer"]);
    let mut other = connect("N0BBB", "N0CCC", &tnc(0), &[]);
    let mut rest = String::new();
    other.input().write_all(b"not for you").expect("it reads");
    other.output().read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "", "the link was ended at once");
    // By then the other end has seen that, too, and waits again.
    std::thread::sleep(Duration::from_millis(500));
    let mut awaited = connect("N0BBB", "N0AAA", &tnc(0), &[]);
    let mut input = awaited.input();
    input.write_all(b"for you").expect("it reads");
    let mut seven = [0; 7];
    answers.output().read_exact(&mut seven).expect("it is connected");
    assert_eq!(&seven, b"for you");
}

/// The commands of a block, without what is said of them.
fn lines(block: &str) -> Vec<&str> {
    block.lines().map(|line| line.split("  #").next().unwrap_or_default().trim()).collect()
}

/// A line of a shell, where the program is on the path.
fn shell(folder: &Scratch, line: &str) -> Command {
    let programs = Path::new(PROGRAM).parent().expect("a folder").display();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder.path());
    command.env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"));
    command
}

/// At a terminal, what is on the air is drawn while it happens; nothing of that stays.
#[test]
fn a_terminal_shows_the_air_while_it_is_used() {
    let folder = Scratch::new();
    let (columns, rows) = (100, 500);
    let line = format!("exec {PROGRAM} demo radio");
    let Some(mut terminal) = Terminal::start(folder.path(), &line, columns, rows) else {
        return eprintln!("script is not installed: not tried");
    };
    terminal.wait_for("\x1b[3A\x1b[J");
    terminal.wait_for("What to try next");
    let [high, wide] = [rows, columns].map(|size| NonZero::new(size).expect("it is not 0"));
    let mut screen = vt100::Parser::new(high, wide, 0);
    screen.process(&terminal.shown());
    assert_eq!(terminal.end(), Some(0));
    let said = screen.screen().contents();
    let lanes = said.lines().filter(|line| line.starts_with("  N0") && line.contains('·'));
    assert_eq!(lanes.count(), 3, "those of the last picture: {said}");
    assert!(said.contains("→ N0BBB  I N(S)=0") && said.contains("equal at both ends"), "{said}");
}
