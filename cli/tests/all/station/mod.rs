//! `stackwright station`: two stations on a channel without a modem, and their programs.

mod agw;
mod messages;
mod operator;
mod programs;
// A channel that all hear, at once.
#[path = "../../../../tests/tests/radio/hub.rs"]
mod hub;

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use agw::Program;
use hub::hub;

fn command(folder: &TempDir, text: &str, options: &[&str]) -> Command {
    let file = folder.path().join("station.toml");
    std::fs::write(&file, text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackwright"));
    command.arg("station").arg(file).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A station that runs.
struct Station {
    child: Child,
    out: BufReader<ChildStdout>,
    /// What it has said until it listened.
    begin: String,
    agw: SocketAddr,
    kiss: SocketAddr,
    _folder: TempDir,
}

fn text(call: &str, line: SocketAddr) -> String {
    text_at(call, &format!("tcp://{line}"))
}

fn text_at(call: &str, line: &str) -> String {
    format!(
        "call = \"{call}\"\naliases = [\"{call}-7\"]\n\
         [tnc.test]\nline = \"{line}\"\nrate = 200_000\n\
         kiss = {{ txdelay = \"10 ms\", persistence = 1.0, slot = \"10 ms\" }}\n\
         [serve]\nagw = \"127.0.0.1:0\"\nkiss = \"127.0.0.1:0\"\n"
    )
}

impl Station {
    fn start(text: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = command(&folder, text, options).spawn().expect("our own program");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut begin = String::new();
        let mut address = |what: &str| {
            let mut line = String::new();
            while !line.starts_with(what) {
                begin.push_str(&line);
                line.clear();
                assert_ne!(out.read_line(&mut line).expect("text"), 0, "it says where {what} is");
            }
            line.rsplit(' ').next().and_then(|there| there.trim().parse().ok()).expect("an address")
        };
        let agw = address("AGW");
        let kiss = if text.contains("kiss = 'pty:") { agw } else { address("KISS") };
        Station { child, out, begin, agw, kiss, _folder: folder }
    }

    /// Ends it as a person does, and returns all that it said.
    fn stop(mut self) -> String {
        let number = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(number, rustix::process::Signal::INT).expect("it runs");
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("text");
        let mut errors = String::new();
        let stderr = self.child.stderr.take();
        stderr.expect("a pipe").read_to_string(&mut errors).expect("text");
        assert!(self.child.wait().expect("it ends").success(), "{errors}");
        format!("{}{said}{errors}", self.begin)
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn content(seed: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed.into());
    (0..16 << 10).map(|_| random.u8(..)).collect()
}

#[test]
fn programs_of_two_stations_exchange_16_kib() {
    let channel = hub();
    let [one, other] = ["N0AAA", "N0BBB"].map(|call| Station::start(&text(call, channel), &[]));
    let mut caller = Program::registered(one.agw, "N0AAA");
    let mut called = Program::registered(other.agw, "N0BBB-7");
    caller.ask(b'C', "N0AAA", "N0BBB-7", b"");
    assert_eq!(caller.expect('C'), b"*** CONNECTED With Station N0BBB-7\r\0");
    assert_eq!(called.expect('C'), b"*** CONNECTED To Station N0AAA\r\0");
    let senders = [
        (caller.another(), "N0AAA", "N0BBB-7", content(1)),
        (called.another(), "N0BBB-7", "N0AAA", content(2)),
    ];
    let threads = senders.map(|(mut program, from, to, content)| {
        thread::spawn(move || {
            content.chunks(500).for_each(|data| program.ask(b'D', from, to, data));
        })
    });
    let reader = thread::spawn(move || {
        let data = called.data(16 << 10);
        (called, data)
    });
    assert!(caller.data(16 << 10) == content(2), "what the called station sent");
    let (mut called, data) = reader.join().expect("no panic");
    assert!(data == content(1), "what the caller sent");
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    caller.ask(b'd', "N0AAA", "N0BBB-7", b"");
    assert_eq!(caller.expect('d'), b"*** DISCONNECTED From Station N0BBB-7\r\0");
    assert_eq!(called.expect('d'), b"*** DISCONNECTED From Station N0AAA\r\0");
    let said = one.stop();
    assert!(
        said.contains("Transmitted") && said.contains("N0AAA is connected to N0BBB-7"),
        "{said}"
    );
}

/// Two stations without any TNC: frames are in UDP. Neither has to be there first.
#[test]
fn stations_over_axudp_exchange_16_kib() {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let [one, other] = sockets.map(|socket| socket.local_addr().expect("it is bound").port());
    let line = |to, local| format!("axudp://127.0.0.1:{to}?local={local}");
    let text_at = |call, line: &str| {
        let text = text_at(call, line);
        text.lines()
            .filter(|line| !line.starts_with("kiss = {"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let early = Station::start(&text_at("N0AAA", &line(other, one)), &[]);
    let mut caller = Program::registered(early.agw, "N0AAA");
    caller.ask(b'C', "N0AAA", "N0BBB", b"");
    thread::sleep(Duration::from_millis(500)); // nobody is there yet
    let late = Station::start(&text_at("N0BBB", &line(one, other)), &[]);
    let mut called = Program::registered(late.agw, "N0BBB");
    assert_eq!(caller.expect('C'), b"*** CONNECTED With Station N0BBB\r\0");
    assert_eq!(called.expect('C'), b"*** CONNECTED To Station N0AAA\r\0");
    let mut sender = caller.another();
    let sends = thread::spawn(move || {
        content(1).chunks(500).for_each(|data| sender.ask(b'D', "N0AAA", "N0BBB", data));
    });
    assert!(called.data(16 << 10) == content(1), "what the caller sent");
    sends.join().expect("no panic");
    let said = early.stop();
    assert!(said.contains(&format!("TNC test at {}", line(other, one))), "{said}");
}

/// Links, frames and calls stay on the port of their TNC.
#[test]
fn a_station_with_two_tncs() {
    let channels = [hub(), hub()];
    let second = format!(
        "[tnc.second]\nline = \"tcp://{}\"\nrate = 100_000\n\
         kiss = {{ txdelay = \"10 ms\", persistence = 1.0, slot = \"10 ms\" }}\n[serve]",
        channels[1]
    );
    let text_of_both = text("N0AAA", channels[0]).replace("[serve]", &second);
    let both = Station::start(&text_of_both, &[]);
    // The same call sign on both channels: that is two stations.
    let others = channels.map(|channel| Station::start(&text("N0BBB", channel), &[]));
    let mut called = [0, 1].map(|port: usize| Program::registered(others[port].agw, "N0BBB"));
    let mut program = Program::registered(both.agw, "N0AAA");
    program.ask(b'G', "", "", b"");
    assert_eq!(program.expect('G'), b"2;Port1 test;Port2 second;\0");
    let ends = ["N0AAA", "N0BBB"];
    for port in [1, 0] {
        program.ask_on(port, b'C', ends, b"");
        let frame = program.next();
        assert_eq!((frame.port, frame.kind), (port, 'C'));
        assert_eq!(called[usize::from(port)].next().kind, 'C');
    }
    for port in [0, 1] {
        program.ask_on(port, b'D', ends, &[port; 300]);
        assert_eq!(called[usize::from(port)].data(300), [port; 300]);
        called[usize::from(port)].ask(b'D', "N0BBB", "N0AAA", &[port; 10]);
        let frame = program.next();
        assert_eq!((frame.port, frame.kind, frame.data), (port, 'D', vec![port; 10]));
    }
    program.ask_on(1, b'd', ends, b"");
    let frame = program.next();
    assert_eq!((frame.port, frame.kind), (1, 'd'));
    called[1].expect('d');
    // The other one still is. And a call comes in at its port.
    program.ask_on(0, b'D', ends, b"still");
    assert_eq!(called[0].data(5), b"still");
    called[1].ask(b'C', "N0BBB", "N0AAA", b"");
    let frame = program.next();
    assert_eq!((frame.port, frame.kind, &frame.data[..16]), (1, 'C', &b"*** CONNECTED To"[..]));
    // UI goes out at the port that the program says.
    let mut heard = channels.map(|channel| TcpStream::connect(channel).expect("the hub listens"));
    thread::sleep(Duration::from_millis(300)); // the hubs know them
    program.ask_on(1, b'M', ["N0AAA", "CQ"], b"at the second");
    let mut octets = Vec::new();
    while !octets.ends_with(b"at the second\xc0") {
        let mut octet = [0];
        heard[1].read_exact(&mut octet).expect("frames");
        octets.push(octet[0]);
    }
    heard[0].set_nonblocking(true).expect("a socket");
    let mut octets = [0; 4096];
    let length = heard[0].read(&mut octets).unwrap_or(0);
    let is_there = octets[..length].windows(6).any(|window| window == b"second");
    assert!(!is_there, "nothing of it at the first");
    let said = both.stop();
    assert!(said.contains("Ports of programs: test is 0, second is 1"), "{said}");
}

/// What is sent at a TNC that is not there is lost, and the other one goes on; it is told when it
/// comes and goes.
#[test]
fn one_of_two_tncs_comes_and_goes() {
    let channel = hub();
    let second = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = second.local_addr().expect("known");
    drop(second);
    let table = format!("[tnc.second]\nline = \"tcp://{address}\"\n[serve]");
    let both = Station::start(&text("N0AAA", channel).replace("[serve]", &table), &[]);
    let other = Station::start(&text("N0BBB", channel), &[]);
    let mut called = Program::registered(other.agw, "N0BBB");
    let mut program = Program::registered(both.agw, "N0AAA");
    let ends = ["N0AAA", "N0BBB"];
    program.ask_on(0, b'C', ends, b"");
    program.expect('C');
    called.expect('C');
    let mut talk = |program: &mut Program, data: &[u8]| {
        // A call that waits for its TNC is in the way of nothing.
        program.ask_on(1, b'C', ends, b"");
        program.ask_on(0, b'D', ends, data);
        assert_eq!(called.data(data.len()), data);
    };
    talk(&mut program, b"one is there");
    let second = std::net::TcpListener::bind(address).expect("nobody else took it");
    let (stream, _) = second.accept().expect("it is tried again");
    talk(&mut program, b"both are there");
    drop((stream, second));
    talk(&mut program, b"one is gone");
    // The call that waits is given up: at once, when it is asked again.
    (0..2).for_each(|_| program.ask_on(1, b'd', ends, b""));
    thread::sleep(Duration::from_millis(200)); // it has noticed
    let said = both.stop();
    let at = |what: &str| said.find(what).unwrap_or_else(|| panic!("{what}: {said}"));
    assert!(at("second is there") < at("second is gone"), "{said}");
}

/// What amateur radio does not allow is not transmitted, unless the file says so.
#[test]
fn what_begins_encryption_is_not_transmitted() {
    let hello = [22, 3, 1, 1, 0x2e, 1, 0, 1, 0x2a, 3, 3, 0xd5];
    for (rules, passes) in [("", false), ("[rules]\nencryption = \"allowed-here\"\n", true)] {
        let channel = hub();
        let station = Station::start(&(text("N0AAA", channel) + rules), &[]);
        let mut heard = TcpStream::connect(channel).expect("the hub listens");
        heard.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        thread::sleep(Duration::from_millis(300)); // the hub knows it
        let mut program = Program::registered(station.agw, "N0AAA");
        program.ask(b'M', "N0AAA", "CQ", &hello);
        program.ask(b'M', "N0AAA", "CQ", b"readable");
        let mut octets = Vec::new();
        while !octets.ends_with(b"readable\xc0") {
            let mut octet = [0];
            heard.read_exact(&mut octet).expect("frames");
            octets.push(octet[0]);
        }
        assert_eq!(octets.windows(hello.len()).any(|window| window == hello), passes);
        let said = station.stop();
        assert_eq!(said.contains("not transmitted: a frame that begins TLS"), !passes, "{said}");
        assert_eq!(said.contains("It transmits what is encrypted, too"), passes, "{said}");
    }
}

/// A program is killed in mid-transfer: the peer is told, and the next program has its calls.
#[test]
fn calls_of_a_killed_program_are_free() {
    let channel = hub();
    let [one, other] = ["N0AAA", "N0BBB"].map(|call| Station::start(&text(call, channel), &[]));
    let mut called = Program::registered(other.agw, "N0BBB");
    let mut caller = Program::registered(one.agw, "N0AAA");
    caller.ask(b'C', "N0AAA", "N0BBB", b"");
    caller.expect('C');
    called.expect('C');
    caller.ask(b'D', "N0AAA", "N0BBB", &content(1));
    drop(caller);
    let mut next = loop {
        let mut next = Program::connect(one.agw);
        next.ask(b'X', "N0AAA", "", b"");
        if next.expect('X') == [1] {
            break next;
        }
        thread::sleep(Duration::from_millis(20));
    };
    while called.next().kind != 'd' {}
    next.ask(b'C', "N0AAA", "N0BBB", b"");
    next.expect('C');
    called.expect('C');
    next.ask(b'D', "N0AAA", "N0BBB", b"again");
    assert_eq!(called.data(5), b"again");
}

/// It ends its links: the other station is told.
#[test]
fn a_station_that_stops_releases_its_links() {
    let channel = hub();
    let [one, other] = ["N0AAA", "N0BBB"].map(|call| Station::start(&text(call, channel), &[]));
    let mut called = Program::registered(other.agw, "N0BBB");
    let mut caller = Program::registered(one.agw, "N0AAA");
    caller.ask(b'C', "N0AAA", "N0BBB", b"");
    caller.expect('C');
    called.expect('C');
    one.stop();
    called.expect('d');
}

/// A call through `connect`, to a program at a station.
#[test]
fn connect_calls_a_program_of_a_station() {
    let channel = hub();
    let station = Station::start(&text("N0BBB", channel), &[]);
    let mut called = Program::registered(station.agw, "N0BBB");
    let mut connect = Command::new(env!("CARGO_BIN_EXE_stackwright"))
        .args(["connect", "N0BBB", &format!("tcp://{channel}"), "--call", "N0AAA"])
        .args(["--rate", "200000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("our own program");
    called.expect('C');
    called.ask(b'D', "N0BBB", "N0AAA", b"welcome\r");
    called.ask(b'd', "N0BBB", "N0AAA", b"");
    let mut shown = Vec::new();
    connect.stdout.take().expect("a pipe").read_to_end(&mut shown).expect("it ends");
    assert_eq!(shown, b"welcome\r");
    assert!(connect.wait().expect("it ends").success());
}

/// The TNC hears only frames with a call sign of the station, whatever a program sends.
#[test]
fn a_program_transmits_only_with_the_stations_call_sign() {
    use std::io::Write as _;
    let channel = hub();
    let station = Station::start(&text("N0AAA", channel), &[]);
    let mut heard = TcpStream::connect(channel).expect("the hub listens");
    heard.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    thread::sleep(Duration::from_millis(300)); // the hub knows it
    let mut program = TcpStream::connect(station.kiss).expect("the station listens");
    // UI to CQ, from N0CCC and from N0AAA.
    let frame = |source: &[u8; 6], text: &[u8]| {
        let shifted: Vec<u8> = source.iter().map(|octet| octet << 1).collect();
        [
            &[0xc0, 0, 0x86, 0xa2, 0x40, 0x40, 0x40, 0x40, 0xe0],
            &shifted[..],
            &[0x61, 3, 0xf0],
            text,
            &[0xc0],
        ]
        .concat()
    };
    program.write_all(&frame(b"N0CCC ", b"not ours")).expect("it reads");
    let own = frame(b"N0AAA ", b"ours");
    program.write_all(&own).expect("it reads");
    // The TNC is told its parameters first.
    let mut octets = vec![0; 0];
    while !octets.ends_with(&own[1..]) {
        let mut octet = [0];
        heard.read_exact(&mut octet).expect("frames");
        octets.push(octet[0]);
    }
    let foreign = b"not ours";
    assert!(!octets.windows(foreign.len()).any(|window| window == foreign));
}

#[test]
fn a_dry_run_transmits_nothing_and_tells_what_it_would() {
    let channel = hub();
    let station = Station::start(&text("N0AAA", channel), &["--dry-run"]);
    let mut heard = TcpStream::connect(channel).expect("the hub listens");
    heard.set_read_timeout(Some(Duration::from_secs(2))).expect("a socket");
    let mut program = Program::registered(station.agw, "N0AAA");
    program.ask(b'M', "N0AAA", "CQ", b"to all");
    thread::sleep(Duration::from_millis(500));
    let said = station.stop();
    assert!(said.contains("not transmitted: N0AAA to CQ, 22 octets"), "{said}");
    assert!(said.contains("It only receives") && said.contains("Transmitted 0 frames"), "{said}");
    let mut octets = [0; 100];
    let length = heard.read(&mut octets).unwrap_or(0);
    let data = octets[..length].windows(2).any(|window| window == [0xc0, 0]);
    assert!(!data, "{:?}", &octets[..length]);
}

#[test]
fn a_file_is_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let channel = SocketAddr::from(([127, 0, 0, 1], 8001));
    let good = text("N0AAA", channel);
    let output = command(&folder, &good, &["--check"]).output().expect("our own program");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("Nothing is wrong"), "{said}");
    for (text, told) in [
        (good.replace("\"N0AAA\"", "\"N0CALL\""), "station.toml:1:8: `call`: it stands for"),
        (good.replace("rate =", "speed ="), "station.toml:5:1: there is no `speed`"),
        (good.replace("tcp://", ""), "write tcp:// before"),
    ] {
        // Without --check, too, before anything is opened.
        for options in [&["--check"][..], &[]] {
            let output = command(&folder, &text, options).output().expect("our own program");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(told) && said.contains(" | "), "{said}");
        }
    }
}

#[test]
fn an_address_in_use_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("known").to_string();
    for what in ["agw", "kiss"] {
        let text = text("N0AAA", "127.0.0.1:1".parse().expect("an address"));
        let text =
            text.replace(&format!("{what} = \"127.0.0.1:0\""), &format!("{what} = \"{address}\""));
        let output = command(&folder, &text, &[]).output().expect("our own program");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("cannot listen at {address}")), "{said}");
    }
}
