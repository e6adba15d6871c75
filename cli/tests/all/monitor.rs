//! `stackwright monitor`: what a TNC hears, on the screen and in a capture.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stackwright_programs::processes::Running;

/// A UI frame to CQ from N0CALL-7, "Hi".
const UI: [u8; 18] = [
    0x86, 0xA2, 0x40, 0x40, 0x40, 0x40, 0xE0, 0x9C, 0x60, 0x86, 0x82, 0x98, 0x98, 0x6F, 0x03, 0xF0,
    0x48, 0x69,
];

fn start(arguments: &[&str]) -> (Running, BufReader<ChildStdout>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackwright"));
    command.arg("monitor").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(&mut command);
    let out = BufReader::new(running.output());
    (running, out)
}

fn framed(kind: u8, frame: &[u8]) -> Vec<u8> {
    let mut octets = vec![0xC0, kind];
    for octet in frame {
        match octet {
            0xC0 => octets.extend([0xDB, 0xDC]),
            0xDB => octets.extend([0xDB, 0xDD]),
            octet => octets.push(*octet),
        }
    }
    octets.push(0xC0);
    octets
}

fn line(out: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    line
}

fn json(out: &mut BufReader<ChildStdout>) -> Value {
    serde_json::from_str(&line(out)).expect("a line of JSON")
}

/// A TNC that is there from the start.
fn tnc() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("known"));
    (listener, line)
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().expect("the program connects").0
}

/// A frame through a digipeater, IPv4 in a frame on the second port; a TNC that goes and returns.
#[test]
fn frames_are_shown_and_written() {
    let (listener, address) = tnc();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("heard.pcapng");
    let (running, mut out) = start(&[&address, "--json", "-w", path(&file)]);
    let mut tnc = accept(&listener);
    tnc.write_all(&framed(0, &UI)).expect("sent");
    let first = json(&mut out);
    assert_eq!((&first["source"], &first["destination"]), (&"N0CALL-7".into(), &"CQ".into()));
    assert_eq!((&first["payload"]["text"], &first["direction"]), (&"Hi".into(), &"in".into()));
    assert_eq!((&first["number"], &first["remarks"]), (&1.into(), &Value::Array(vec![])));
    let mut repeated = UI.to_vec();
    repeated[13] &= !1;
    let digipeater = [0xA4, 0x8A, 0x98, 0x82, 0xB2, 0x40, 0xE3];
    repeated.splice(14..14, digipeater);
    // It also says what is no frame.
    tnc.write_all(&[framed(6, b"TXBUF:0"), framed(0x0C, b"\0\x01")].concat()).expect("sent");
    tnc.write_all(&framed(0, &repeated)).expect("sent");
    assert_eq!(json(&mut out)["destination"], "CQ,RELAY-1*");
    drop(tnc);
    let mut tnc = accept(&listener);
    let mut internet = UI[..16].to_vec();
    internet[15] = 0xCC;
    let header = [69, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 44, 0, 0, 1, 44, 0, 0, 2];
    internet.extend_from_slice(&header);
    internet.extend_from_slice(&[0, 7, 0, 9, 0, 8, 0, 0]);
    tnc.write_all(&framed(0x10, &internet)).expect("sent");
    let third = json(&mut out);
    assert_eq!(
        (&third["source"], &third["destination"]),
        (&"44.0.0.1:7".into(), &"44.0.0.2:9".into(),)
    );
    assert_eq!(third["comments"][0], "the TNC was gone before this frame");
    assert_eq!(third["headers"][0]["fields"]["port"], 1);
    // Killed at any time, its capture is whole.
    drop(running);
    let dissected = Command::new(env!("CARGO_BIN_EXE_stackwright"))
        .args(["dissect", "--json", path(&file)])
        .output()
        .expect("our own program");
    let dissected = String::from_utf8(dissected.stdout).expect("text");
    let packets: Vec<Value> =
        dissected.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(packets.len(), 3);
    assert_eq!(packets[2]["comments"], third["comments"]);
    for (there, said) in packets.iter().zip([&first]) {
        for key in ["time", "source", "destination", "headers", "payload", "length"] {
            assert_eq!(there[key], said[key], "{key}");
        }
    }
    tshark(&file);
}

