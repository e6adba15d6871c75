//! Direwolf: our links against its own, through its modems, and both beside each other.
//!
//! The trials `speed` and `noise` take minutes, and a machine that does nothing else:
//!
//! ```sh
//! cargo test -p stackwright-tests --test radio -- direwolf/speed --ignored --nocapture
//! cargo test -p stackwright-tests --test radio -- direwolf/noise --ignored --nocapture
//! ```

use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use stackwright::ax25::header::Modulus;
use stackwright::ax25::{Config, LinkVersion};
use stackwright::contract::services::Ended;

use crate::agw::Agw;
use crate::air::is_as_in_the_model;
use crate::rig::Rig;
use crate::station::{Station, Tnc};
use crate::trial;

/// What is echoed: at 9600 bit/s, twenty seconds each way.
const ECHOED: usize = 16 << 10;
/// What is sent in segments.
const SEGMENTED: usize = 5000;
/// What is measured.
const MEASURED: usize = 10 << 10;
const TIMES: usize = 3;
/// Two frames of three in 256 octets have a wrong bit.
const NOISE: &str = "2.5e-3";
const UNDER_NOISE: usize = 2048;

pub(crate) fn trials() -> Vec<Trial> {
    let modulus = |version| if version == LinkVersion::V20 { "modulo-8" } else { "modulo-128" };
    let versions = [LinkVersion::V20, LinkVersion::Auto];
    let calls = versions.map(|version| {
        let name = format!("direwolf/is-called/{}", modulus(version));
        trial(&name, "direwolf", move || is_called(version))
    });
    // It calls with version 2.2 first.
    let answers = trial("direwolf/calls", "direwolf", calls_us);
    let segments = trial("direwolf/sends-segments", "direwolf", sends_segments);
    let speed = [(1200, 0.97), (9600, 0.93)].map(|(baud, least)| {
        let name = format!("direwolf/speed/{baud}");
        trial(&name, "direwolf", move || speed(baud, least)).with_ignored_flag(true)
    });
    let noise = trial("direwolf/noise", "direwolf", noise).with_ignored_flag(true);
    let air = trial("direwolf/air", "direwolf", is_as_in_the_model).with_ignored_flag(true);
    calls.into_iter().chain([answers, segments]).chain(speed).chain([noise, air]).collect()
}

fn content(octets: usize) -> Vec<u8> {
    (0..octets).map(|place| (place * 31 % 251) as u8).collect()
}

/// How long it takes from a frame to the next key-up: the modems wait 10 ms and key up for 200 ms.
fn of_the_rig(config: Config) -> Config {
    Config { access: Duration::from_millis(210), ..config }
}

fn station(rig: &Rig, modem: usize, own: &str, version: LinkVersion, baud: u32) -> Station<Tnc> {
    let mut station = Station::at(own, version, baud, rig.kiss(modem), of_the_rig);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        station.turn(); // it has connected to the modem
    }
    station
}

/// Direwolf echoes what we send.
fn is_called(version: LinkVersion) {
    let rig = Rig::new(9600);
    let mut echo = Agw::new(rig.agw(1), "N0BBB-1");
    let echo = thread::spawn(move || {
        let mut octets = 0;
        while let Some(event) = Some(echo.event()).filter(|_| octets < ECHOED) {
            let Some(event) = event.filter(|event| event.kind == b'D') else { continue };
            octets += event.data.len();
            echo.send(&event.from, &event.data);
        }
        echo.wait(b'd', Duration::from_secs(120));
    });
    let mut station = station(&rig, 0, "N0AAA", version, 9600);
    station.open("N0BBB-1");
    station.until("it accepts", |station| station.told.opened);
    let eight = version == LinkVersion::V20;
    let expected = if eight { Modulus::Eight } else { Modulus::Extended };
    assert_eq!(station.modulus(), Some(expected));
    let (content, mut sent) = (content(ECHOED), 0);
    station.until("it echoes", |station| {
        sent += station.send(&content[sent..]);
        station.told.octets.len() >= ECHOED
    });
    assert!(station.told.octets == content, "the same octets");
    station.finish();
    station.until("it is released", |station| station.told.ended.is_some());
    assert_eq!(station.told.ended, Some(Ended::Finished));
    echo.join().expect("it heard of the end");
}

/// Direwolf calls, and we echo what it sends.
fn calls_us() {
    let rig = Rig::new(9600);
    let mut station = station(&rig, 0, "N0AAA", LinkVersion::Auto, 9600);
    station.listen("N0AAA");
    let mut caller = Agw::new(rig.agw(1), "N0BBB-1");
    let caller = thread::spawn(move || {
        caller.call("N0AAA");
        caller.send("N0AAA", &content(ECHOED));
        let mut octets = Vec::new();
        while octets.len() < ECHOED {
            octets.extend(caller.wait(b'D', Duration::from_secs(120)).data);
        }
        caller.release("N0AAA");
        octets
    });
    station.until("it calls", |station| station.told.opened);
    assert_eq!(station.modulus(), Some(Modulus::Extended));
    let mut sent = 0;
    station.until("it releases", |station| {
        let octets = station.told.octets.split_off(0);
        sent += station.send(&octets[sent..]);
        station.told.octets = octets;
        station.told.ended.is_some()
    });
    assert!(caller.join().expect("it got its echo") == content(ECHOED), "the same octets");
}

