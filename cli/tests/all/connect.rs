//! `stackwright connect`: a terminal on a link. The TNC, and the station behind it, are the test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use stackwright::ax25::header::{Addresses, DigipeaterPath, Role};
use stackwright::contract::CallSign;

const SABM: u8 = 0x2f;
const SABME: u8 = 0x6f;
const DISC: u8 = 0x43;
const DM: u8 = 0x0f;
const UA: u8 = 0x63;
/// P, or F.
const POLL: u8 = 0x10;

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_stackwright"))
        .arg("connect")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("our own program")
}

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = start(arguments).wait_with_output().expect("it ends");
    (output.status.code(), said(&output))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

/// A TNC, and a station that it hears.
struct Air {
    listener: TcpListener,
    stream: Option<TcpStream>,
    path: DigipeaterPath,
}

impl Air {
    fn new() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let line = format!("tcp://{}", listener.local_addr().expect("known"));
        (Air { listener, stream: None, path: DigipeaterPath::DIRECT }, line)
    }

    fn accept(&mut self) {
        let (stream, _) = self.listener.accept().expect("the program connects");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        self.stream = Some(stream);
    }

    /// Returns the control field of the next frame, and what is behind it.
    fn hear(&mut self) -> (u8, Vec<u8>) {
        let stream = self.stream.as_mut().expect("it is connected");
        loop {
            let (mut frame, mut octet) = (Vec::new(), [0]);
            loop {
                stream.read_exact(&mut octet).expect("a frame");
                match octet[0] {
                    0xc0 if frame.is_empty() => {}
                    0xc0 => break,
                    octet => frame.push(octet),
                }
            }
            if frame[0] != 0 {
                continue; // no data
            }
            let (addresses, length) = Addresses::decode(&frame[1..]).expect("addresses");
            assert_eq!(addresses.source, call("N0AAA"), "nobody else transmits");
            assert_eq!(addresses.destination, call("N0BBB-1"));
            self.path = addresses.path;
            return (frame[1 + length], frame[2 + length..].to_vec());
        }
    }

    fn say(&mut self, role: Role, rest: &[u8]) {
        self.say_together(&[(role, rest)]);
    }

    /// Says several frames in one piece.
    fn say_together(&mut self, frames: &[(Role, &[u8])]) {
        let framed = frames.iter().map(|(role, rest)| Self::framed(*role, rest));
        let octets = framed.collect::<Vec<_>>().concat();
        self.stream.as_mut().expect("it is connected").write_all(&octets).expect("sent");
    }

    fn framed(role: Role, rest: &[u8]) -> Vec<u8> {
        let (destination, source) = (call("N0AAA"), call("N0BBB-1"));
        let path = DigipeaterPath::DIRECT;
        let mut frame = [0xc0, 0].to_vec();
        let mut octets = [0; 14];
        Addresses { destination, source, role, path }.encode(&mut octets);
        frame.extend_from_slice(&octets);
        frame.extend_from_slice(rest);
        frame.push(0xc0);
        frame
    }

    /// Hears until this control field comes, and answers.
    fn answer(&mut self, to: u8, answer: u8) {
        while self.hear().0 != to {}
        self.say(Role::Response, &[answer | POLL]);
    }
}

/// What is typed arrives as it was; what is sent comes out as it is.
#[test]
fn octets_pass_both_ways() {
    let (mut air, line) = Air::new();
    let mut connect = start(&["n0bbb-1", &line, "--call", "N0AAA", "--version", "2.0"]);
    air.accept();
    air.answer(SABM | POLL, UA);
    let mut input = connect.stdin.take().expect("a pipe");
    input.write_all(b"to the station\n").expect("it reads");
    let (control, rest) = air.hear();
    assert_eq!(control & 1, 0, "an I frame");
    assert_eq!(rest, b"\xf0to the station\n");
    air.say(Role::Response, &[0x21 | control & POLL]); // RR, N(R)=1
    air.say(Role::Command, b"\x20\xf0from the station\r"); // I, N(R)=1
    while air.hear().0 & 0xef != 0x21 {} // RR, N(R)=1
    drop(input);
    air.answer(DISC | POLL, UA);
    let output = connect.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, b"from the station\r");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let said = said(&output);
    assert!(said.contains("connected to N0BBB-1") && said.contains("is closed"), "{said}");
}