/// tshark knows every frame.
fn tshark(file: &Path) {
    let Ok(output) = Command::new("tshark").args(["-n", "-r", path(file)]).output() else {
        return eprintln!("skipped: tshark is not installed");
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(said.matches("AX.25").count() >= 2 && said.contains("UDP"), "{said}");
    assert!(!said.contains("Malformed"), "{said}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a name of ours")
}

/// A link of 2.2, of which the opening was heard; one of which it was not is marked.
#[test]
fn a_link_of_2_2_has_its_numbers() {
    let (listener, address) = tnc();
    let (_running, mut out) = start(&[&address]);
    let mut tnc = accept(&listener);
    for (control, shown) in [
        (&[0x12, 0x07, 0xF0, b'A'][..], "I N(S)=1 N(R)=0 P/F modulo 8?"),
        (&[0x7F], "SABME P/F"),
        (&[0x73], "UA P/F"),
        (&[0x12, 0x07, 0xF0, b'A'], "I N(S)=9 N(R)=3 P/F"),
        (&[0x01, 0x15], "RR N(R)=10 P/F"),
        (&[0x53], "DISC P/F"),
        (&[0x12, 0x07, 0xF0, b'A'], "I N(S)=1 N(R)=0 P/F modulo 8?"),
    ] {
        tnc.write_all(&framed(0, &[&UI[..14], control].concat())).expect("sent");
        let mut said = line(&mut out);
        while !said.contains("N0CALL-7 → CQ") {
            said = line(&mut out);
        }
        let octets = 15 + control.len();
        assert!(said.ends_with(&format!("  {shown}  {octets} octets\n")), "{said}");
    }
}

/// A person sees who says what to whom.
#[test]
fn a_person_reads_it() {
    let (listener, address) = tnc();
    let (running, mut out) = start(&[&address]);
    let mut sabm = UI[..15].to_vec();
    sabm[14] = 0x3F;
    let sent = [framed(0, &UI), framed(0, &sabm), framed(0, b"\x1B[2J")].concat();
    // It stays: a program whose TNC is gone would come again, in the place of the next one.
    let mut tnc = accept(&listener);
    tnc.write_all(&sent).expect("sent");
    let said: Vec<String> = (0..6).map(|_| line(&mut out)).collect();
    let of_frame = |text: &str, rest: &str| text[23..] == *rest;
    assert!(of_frame(&said[0], "  N0CALL-7 → CQ  UI  19 octets\n"), "{said:?}");
    assert_eq!(said[1..3], ["  Payload, 2 octets\n", "    Hi\n"]);
    assert!(of_frame(&said[3], "  N0CALL-7 → CQ  SABM P/F  16 octets\n"), "{said:?}");
    // What could move the cursor is not printed.
    assert!(of_frame(&said[4], "  a frame that is not AX.25  5 octets\n"), "{said:?}");
    assert!(!said.concat().contains('\x1B'), "{said:?}");
    drop(running);
    let (_running, mut out) = start(&[&address, "--headers"]);
    let mut tnc = accept(&listener);
    tnc.write_all(&framed(0, &UI)).expect("sent");
    let said: String = (0..4).map(|_| line(&mut out)).collect();
    assert!(said.starts_with("1  ") && said.contains("\n  KissType\n    port "), "{said}");
}

/// A terminal for a TNC that is a program.
#[test]
fn a_program_may_be_the_tnc() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("tnc");
    let (running, mut out) = start(&[&format!("pty:{}", path(&link)), "--json"]);
    let begin = Instant::now();
    let mut terminal = loop {
        match std::fs::OpenOptions::new().read(true).write(true).open(&link) {
            Ok(terminal) => break terminal,
            Err(why) => assert!(begin.elapsed() < Duration::from_secs(30), "{why}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    // What greets a TNC comes when the terminal was found to be open.
    let mut greeting = [0; 3];
    terminal.read_exact(&mut greeting).expect("three ends");
    assert_eq!(greeting, [0xC0; 3]);
    terminal.write_all(&framed(0, &UI)).expect("sent");
    assert_eq!(json(&mut out)["payload"]["text"], "Hi");
    let interrupt = Command::new("kill").args(["-INT", &running.number().to_string()]).status();
    assert!(interrupt.expect("it runs").success());
    while link.is_symlink() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the link goes with the program");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_odd_line_is_refused_with_what_to_write() {
    let said = Command::new(env!("CARGO_BIN_EXE_stackwright"))
        .args(["monitor", "/dev/ttyUSB0"])
        .output()
        .expect("our own program");
    let complaint = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("serial:///dev/ttyUSB0"), "{complaint}");
}

/// What the kernel sends to a TUN device, in a namespace of the test's own; and what Wireshark
/// finds in it.
#[test]
fn packets_of_a_device_are_shown_and_written() {
    const SCRIPT: &str = "
        set -e
        \"$1\" monitor tun:sw0 --json -w $2/sent.pcapng > $2/shown & monitor=$!
        for turn in $(seq 100); do ip link show sw0 > $2/link 2>&1 && break; sleep 0.1; done
        ip addr add 10.77.0.1/24 dev sw0; ip link set sw0 up
        ip addr add fd77::1/64 dev sw0 nodad
        ping -c 2 -i 0.2 -W 1 10.77.0.2 > $2/ping || true
        ping -6 -c 1 -W 1 -s 3000 fd77::2 >> $2/ping || true
        exec 3<>/dev/udp/10.77.0.2/9 && echo hello >&3
        sleep 0.3
        kill -INT $monitor; wait $monitor";
    let missing = Command::new("unshare").args(["-Urn", "ping", "-V"]).output();
    if !missing.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: no user namespaces, or no ping(8)");
    }
    if let Err(why) = File::options().read(true).write(true).open("/dev/net/tun") {
        return eprintln!("skipped: /dev/net/tun: {why}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("unshare");
    command.args(["-Urn", "bash", "-c", SCRIPT, "bash", env!("CARGO_BIN_EXE_stackwright")]);
    let output = command.arg(folder.path()).output().expect("it runs");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    let shown = std::fs::read_to_string(folder.path().join("shown")).expect("text");
    let shown: Vec<Value> =
        shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let has = |header: &str| {
        let has = |packet: &&Value| packet.to_string().contains(&format!("\"{header}\""));
        shown.iter().filter(has).count()
    };
    // Two echo requests and a datagram; a long echo request in fragments.
    assert!(has("Ipv4") >= 3 && has("Udp") >= 1 && has("Ipv6") >= 3, "{shown:?}");
    let file = folder.path().join("sent.pcapng");
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-o", "udp.check_checksum:TRUE", "-V", "-r", path(&file)]);
    let Ok(told) = tshark.output() else { return eprintln!("skipped: tshark is not installed") };
    let told = String::from_utf8_lossy(&told.stdout);
    assert_eq!(told.matches("Encapsulation type: Raw IP").count(), shown.len(), "{told}");
    for odd in ["alformed", "ncorrect", "[Checksum Status: Bad]"] {
        assert!(!told.contains(odd), "{odd}: {told}");
    }
}
