//! Raw frames, and those that are monitored.

use stackwright_agw::HELD_MOST;
use stackwright_contract::Duration;

use crate::rig::{At, Rig};

const SECOND: Duration = Duration::from_secs(1);

/// A UI frame from N0AAA-7 to CQ.
const OWN: &[u8] = b"\x86\xa2\x40\x40\x40\x40\xe0\x9c\x60\x82\x82\x82\x40\x6f\x03\xf0raw";

fn toggles(rig: &mut Rig, at: At, kinds: &[u8]) {
    kinds.iter().for_each(|kind| rig.ask(at, *kind, "", "", b""));
}

#[test]
fn k_turns_raw_frames_on_and_off() {
    let mut rig = Rig::new();
    let [one, other] = [rig.registered(0, "N0AAA"), rig.connect(1)];
    rig.ask(one, b'M', "N0AAA", "CQ", b"before");
    toggles(&mut rig, other, b"k");
    rig.ask(one, b'M', "N0AAA", "CQ", b"heard");
    let frame = b"\0\x86\xa2\x40\x40\x40\x40\xe0\x9c\x60\x82\x82\x82\x40\x61\x03\xf0heard";
    assert_eq!(rig.told(other), [('K', "N0AAA".into(), "CQ".into(), frame.to_vec())]);
    toggles(&mut rig, other, b"k");
    rig.ask(one, b'M', "N0AAA", "CQ", b"behind");
    assert_eq!(rig.told(other), []);
    toggles(&mut rig, other, b"k");
    rig.ask(one, b'M', "N0AAA", "CQ", b"again");
    assert_eq!(rig.told(other).len(), 1);
}

#[test]
fn m_turns_monitoring_on_and_off() {
    let mut rig = Rig::new();
    let [one, other] = [rig.connect(0), rig.connect(1)];
    toggles(&mut rig, one, b"m");
    toggles(&mut rig, other, b"m");
    rig.pass(3661 * SECOND);
    rig.ask(other, b'M', "N0BBB", "CQ", b"hello");
    let text = b" 1:Fm N0BBB To CQ <UI pid=F0 Len=5 >[01:01:01]\rhello\r\r\0".to_vec();
    let told = |kind| vec![(kind, "N0BBB".to_string(), "CQ".to_string(), text.clone())];
    assert_eq!(rig.told(one), told('U'));
    assert_eq!(rig.told(other), told('T'), "its own");
    toggles(&mut rig, one, b"m");
    rig.ask(other, b'M', "N0BBB", "CQ", b"hello");
    assert_eq!(rig.told(one), []);
}

/// A link of others: SABM and its like are S, and octets are I.
#[test]
fn a_link_is_monitored() {
    let mut rig = Rig::new();
    let watch = rig.connect(1);
    toggles(&mut rig, watch, b"m");
    let [one, other] = rig.linked();
    rig.ask(one, b'D', "N0AAA", "N0BBB", b"octets");
    rig.ask(one, b'd', "N0AAA", "N0BBB", b"");
    rig.pass(5 * SECOND);
    assert_eq!(rig.heard(other).1, b"octets");
    let told = rig.told(watch);
    let kinds: String = told.iter().map(|(kind, ..)| *kind).collect();
    assert!(kinds.starts_with('S') && kinds.contains('I') && kinds.ends_with('S'), "{kinds}");
    assert!(!kinds.contains(['U', 'K', 'D', 'C']), "{kinds}");
    let data = told.iter().find(|(kind, ..)| *kind == 'I').expect("it was sent");
    assert_eq!((&data.1[..], &data.2[..]), ("N0AAA", "N0BBB"));
}

