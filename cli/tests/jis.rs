//! `jis serve` and `jis get`, as two processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use stackwright_programs::picture::Picture;
use stackwright_programs::processes::{Running, run};
use stackwright_programs::scratch::Scratch;

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
    assert!(missing.stderr.contains("no picture of this name"), "{}", missing.stderr);
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
