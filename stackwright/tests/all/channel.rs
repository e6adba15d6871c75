//! A channel without radios, and programs that speak KISS with its stations.
#![cfg(feature = "channel")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use stackwright::channel::{ChannelDescription, OnAir, RadioChannel};

const SPEED: u32 = 50;
/// 1200 bit/s, and stations that send as soon as nobody else does.
const QUICK: &str = "rate = '1200 b/s'\nspeed = 50\nkey-up = '300 ms'\npersistence = 1\n\
                     slot = '10 ms'\ntail = '50 ms'\n";

fn start(head: &str, stations: usize) -> RadioChannel {
    let station = |nth| format!("[[station]]\nname = 'N{nth}'\nkiss = '127.0.0.1:0'\n");
    let text: String = (0..stations).map(station).collect();
    let description = ChannelDescription::read(&format!("{head}{text}")).expect("a channel");
    RadioChannel::start(&description).expect("it listens")
}

/// A program at the TNC of a station.
struct Program(TcpStream);

impl Program {
    fn new(channel: &RadioChannel, station: usize) -> Self {
        let stream = TcpStream::connect(channel.tnc(station).expect("a TNC")).expect("it listens");
        stream.set_nodelay(true).expect("TCP");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("TCP");
        Program(stream)
    }

    fn say(&mut self, line: &[u8]) {
        self.0.write_all(line).expect("the TNC reads");
    }

    /// Reads exactly this.
    fn hears(&mut self, line: &[u8]) {
        let mut octets = vec![0; line.len()];
        self.0.read_exact(&mut octets).expect("the TNC says it");
        assert_eq!(octets, line);
    }
}

