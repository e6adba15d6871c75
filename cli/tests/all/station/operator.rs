//! What an operator and programs are told of a station, and who finds a place at it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
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
fn kiss(source: &str, destination: &str, kind: Unnumbered, text: &[u8]) -> Vec<u8> {
    let [source, destination] =
        [source, destination].map(|call| call.parse().expect("a call sign"));
    let path = DigipeaterPath::DIRECT;
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