/// A link of 2.2: numbers of seven bits, of others and of this station, of which both halves are
/// shown; also to a program that began to monitor when the link was open.
#[test]
fn both_halves_of_a_link_are_monitored_with_their_numbers() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    let watches = [rig.connect(0), rig.connect(1)];
    watches.iter().for_each(|watch| toggles(&mut rig, *watch, b"m"));
    for nth in 0..20 {
        rig.ask(one, b'D', "N0AAA", "N0BBB", &[b'a' + nth; 10]);
        rig.pass(5 * SECOND);
        rig.ask(other, b'D', "N0BBB", "N0AAA", &[b'a' + nth; 10]);
        rig.pass(5 * SECOND);
    }
    for watch in watches {
        let told = rig.told(watch);
        let lines = |from: &str, kind: char| -> Vec<String> {
            let is_it = |told: &&crate::rig::Frame| (told.0, &told.1[..]) == (kind, from);
            told.iter()
                .filter(is_it)
                .map(|(.., data)| String::from_utf8_lossy(data).into_owned())
                .collect()
        };
        for from in ["N0AAA", "N0BBB"] {
            let sent = lines(from, 'I');
            assert_eq!(sent.len(), 20, "{watch:?}: {sent:?}");
            for (nth, line) in sent.iter().enumerate() {
                assert!(line.contains(&format!(" S{nth} pid=F0 Len=10 >")), "{line}");
            }
            assert!(lines(from, 'S').iter().any(|line| line.contains("<RR")), "{watch:?}");
        }
    }
}

/// A link of others whose opening was not heard is shown with a mark, until a frame tells.
#[test]
fn what_a_frame_does_not_tell_is_marked() {
    let mut rig = Rig::new();
    let watch = rig.connect(0);
    toggles(&mut rig, watch, b"m");
    let head = b"\x9c\x60\x88\x88\x88\x40\xe0\x9c\x60\x86\x86\x86\x40\x61";
    for (behind, shown) in [
        (&b"\x12\x07\xf0text"[..], "<I P R0 S1 pid=07 Len=5 modulo 8? >"),
        (b"\x01\x14", "<RR R10 >"),
        (b"\x12\x07\xf0text", "<I P R3 S9 pid=F0 Len=4 >"),
        (b"\x53", "<DISC P >"),
        (b"\x12\x07\xf0text", "<I P R0 S1 pid=07 Len=5 modulo 8? >"),
        (b"\x3f", "<SABM P >"),
        (b"\x74\xf0text", "<I P R3 S2 pid=F0 Len=4 >"),
    ] {
        rig.hears(0, &[&head[..], behind].concat());
        let told = rig.told(watch);
        let [(.., data)] = &told[..] else { panic!("{told:?}") };
        let text = String::from_utf8_lossy(data);
        assert!(text.contains(shown), "{text} is {shown}");
    }
}

/// A program that registered nothing sends, and the one that has the call sign alone may use it.
#[test]
fn a_raw_frame_is_sent_as_it_is() {
    let mut rig = Rig::new();
    let one = rig.connect(0);
    let raw = |frame: &[u8]| [&[0], frame].concat();
    rig.ask(one, b'K', "N0AAA-7", "CQ", &raw(OWN));
    rig.pass(SECOND);
    assert_eq!(rig.stations[0].sent, [OWN]);
    let other = rig.registered(0, "N0AAA-7");
    for frame in [&b""[..], b"\0", &raw(&OWN[..13]), &raw(OWN), &raw(&[OWN, &[0; 500]].concat())] {
        rig.ask(one, b'K', "N0AAA-7", "CQ", frame);
        rig.pass(SECOND);
        assert_eq!(rig.stations[0].sent.len(), 1, "{frame:x?}");
    }
    rig.ask(other, b'K', "N0AAA-7", "CQ", &raw(OWN));
    rig.pass(SECOND);
    assert_eq!(rig.stations[0].sent, [OWN, OWN]);
    assert_eq!(rig.stations[0].agw.held(), 0);
}

/// It misses frames, and nobody waits for it.
#[test]
fn a_program_that_monitors_and_does_not_read() {
    let mut rig = Rig::new();
    let [one, stuck, reads] = [rig.connect(0), rig.connect(1), rig.connect(1)];
    toggles(&mut rig, stuck, b"km");
    toggles(&mut rig, reads, b"k");
    rig.set_reads(stuck, false);
    for _ in 0..2000 {
        rig.ask(one, b'M', "N0AAA", "CQ", &[7; 200]);
        rig.pass(SECOND);
        assert_eq!(rig.told(reads).len(), 1);
    }
    assert!(rig.stations[1].agw.held() < HELD_MOST / 4 && !rig.is_ended(stuck));
    rig.set_reads(stuck, true);
    let missed = 4000 - rig.told(stuck).len();
    assert!(missed > 3000, "{missed}");
    // With its end, nothing is heard for it any more.
    rig.kill(stuck);
    rig.kill(reads);
    rig.ask(one, b'M', "N0AAA", "CQ", b"for nobody");
    rig.pass(SECOND);
    assert_eq!(rig.stations[1].agw.held(), 0);
}