/// Waits until `count` frames have left: the last time that is on the air by the channel's clock.
fn leave(channel: &RadioChannel, count: usize) -> Vec<(u64, String)> {
    let (begin, mut told) = (Instant::now(), Vec::new());
    while told.iter().filter(|(_, what)| what == "leaves").count() < count {
        assert!(begin.elapsed() < Duration::from_secs(30), "{told:?}");
        for activity in channel.live().activities() {
            let what = match activity.what {
                OnAir::Begins(frame) => {
                    format!("begins {}", frame.octets().expect("whole").len())
                }
                OnAir::Leaves => "leaves".into(),
                OnAir::KeysUp => "keys up".into(),
                other => format!("{other:?}"),
            };
            told.push((activity.time.nanoseconds() / 1_000_000, what));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    told
}

fn between(told: &[(u64, String)], from: &str, to: &str) -> u64 {
    let at = |what: &str| {
        let mut found = told.iter().filter(|(_, told)| told.starts_with(what));
        found.next().unwrap_or_else(|| panic!("{what}: {told:?}")).0
    };
    at(to) - at(from)
}

#[test]
fn frames_go_from_station_to_station_in_the_time_of_their_bits() {
    let channel = start(QUICK, 3);
    let mut programs = [0, 1, 2].map(|station| Program::new(&channel, station));
    // Zeros have nothing to be stuffed: 148 octets and the check are 1200 bits, and two flags.
    let frame = [0; 148];
    let line = [&[0xC0, 0][..], &frame, &[0xC0]].concat();
    // Another program at the same TNC does not hear it.
    let mut other = Program::new(&channel, 0);
    let begin = Instant::now();
    programs[0].say(&line);
    programs[1].hears(&line);
    programs[2].hears(&line);
    assert!(begin.elapsed() >= Duration::from_millis(1300) / SPEED, "{:?}", begin.elapsed());
    let told = leave(&channel, 1);
    assert_eq!(between(&told, "keys up", "begins 148"), 300);
    let stuffed = between(&told, "begins 148", "leaves") - (1200 + 16) * 1000 / 1200;
    assert!(stuffed <= 2, "at most in the check: {stuffed} ms");
    programs[1].say(b"\xC0\x00back\xC0");
    for program in [&mut programs[0], &mut other] {
        program.hears(b"\xC0\x00back\xC0");
    }
    assert_eq!(channel.live().counts().delivered, 4);
}

#[test]
fn who_numbers_a_frame_is_told_when_it_has_left_the_antenna() {
    let channel = start(QUICK, 2);
    let mut program = Program::new(&channel, 0);
    program.say(b"\xC0\x06TXBUF:\xC0");
    program.hears(b"\xC0\x06TXBUF:0\xC0");
    let (begin, frame) = (Instant::now(), [0; 148]);
    for id in [1, 2] {
        program.say(&[&[0xC0, 0x0C, 0, id][..], &frame, &[0xC0]].concat());
    }
    program.say(b"\xC0\x06TXBUF:\xC0");
    program.hears(b"\xC0\x06TXBUF:296\xC0");
    program.hears(&[0xC0, 0x0C, 0, 1, 0xC0]);
    assert!(begin.elapsed() >= Duration::from_millis(1300) / SPEED, "{:?}", begin.elapsed());
    program.hears(&[0xC0, 0x0C, 0, 2, 0xC0]);
    assert!(begin.elapsed() >= Duration::from_millis(2300) / SPEED, "{:?}", begin.elapsed());
    program.say(b"\xC0\x06TXBUF:\xC0");
    program.hears(b"\xC0\x06TXBUF:0\xC0");
}

#[test]
fn a_program_sets_how_its_station_accesses_the_channel() {
    let channel = start(QUICK, 2);
    let mut program = Program::new(&channel, 0);
    // TXDELAY 1 s, p 1/2, slot 0, TXtail 0, full duplex; then a frame, and what comes before it is
    // read before it.
    program
        .say(b"\xC0\x01\x64\xC0\xC0\x02\x7F\xC0\xC0\x03\x00\xC0\xC0\x04\x00\xC0\xC0\x05\x01\xC0");
    program.say(b"\xC0\x06TXBUF:\xC0");
    program.hears(b"\xC0\x06TXBUF:0\xC0");
    let begin = Instant::now();
    let access = loop {
        let access = channel.live().access(0);
        if access.full_duplex || begin.elapsed() > Duration::from_secs(10) {
            break access;
        }
    };
    assert_eq!((access.key_up.as_millis(), access.tail.as_millis()), (1000, 0));
    assert_eq!((access.persistence, access.full_duplex), (0.5, true));
    assert_eq!(access.slot.as_millis(), 10, "a slot of nothing is ignored");
    assert_eq!(channel.live().access(1).key_up.as_millis(), 300, "it is that of one station");
    program.say(b"\xC0\x00A\xC0");
    let told = leave(&channel, 1);
    assert_eq!(between(&told, "keys up", "begins 1"), 1000);
}

/// What waits in a station is bounded; the program is not read on, and nothing is lost.
#[test]
fn a_program_that_floods_waits_for_the_air() {
    let channel = start(&format!("queue = 4\n{}", QUICK.replace("1200", "1200000")), 2);
    let (mut flood, mut far) = (Program::new(&channel, 0), Program::new(&channel, 1));
    let frame = |nth: u32| {
        let content = [0xC0, 0].into_iter().chain(nth.to_be_bytes().map(|octet| octet & 0x7F));
        content.chain([7; 200]).chain([0xC0]).collect::<Vec<u8>>()
    };
    let sender = std::thread::spawn(move || {
        (0..100).for_each(|nth| flood.say(&frame(nth)));
        flood
    });
    (0..100).for_each(|nth| far.hears(&frame(nth)));
    drop(sender.join().expect("no panic"));
    let counts = channel.live().counts();
    assert_eq!((counts.sent, counts.dropped_at_tail, counts.too_long), (100, 0, 0));
}

#[test]
fn who_does_not_hear_a_station_gets_nothing_of_it() {
    let head = QUICK.replace("rate", "seed = 3\nrate");
    let text = format!(
        "{head}[[station]]\nname = 'A'\nkiss = '127.0.0.1:0'\n\
         [[station]]\nname = 'B'\nkiss = '127.0.0.1:0'\n\
         [[station]]\nname = 'C'\nkiss = '127.0.0.1:0'\nhears = ['B']\n[[station]]\nname = 'D'\n"
    );
    let description = ChannelDescription::read(&text).expect("a channel");
    let channel = RadioChannel::start(&description).expect("it listens");
    assert_eq!(channel.tnc(3), None, "nobody is there");
    let [mut one, mut two, mut three] = [0, 1, 2].map(|station| Program::new(&channel, station));
    one.say(b"\xC0\x00of A\xC0");
    two.hears(b"\xC0\x00of A\xC0");
    two.say(b"\xC0\x00of B\xC0");
    three.hears(b"\xC0\x00of B\xC0");
}

#[test]
fn an_address_that_is_taken_is_said() {
    let first = start(QUICK, 2);
    let taken = first.tnc(0).expect("a TNC");
    let text = format!(
        "{QUICK}[[station]]\nname = 'A'\nkiss = '127.0.0.1:0'\n\
         [[station]]\nname = 'B'\nkiss = '{taken}'\n"
    );
    let description = ChannelDescription::read(&text).expect("a channel");
    let refused = RadioChannel::start(&description).err().expect("it is taken").to_string();
    assert!(refused.contains(&taken.to_string()), "{refused}");
}