/// Direwolf cuts what its programs send in parts of more than a frame into segments.
fn sends_segments() {
    let rig = Rig::new(9600);
    let mut station = station(&rig, 0, "N0AAA", LinkVersion::Auto, 9600);
    station.listen("N0AAA");
    let mut caller = Agw::new(rig.agw(1), "N0BBB-1");
    let caller = thread::spawn(move || {
        caller.call("N0AAA");
        caller.send_in("N0AAA", &content(SEGMENTED), 1000);
        caller
    });
    station.until("all comes", |station| station.told.octets.len() >= SEGMENTED);
    assert!(station.told.octets == content(SEGMENTED), "the same octets");
    assert_eq!(station.told.ended, None);
    caller.join().expect("it called").release("N0AAA");
    station.until("it releases", |station| station.told.ended.is_some());
    assert_eq!(station.told.ended, Some(Ended::Finished));
}

/// Our links beside Direwolf's own, by turns, through the same modems. The stations stay: what the
/// first link learned of frame lengths, the others know.
fn speed(baud: u32, least: f64) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let rig = Rig::new(baud);
    let mut ends = Ends::new(&rig, baud);
    for _ in 0..TIMES {
        theirs.push(by_direwolf(&rig));
        ours.push(ends.transfer(&rig, MEASURED));
        let (theirs, ours) = (theirs[theirs.len() - 1], ours[ours.len() - 1]);
        eprintln!("{baud} bit/s: Direwolf {theirs:.1?}, ours {ours:.1?}");
    }
    ours.sort();
    theirs.sort();
    let [ours, theirs] = [ours, theirs].map(|times| times[TIMES / 2].as_secs_f64());
    let share = |seconds: f64| MEASURED as f64 * 8.0 / seconds / f64::from(baud);
    let ratio = theirs / ours;
    eprintln!(
        "{baud} bit/s: ours / Direwolf {ratio:.3} (of the channel {:.3} and {:.3})",
        share(ours),
        share(theirs)
    );
    assert!(ratio >= least, "at least {least}");
}

fn by_direwolf(rig: &Rig) -> Duration {
    let mut callee = Agw::new(rig.agw(1), "N0BBB-2");
    let mut caller = Agw::new(rig.agw(0), "N0AAA-2");
    caller.call("N0BBB-2");
    let begin = Instant::now();
    caller.send("N0BBB-2", &content(MEASURED));
    let mut octets = Vec::new();
    while octets.len() < MEASURED {
        octets.extend(callee.wait(b'D', Duration::from_secs(120)).data);
    }
    let took = begin.elapsed();
    assert!(octets == content(MEASURED), "the same octets");
    caller.release("N0BBB-2");
    callee.wait(b'd', Duration::from_secs(60));
    took
}

/// Two stations of ours.
struct Ends {
    caller: Station<Tnc>,
    callee: Station<Tnc>,
}

impl Ends {
    fn new(rig: &Rig, baud: u32) -> Self {
        let mut callee = station(rig, 1, "N0BBB", LinkVersion::Auto, baud);
        callee.listen("N0BBB");
        Ends { caller: station(rig, 0, "N0AAA", LinkVersion::Auto, baud), callee }
    }

    /// Moves `octets` octets over a link of their own; returns how long that takes from when the
    /// link is open.
    fn transfer(&mut self, rig: &Rig, octets: usize) -> Duration {
        let Ends { caller, callee } = self;
        caller.open("N0BBB");
        caller.until("it accepts", |caller| {
            callee.turn();
            caller.told.opened
        });
        let (content, mut sent, begin) = (content(octets), 0, Instant::now());
        let mut last = begin;
        while callee.told.octets.len() < octets {
            sent += caller.send(&content[sent..]);
            let before = callee.told.octets.len();
            caller.turn();
            callee.turn();
            if callee.told.octets.len() > before {
                last = Instant::now();
            }
            assert!(last.elapsed() < Duration::from_secs(300), "nothing moves\n{}", rig.logs());
        }
        let took = begin.elapsed();
        assert!(callee.told.octets == content, "the same octets");
        caller.finish();
        caller.until("it is released", |caller| {
            callee.turn();
            caller.told.ended.is_some() && callee.told.ended.is_some()
        });
        (caller.told, callee.told) = Default::default();
        callee.wait_for_the_next();
        took
    }
}

/// Bits are wrong on the way: Direwolf's 256 octets never come through, ours become shorter.
fn noise() {
    for time in 1..=TIMES {
        let rig = Rig::with(1200, &["-e", NOISE]);
        let took = Ends::new(&rig, 1200).transfer(&rig, UNDER_NOISE);
        eprintln!("{time} of {TIMES}: {UNDER_NOISE} octets in {took:.1?}");
        assert!(took < Duration::from_secs(300), "{took:?}");
    }
}
