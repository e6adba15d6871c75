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