/// Half a file is told from all of it.
#[test]
fn a_station_that_closes_before_all_was_sent() {
    let (mut air, line) = Air::new();
    let mut connect = start(&["n0bbb-1", &line, "--call", "N0AAA", "--version", "2.0"]);
    let mut input = connect.stdin.take().expect("a pipe");
    input.write_all(&[7; 30_000]).expect("it is read as it is typed");
    air.accept();
    while air.hear().0 != SABM | POLL {}
    air.say_together(&[(Role::Response, &[UA | POLL]), (Role::Command, &[DISC | POLL])]);
    let output = connect.wait_with_output().expect("it ends");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("before all of the input was sent"), "{said}");
}

/// A station that answers in a script, without any input, receives until the caller has finished.
#[test]
fn one_that_answers_without_input_receives_all() {
    let (mut air, line) = Air::new();
    let arguments = ["n0bbb-1", &line, "--call", "N0AAA", "--version", "2.0", "--answer"];
    let mut connect = start(&arguments);
    drop(connect.stdin.take());
    air.accept();
    std::thread::sleep(Duration::from_millis(500)); // it listens
    air.say(Role::Command, &[SABM | POLL]);
    assert_eq!(air.hear().0, UA | POLL);
    air.say(Role::Command, b"\x10\xf0all of it\n"); // I, N(S)=0, P=1
    assert_eq!(air.hear().0, 0x31, "RR, N(R)=1, and no DISC");
    air.say(Role::Command, &[DISC | POLL]);
    assert_eq!(air.hear().0, UA | POLL);
    let output = connect.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"all of it\n"[..]));
}

#[test]
fn a_station_that_refuses_is_told_from_one_that_is_silent() {
    let (mut air, line) = Air::new();
    let connect = start(&["N0BBB-1", &line, "--call", "N0AAA", "--via", "RELAY-1,RELAY-2"]);
    air.accept();
    while air.hear().0 != SABME | POLL {}
    let path: Vec<_> = air.path.iter().collect();
    assert_eq!(path, [(call("RELAY-1"), false), (call("RELAY-2"), false)]);
    air.say(Role::Response, &[DM | POLL]);
    air.answer(SABM | POLL, DM);
    let output = connect.wait_with_output().expect("it ends");
    let told = said(&output);
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("refused the link (DM)") && told.contains("another SSID"), "{told}");
}

/// The link outlives a TNC that is restarted: its peer is asked what has arrived.
#[test]
fn a_tnc_that_goes_and_returns_is_told() {
    let (mut air, line) = Air::new();
    let mut connect = start(&["N0BBB-1", &line, "--call", "N0AAA", "--version", "2.0"]);
    air.accept();
    air.answer(SABM | POLL, UA);
    air.stream = None;
    air.accept();
    connect.stdin.take().expect("a pipe").write_all(b"still here").expect("it reads");
    loop {
        let (control, rest) = air.hear();
        if control & 1 == 0 {
            assert_eq!(rest, b"\xf0still here");
            break;
        }
        if control == 0x01 | POLL {
            air.say(Role::Response, &[0x01 | POLL]); // RR: nothing has arrived
        }
    }
    air.say(Role::Response, &[0x31]); // RR, N(R)=1, F=1
    air.answer(DISC | POLL, UA);
    let output = connect.wait_with_output().expect("it ends");
    let told = said(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("is gone") && told.contains("is back"), "{told}");
}

/// Every refusal says what to write, and nothing was transmitted.
#[test]
fn nothing_is_transmitted_without_a_call_sign() {
    let (air, line) = Air::new();
    for (arguments, told) in [
        (&["N0BBB", &line][..], "--call MYCALL"),
        (&["N0BBB", &line, "--call", "N0CALL-1"], "write your own"),
        (&["N0BBB", &line, "--call", "nocall"], "write your own"),
        (&["N0BBB", &line, "--call", "RELAY"], "a letter and a digit"),
        (&["N0AAA", &line, "--call", "n0aaa"], "this station's own"),
        (&["N0 BBB", &line, "--call", "N0AAA"], "one to six letters"),
        (&["N0BBB", &line, "--call", "N0AAA", "--via", "TOO-LONG"], "one to six letters"),
        (&["N0BBB", "localhost:8001", "--call", "N0AAA"], "tcp://"),
    ] {
        let (code, said) = refused(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(told), "{arguments:?}: {said}");
    }
    air.listener.set_nonblocking(true).expect("a socket");
    assert!(air.listener.accept().is_err(), "the TNC was not even called");
}

#[test]
fn a_tnc_that_is_not_there_is_told() {
    let (air, line) = Air::new();
    drop(air);
    let (code, said) = refused(&["N0BBB", &line, "--call", "N0AAA"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("no TNC at") && said.contains("KISSPORT"), "{said}");
}
