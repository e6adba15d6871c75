//! What an operator and programs are told of a station, and who finds a place at it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use stackwright::agw::PROGRAMS_MOST;
use stackwright::ax25::header::{
    Addresses, ControlField, DigipeaterPath, Head, Modulus, Role, Unnumbered, pid,
};

use crate::station::agw::Program;
use crate::station::hub::hub;
use crate::station::{Station, text};

/// A frame in KISS: no octet of these has to be escaped.
pub(crate) fn kiss(source: &str, destination: &str, kind: Unnumbered, text: &[u8]) -> Vec<u8> {
    kiss_via(DigipeaterPath::DIRECT, source, destination, kind, text)
}

fn kiss_via(
    path: DigipeaterPath,
    source: &str,
    destination: &str,
    kind: Unnumbered,
    text: &[u8],
) -> Vec<u8> {
    let [source, destination] =
        [source, destination].map(|call| call.parse().expect("a call sign"));
    let addresses = Addresses { destination, source, role: Role::Command, path };
    let is_ui = kind == Unnumbered::Ui;
    let control = ControlField::unnumbered(kind, !is_ui);
    let head = Head::new(&addresses, control, Modulus::Eight, is_ui.then_some(pid::NONE));
    [&[0xc0, 0], head.as_octets(), text, &[0xc0]].concat()
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream
}

/// Reads until these octets have come.
fn wait_for(stream: &mut TcpStream, octets: &[u8]) {
    let mut came = Vec::new();
    while !came.ends_with(octets) {
        let mut octet = [0];
        stream.read_exact(&mut octet).expect("frames");
        came.push(octet[0]);
    }
}

/// One line, with the call sign, at the time of day; not one for each frame.
#[test]
fn refusals_are_told_once_with_whose_they_are() {
    let channel = hub();
    let station = Station::start(&text("N0AAA", channel), &[]);
    let mut heard = connect(channel);
    thread::sleep(Duration::from_millis(300)); // the hub knows it
    let mut programs = [connect(station.kiss), connect(station.kiss)];
    for _ in 0..100 {
        programs[0].write_all(&kiss("N0CCC", "CQ", Unnumbered::Ui, b"!")).expect("it reads");
    }
    let mut program = Program::connect(station.agw);
    program.ask(b'M', "N0AAA", "CQ", &[7; 300]);
    program.ask(b'M', "N0DDD", "CQ", b"foreign");
    program.ask(b'M', "N0AAA", "CQ", b"ours");
    wait_for(&mut heard, b"ours\xc0");
    programs[1].write_all(&kiss("N0AAA", "CQ", Unnumbered::Ui, b"last")).expect("it reads");
    wait_for(&mut heard, b"last\xc0");
    let said = station.stop();
    for words in [
        &["N0CCC to CQ", "no call sign of this station"][..],
        &["N0AAA", "300 octets, where a frame takes 256"],
        &["N0DDD", "no call sign of this station"],
    ] {
        let is_it = |line: &&str| words.iter().all(|word| line.contains(word));
        let lines: Vec<_> = said.lines().filter(is_it).collect();
        let [line] = lines[..] else { panic!("{words:?}: {said}") };
        let shape: String =
            line[..19].chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00 00:00:00", "{line}");
    }
    assert!(!said.contains("N0AAA to CQ: UI"), "what is transmitted is for -v: {said}");
}

/// What the station sends is shown with -v, and to programs that monitor, whoever sent it.
#[test]
fn what_a_station_sends_is_shown() {
    let channel = hub();
    let station = Station::start(&text("N0AAA", channel), &["-v"]);
    let mut heard = connect(channel);
    thread::sleep(Duration::from_millis(300)); // the hub knows it
    let mut watch = Program::connect(station.agw);
    watch.ask(b'm', "", "", b"");
    watch.ask(b'M', "N0AAA", "CQ", b"by AGW");
    let mut program = connect(station.kiss);
    wait_for(&mut heard, b"by AGW\xc0");
    program.write_all(&kiss("N0AAA-7", "CQ", Unnumbered::Ui, b"by KISS")).expect("it reads");
    for (call, sent) in [("N0AAA", "by AGW"), ("N0AAA-7", "by KISS")] {
        let told = watch.next();
        let text = String::from_utf8_lossy(&told.data).into_owned();
        assert_eq!((told.kind, &told.from[..]), ('T', call), "{text}");
        assert!(text.contains(sent), "{text}");
    }
    let said = station.stop();
    for line in ["N0AAA to CQ: UI, 22 octets", "N0AAA-7 to CQ: UI, 23 octets"] {
        assert!(said.contains(line), "{said}");
    }
}

/// A program that wants a serial device has the TNC at a terminal, and again when it comes back.
#[test]
fn kiss_is_at_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("tnc");
    let channel = hub();
    let text = text("N0AAA", channel);
    let text = text.replace("kiss = \"127.0.0.1:0\"", &format!("kiss = 'pty:{}'", link.display()));
    let station = Station::start(&text, &[]);
    let mut air = connect(channel);
    thread::sleep(Duration::from_millis(300)); // the hub knows it
    for nth in 0..2 {
        let mut terminal = std::fs::OpenOptions::new();
        let mut terminal = terminal.read(true).write(true).open(&link).expect("its link");
        // It is looked for, so what is heard first may be lost.
        thread::sleep(Duration::from_secs(1));
        let (sent, heard) = (format!("sent {nth}"), format!("heard {nth}"));
        let frame = kiss("N0AAA", "CQ", Unnumbered::Ui, sent.as_bytes());
        terminal.write_all(&frame).expect("it reads");
        wait_for(&mut air, sent.as_bytes());
        air.write_all(&kiss("N0BBB", "CQ", Unnumbered::Ui, heard.as_bytes())).expect("sent");
        let mut came = Vec::new();
        while !came.ends_with(heard.as_bytes()) {
            let mut octet = [0];
            terminal.read_exact(&mut octet).expect("a frame");
            came.push(octet[0]);
        }
        drop(terminal);
        thread::sleep(Duration::from_secs(1)); // it is gone
    }
    station.stop();
    assert!(link.symlink_metadata().is_err(), "the link goes with the station");
}

