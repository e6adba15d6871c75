//! `jis serve` and `jis get`, as two processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use stackwright_programs::picture::Picture;
use stackwright_programs::processes::{Running, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::terminal::Terminal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");

/// A picture of 16 × 8 pixels, half black and half grey, with codes of one bit.
fn jpeg() -> Vec<u8> {
    let mut file = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
    file.extend([8; 64]);
    file.extend([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 16, 1, 1, 0x11, 0]);
    for (class, symbol) in [(0, 7), (0x10, 0)] {
        file.extend([0xff, 0xc4, 0, 20, class, 1]);
        file.extend([0; 15]);
        file.push(symbol);
    }
    file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
    // Two blocks, -127 and 0 of DC: a code, seven bits, the end of the block. Padded by ones.
    file.extend([0b0000_0000, 0b0011_1111, 0b1011_1111, 0xff, 0xd9]);
    file
}

/// What came of a command.
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

fn said(command: &mut Command) -> Said {
    let outcome = run(command);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    Said {
        code: outcome.status.code().expect("it ended by itself"),
        stdout: text(&outcome.output),
        stderr: text(&outcome.complaints),
    }
}

/// Starts a server on a loopback address, and returns it with its address.
fn serve(folder: &Path, loopback: &str) -> (Running, String) {
    let mut command = Command::new(PROGRAM);
    let listen = format!("{loopback}:0");
    command.args(["jis", "serve", ".", "--listen", &listen]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut running = Running::start(&mut command);
    let mut line = String::new();
    BufReader::new(running.output()).read_line(&mut line).expect("text");
    let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
    assert!(address.starts_with(&format!("jis://{loopback}:")), "{line}");
    (running, address)
}

#[test]
fn a_picture_is_fetched_as_file_as_png_and_into_the_terminal() {
    let scratch = Scratch::new();
    let (served, here) = (scratch.path().join("served"), scratch.path().join("here"));
    fs::create_dir(&served).expect("a folder of ours");
    fs::create_dir(&here).expect("a folder of ours");
    fs::write(served.join("two tones.jpg"), jpeg()).expect("a folder of ours");
    fs::write(served.join("notes.txt"), "no picture").expect("a folder of ours");
    let (_server, address) = serve(&served, "127.0.0.1");
    let get = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        said(command.args(["jis", "get"]).args(arguments).current_dir(&here))
    };

    let url = format!("{address}two%20tones.jpg");
    let done = get(&[&url]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("octet for octet"), "{}", done.stdout);
    assert_eq!(fs::read(here.join("two tones.jpg")).expect("it arrived"), jpeg());
    // What is there is not overwritten.
    let refused = get(&[&url]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);

    let host = address.trim_start_matches("jis://").trim_end_matches('/');
    let shown = get(&[host, "two tones.jpg", "--png", "two.png", "--show"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("\x1b[38;2;1;1;1m"), "black: {}", shown.stdout);
    assert!(shown.stdout.contains("\x1b[48;2;128;128;128m▀"), "grey: {}", shown.stdout);
    let png = fs::read(here.join("two.png")).expect("it was written");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x08"));

    let missing = get(&[&format!("{address}other.jpg")]);
    assert_eq!(missing.code, 1);
    let text = "no picture of this name; there are two tones.jpg";
    assert!(missing.stderr.contains(text), "{}", missing.stderr);
    let outside = get(&[host, "../here/two tones.jpg", "-o", "x"]);
    assert!(outside.stderr.contains("no picture of this name"), "{}", outside.stderr);
    let unsuitable = get(&[host, "notes.txt"]);
    assert!(unsuitable.stderr.contains("it is not a JPEG"), "{}", unsuitable.stderr);
    let wrong = get(&["ftp://127.0.0.1/x.jpg"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("write jis://"), "{}", wrong.stderr);
}

/// A picture of hundreds of packets, over IPv4 and IPv6, whose packets are shorter.
#[test]
fn a_long_picture_is_fetched_over_both_versions_of_ip() {
    let file = Picture { columns: 80, rows: 50, coefficients: 50 }.file(1);
    let scratch = Scratch::new();
    fs::write(scratch.path().join("long.jpg"), &file).expect("a folder of ours");
    for loopback in ["127.0.0.1", "[::1]"] {
        let (_server, address) = serve(scratch.path(), loopback);
        let url = format!("{address}long.jpg");
        let mut command = Command::new(PROGRAM);
        command.args(["jis", "get", &url, "-o", "-"]);
        let outcome = run(&mut command);
        assert!(outcome.status.success(), "{loopback}");
        assert!(outcome.output == file, "{loopback}: {} octets", outcome.output.len());
        let png = scratch.path().join(format!("{}.png", loopback.len()));
        let mut command = Command::new(PROGRAM);
        command.args(["jis", "get", &url, "--png"]).arg(&png);
        assert!(run(&mut command).status.success(), "{loopback}");
        assert!(fs::read(&png).expect("it was written").len() > 100_000);
    }
}

/// The limit of a file's size stands for a disk that is full.
#[test]
fn a_file_that_cannot_be_written_whole_leaves_the_one_before() {
    let file = Picture { columns: 80, rows: 50, coefficients: 50 }.file(1);
    let scratch = Scratch::new();
    fs::write(scratch.join("a.jpg"), &file).expect("a folder of ours");
    fs::create_dir(scratch.join("here")).expect("a folder of ours");
    let before = "the one before";
    fs::write(scratch.join("here/b.jpg"), before).expect("a folder of ours");
    let (_server, address) = serve(scratch.path(), "127.0.0.1");
    let get = format!("{PROGRAM} jis get {address}a.jpg -o b.jpg --force");
    let limited = format!("trap '' XFSZ; ulimit -f 8; {get}");
    let mut command = Command::new("sh");
    let refused = said(command.args(["-c", &limited]).current_dir(scratch.join("here")));
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("b.jpg"), "{}", refused.stderr);
    assert_eq!(fs::read(scratch.join("here/b.jpg")).expect("it is there"), before.as_bytes());
    assert_eq!(fs::read_dir(scratch.join("here")).expect("a folder").count(), 1, "nothing else");
    let mut command = Command::new("sh");
    assert_eq!(said(command.args(["-c", &get]).current_dir(scratch.join("here"))).code, 0);
    assert!(fs::read(scratch.join("here/b.jpg")).expect("it is there") == file);
}

/// What a log has, line by line.
fn lines(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).expect("it was written");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_log_has_each_piece_when_it_arrived_and_the_end() {
    let file = Picture { columns: 80, rows: 50, coefficients: 50 }.file(1);
    let scratch = Scratch::new();
    fs::write(scratch.path().join("a.jpg"), &file).expect("a folder of ours");
    let (_server, address) = serve(scratch.path(), "127.0.0.1");
    let log = scratch.path().join("a.log");
    let get = |name: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["jis", "get", &format!("{address}{name}"), "-o", "copy.jpg", "--log"]);
        said(command.arg(&log).current_dir(scratch.path()))
    };
    assert_eq!(get("a.jpg").code, 0);
    let noted = lines(&log);
    let time = |line: &Value| line["time"].as_f64().expect("seconds");
    assert!(time(&noted[0]) >= 0.0 && noted.is_sorted_by_key(time), "{noted:?}");
    let what = |what: &str| noted.iter().filter(|line| line["what"] == what).collect::<Vec<_>>();
    assert_eq!(noted[0]["what"], "opened");
    assert_eq!(noted.last().expect("lines")["what"], "done");
    let mut kinds = what("table").into_iter().map(|line| &line["kind"]).collect::<Vec<_>>();
    kinds.sort_by_key(|kind| kind.as_str());
    assert_eq!(kinds, ["huffman", "quantisation"]);
    let end = what("end");
    assert_eq!(end.len(), 1);
    assert_eq!(end[0]["length"], file.len());
    // Each unit of the picture is in one piece.
    let mut there = vec![0; 80 * 50];
    for body in what("body") {
        for piece in body["units"].as_array().expect("pieces") {
            let [scan, first, count] = [0, 1, 2].map(|nth| piece[nth].as_u64().expect("a number"));
            assert_eq!(scan, 0);
            there[first as usize..][..count as usize].iter_mut().for_each(|there| *there += 1);
        }
    }
    assert!(there.iter().all(|times| *times == 1), "{there:?}");

    // A log is a file like others; a refusal is an end, too.
    let kept = fs::read(&log).expect("it is there");
    let refused = get("a.jpg");
    assert!(refused.code == 1 && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert!(fs::read(&log).expect("it is there") == kept);
    fs::remove_file(&log).expect("it is there");
    fs::remove_file(scratch.path().join("copy.jpg")).expect("it is there");
    assert_eq!(get("b.jpg").code, 1);
    let whats: Vec<_> = lines(&log).into_iter().map(|line| line["what"].clone()).collect();
    assert_eq!(whats, ["opened", "denied"]);
}

#[test]
fn a_replay_tells_when_units_were_there_and_how_good_the_picture_was() {
    let scratch = Scratch::new();
    let picture = Picture { columns: 80, rows: 50, coefficients: 50 };
    fs::write(scratch.path().join("a.jpg"), picture.file(1)).expect("a folder of ours");
    fs::write(scratch.path().join("b.jpg"), picture.file(2)).expect("a folder of ours");
    let (_server, address) = serve(scratch.path(), "127.0.0.1");
    let jis = |arguments: &[&str]| {
        let mut command = Command::new(PROGRAM);
        said(command.arg("jis").args(arguments).current_dir(scratch.path()))
    };
    let url = format!("{address}a.jpg");
    assert_eq!(jis(&["get", &url, "--png", "a.png", "--log", "a.log"]).code, 0);

    let replayed = jis(&["replay", "a.log", "a.jpg", "--json"]);
    let told: Value = serde_json::from_str(&replayed.stdout).expect("JSON");
    assert_eq!(told["units"], 80 * 50);
    let shares = &told["shares"];
    let times = [&told["first"], &shares["50"], &shares["90"], &shares["100"]];
    let times = times.map(|time| time.as_f64().expect("it arrived"));
    assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");
    let instants = told["instants"].as_array().expect("instants");
    assert_eq!(instants.len(), 20);
    let (last, before) = instants.split_last().expect("instants");
    assert_eq!((&last["exact"], &last["psnr"]), (&Value::Bool(true), &Value::Null));
    assert_eq!((&last["time"], &last["units"]), (&shares["100"], &told["units"]));
    // Some, near the end, may be exact as well.
    let psnr = before.iter().map(|instant| instant["psnr"].as_f64().unwrap_or(f64::INFINITY));
    assert!(psnr.is_sorted(), "{instants:?}");

    let shown = jis(&["replay", "a.log", "a.jpg"]).stdout;
    for words in ["640 × 400 pixels, 4000 units", "first units", "90 %", "exact", "▇"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let other = jis(&["replay", "a.log", "b.jpg"]);
    assert!(other.code == 1 && other.stderr.contains("another picture"), "{}", other.stderr);
    let none = jis(&["replay", "a.jpg", "a.jpg"]);
    assert!(none.code == 1 && none.stderr.contains("line 1"), "{}", none.stderr);
}

/// Fetches a picture at a terminal; `None` if there can be none.
fn at_terminal(scratch: &Scratch, address: &str) -> Option<Terminal> {
    let line = format!("exec {PROGRAM} jis get {address}a.jpg --show");
    let terminal = Terminal::start(scratch.path(), &line, 80, 24);
    if terminal.is_none() {
        eprintln!("script is not installed: not tried");
    }
    terminal
}

#[test]
fn pixels_are_shown_where_the_terminal_says_so_and_blocks_where_it_does_not_answer() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("a.jpg"), jpeg()).expect("a folder of ours");
    let (_server, address) = serve(scratch.path(), "127.0.0.1");
    // What is asked is the graphics protocol's query, then the attributes of the device.
    let query = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c";
    for (answer, shown) in [
        ("\x1b_Gi=31;OK\x1b\\\x1b[?62;22c", "\x1b_Ga=T,f=100,i="),
        ("\x1b[?62;22c", "\x1b[38;2;1;1;1m"),
        ("", "\x1b[38;2;1;1;1m"),
    ] {
        let Some(mut terminal) = at_terminal(&scratch, &address) else { return };
        terminal.wait_for(query);
        terminal.press(answer);
        terminal.wait_for(shown);
        terminal.wait_for("octet for octet");
        let all = String::from_utf8_lossy(&terminal.shown()).into_owned();
        assert_eq!(all.contains("▀"), !shown.contains("_G"), "{all:?}");
        // An answer is not echoed.
        assert!(answer.is_empty() || !all.contains("?62"), "{all:?}");
        assert_eq!(terminal.end(), Some(0));
    }
}

#[test]
fn a_picture_for_a_pipe_is_of_blocks_and_nothing_is_asked() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("a.jpg"), jpeg()).expect("a folder of ours");
    let (_server, address) = serve(scratch.path(), "127.0.0.1");
    let mut command = Command::new(PROGRAM);
    let shown = said(command.args(["jis", "get", &format!("{address}a.jpg"), "--show"]));
    assert!(shown.code == 0 && shown.stdout.contains("▀"), "{}", shown.stderr);
    assert!(!shown.stdout.contains("\x1b_G") && !shown.stdout.contains("\x1b[c"));
}