/// By one that listens at the TNC, and by the station that has listened all the time.
#[test]
fn stations_heard_are_listed() {
    let channel = hub();
    let station = Station::start(&text("N0AAA", channel), &[]);
    let heard = || {
        let mut heard = Command::new(env!("CARGO_BIN_EXE_stackwright"));
        heard.args(["heard", "--json"]).stdin(Stdio::null());
        heard
    };
    let mut listens = heard();
    listens.arg(format!("tcp://{channel}")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut listens = listens.spawn().expect("our own program");
    let mut air = connect(channel);
    thread::sleep(Duration::from_millis(300)); // the hub knows them
    let relays = ["RELAY-1", "WIDE2-1"].map(|call| call.parse().expect("a call sign"));
    let mut path = DigipeaterPath::through(&relays).expect("two");
    path.repeat();
    for frame in [
        kiss("N0CCC", "CQ", Unnumbered::Ui, b"one"),
        kiss("N0DDD", "CQ", Unnumbered::Ui, b"two"),
        kiss_via(path, "N0CCC", "CQ", Unnumbered::Ui, b"three"),
        kiss("N0EEE", "CQ", Unnumbered::Ui, b"four"),
    ] {
        air.write_all(&frame).expect("sent");
    }
    let mut news = BufReader::new(listens.stderr.take().expect("a pipe")).lines();
    assert!(news.any(|line| line.expect("text").ends_with("heard N0EEE")));
    let number = rustix::process::Pid::from_child(&listens);
    rustix::process::kill_process(number, rustix::process::Signal::INT).expect("it runs");
    let listened = listens.wait_with_output().expect("it ends");
    let asked = heard().arg("--agw").arg(station.agw.to_string()).output().expect("our own");
    for list in [listened, asked] {
        let lines = String::from_utf8(list.stdout).expect("text");
        let list: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let entry = |place: usize| (&list[place]["call"], &list[place]["frames"]);
        assert_eq!(entry(0), (&"N0EEE".into(), &1.into()), "{lines}");
        assert_eq!(entry(1), (&"N0CCC".into(), &2.into()), "{lines}");
        assert_eq!((&list[1]["via"], &list[1]["port"]), (&["RELAY-1"][..].into(), &0.into()));
        assert_eq!(list.len(), 3, "{lines}");
        assert!(
            list[1]["first"].as_str() <= list[1]["last"].as_str() && list[1]["last"].is_string()
        );
    }
    let nobody = heard().args(["--agw", "127.0.0.1:1"]).output().expect("our own");
    assert_eq!(nobody.status.code(), Some(3), "{nobody:?}");
}

#[test]
fn a_full_house_answers() {
    let station = Station::start(&text("N0AAA", hub()), &[]);
    let mut programs: Vec<_> = (0..PROGRAMS_MOST).map(|_| Program::connect(station.agw)).collect();
    for program in &mut programs {
        program.ask(b'R', "", "", b"");
        program.expect('R');
    }
    for _ in 0..50 {
        let mut late = connect(station.agw);
        let mut word = Vec::new();
        // It may be cut off when others came after it.
        let _ = late.read_to_end(&mut word);
        assert!(word.get(4) == Some(&b'd') && word.ends_with(b"16 programs\r\0"), "{word:?}");
    }
    let kiss: Vec<_> = (0..16).map(|_| connect(station.kiss)).collect();
    thread::sleep(Duration::from_millis(300));
    let mut word = Vec::new();
    assert_eq!(connect(station.kiss).read_to_end(&mut word).expect("it is closed"), 0);
    drop((programs, kiss));
    // They are gone soon, and then there are places.
    let is_served = |_| {
        thread::sleep(Duration::from_millis(50));
        let mut again = Program::connect(station.agw);
        again.ask(b'R', "", "", b"");
        again.next().kind == 'R'
    };
    assert!((0..100).any(is_served));
}

/// Sixty-four stations ask for a link and say nothing more; the next has its link at once.
#[test]
fn half_dead_links_keep_nobody_out() {
    let channel = hub();
    let station = Station::start(&text("N0AAA", channel), &[]);
    let mut program = Program::registered(station.agw, "N0AAA");
    let mut air = connect(channel);
    thread::sleep(Duration::from_millis(300)); // the hub knows it
    for nth in 0..80 {
        let caller = format!("N{}XX{}", nth % 10, char::from(b'A' + nth / 10));
        air.write_all(&kiss(&caller, "N0AAA", Unnumbered::Sabm, &[])).expect("sent");
        let told = program.next();
        let told = if told.kind == 'd' { program.next() } else { told };
        assert_eq!((told.kind, &told.from[..]), ('C', &caller[..]), "{told:?}");
    }
    program.ask(b'y', "", "", b"");
    program.expect('y');
}

#[test]
fn a_tnc_that_is_not_there_is_named_with_what_to_do() {
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = gone.local_addr().expect("known");
    drop(gone);
    let station = Station::start(&text("N0AAA", address), &[]);
    thread::sleep(Duration::from_millis(500));
    let said = station.stop();
    let line = format!("no TNC at tcp://{address}: nobody listens there; start the modem");
    assert!(said.contains(&line), "{said}");
}
