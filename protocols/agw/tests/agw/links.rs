//! Links of programs.

use stackwright_contract::Duration;

use crate::rig::{Rig, frame};

const SECOND: Duration = Duration::from_secs(1);

fn content(octets: usize, seed: usize) -> Vec<u8> {
    (0..octets).map(|place| (place * 31 + seed) as u8).collect()
}

/// The texts are those of Direwolf, with the zero octet behind them: programs look for them.
#[test]
fn both_ends_are_told_of_a_link() {
    let mut rig = Rig::new();
    let [one, other] = [rig.registered(0, "N0AAA"), rig.registered(1, "N0BBB-7")];
    rig.ask(one, b'C', "N0AAA", "N0BBB-7", b"");
    rig.pass(SECOND);
    let [here, there] = ["N0AAA", "N0BBB-7"].map(String::from);
    let with = b"*** CONNECTED With Station N0BBB-7\r\0".to_vec();
    assert_eq!(rig.told(one), [('C', there.clone(), here.clone(), with)]);
    let to = b"*** CONNECTED To Station N0AAA\r\0".to_vec();
    assert_eq!(rig.told(other), [('C', here.clone(), there.clone(), to)]);
    rig.ask(one, b'D', "N0AAA", "N0BBB-7", b"hello\r");
    rig.pass(SECOND);
    assert_eq!(rig.told(other), [('D', here.clone(), there.clone(), b"hello\r".to_vec())]);
    rig.ask(other, b'd', "N0BBB-7", "N0AAA", b"");
    rig.pass(SECOND);
    let from = b"*** DISCONNECTED From Station N0BBB-7\r\0".to_vec();
    assert_eq!(rig.told(one), [('d', there.clone(), here.clone(), from)]);
    let from = b"*** DISCONNECTED From Station N0AAA\r\0".to_vec();
    assert_eq!(rig.told(other), [('d', here, there, from)]);
    assert_eq!((rig.stations[0].agw.links(), rig.stations[1].agw.links()), (0, 0));
}

#[test]
fn octets_pass_both_ways_in_order() {
    let mut rig = Rig::new();
    let ends = rig.linked();
    let calls = [["N0AAA", "N0BBB"], ["N0BBB", "N0AAA"]];
    let content = [content(100_000, 1), content(100_000, 2)];
    let (mut said, mut heard) = ([0, 0], [Vec::new(), Vec::new()]);
    let framed = [0, 1].map(|end| {
        let [from, to] = calls[end];
        let frames = content[end].chunks(700).map(|data| frame(b'D', from, to, data));
        frames.collect::<Vec<_>>().concat()
    });
    for _ in 0..10_000 {
        for end in [0, 1] {
            said[end] += rig.say(ends[end], &framed[end][said[end]..]);
            let (kinds, data) = rig.heard(ends[end]);
            assert_eq!(kinds, "");
            heard[1 - end].extend(data);
        }
        rig.pass(Duration::from_millis(50));
    }
    assert!(heard == content, "{} and {} octets", heard[0].len(), heard[1].len());
    assert_eq!((rig.stations[0].agw.held(), rig.stations[1].agw.held()), (0, 0));
}

/// Programs pace themselves by what is outstanding.
#[test]
fn frames_are_outstanding_until_the_peer_has_them() {
    let mut rig = Rig::new();
    let [one, _] = rig.linked();
    rig.is_clear = false;
    for _ in 0..3 {
        rig.ask(one, b'D', "N0AAA", "N0BBB", &[7; 200]);
    }
    let outstanding = |rig: &mut Rig, kind: u8| {
        rig.ask(one, kind, "N0AAA", "N0BBB", b"");
        let told = rig.told(one);
        let [(answer, _, _, data)] = &told[..] else { panic!("{told:?}") };
        assert_eq!(*answer, char::from(kind));
        u32::from_le_bytes(data[..].try_into().expect("four octets"))
    };
    assert_eq!((outstanding(&mut rig, b'Y'), outstanding(&mut rig, b'y')), (3, 3));
    rig.is_clear = true;
    rig.pass(10 * SECOND);
    assert_eq!((outstanding(&mut rig, b'Y'), outstanding(&mut rig, b'y')), (0, 0));
}

/// Pat sends no more until it has seen a frame outstanding: here its peer had it at once.
#[test]
fn a_frame_is_seen_outstanding_on_the_fastest_channel() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    rig.ask(one, b'D', "N0AAA", "N0BBB", b"at once");
    rig.pass(SECOND);
    assert_eq!(rig.heard(other).1, b"at once");
    let told = [(); 2].map(|()| {
        rig.ask(one, b'Y', "N0AAA", "N0BBB", b"");
        rig.told(one)[0].3[0]
    });
    assert_eq!(told, [1, 0]);
}

/// What was sent before `d` arrives before the end.
#[test]
fn a_link_ends_behind_what_was_sent() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    let content = content(30_000, 3);
    rig.ask(one, b'D', "N0AAA", "N0BBB", &content);
    rig.ask(one, b'd', "N0AAA", "N0BBB", b"");
    rig.pass(60 * SECOND);
    let (kinds, data) = rig.heard(other);
    assert_eq!((kinds.as_str(), data == content), ("d", true));
    assert_eq!(rig.heard(one).0, "d");
}

#[test]
fn a_station_that_is_silent_is_told_from_one_that_refuses() {
    let mut rig = Rig::new();
    let one = rig.registered(0, "N0AAA");
    rig.ask(one, b'C', "N0AAA", "N0BBB", b""); // nobody has registered it
    rig.pass(10 * SECOND);
    let [there, here] = ["N0BBB", "N0AAA"].map(String::from);
    let from = b"*** DISCONNECTED From Station N0BBB\r\0".to_vec();
    assert_eq!(rig.told(one), [('d', there, here.clone(), from)]);
    rig.ask(one, b'C', "N0AAA", "N0CCC", b"");
    rig.pass(120 * SECOND);
    let retryout = b"*** DISCONNECTED RETRYOUT With N0CCC\r\0".to_vec();
    assert_eq!(rig.told(one), [('d', "N0CCC".into(), here, retryout)]);
}

#[test]
fn a_call_needs_a_route_and_a_pid_that_there_is() {
    let mut rig = Rig::new();
    let one = rig.registered(0, "N0AAA");
    let via = [&[1][..], &crate::rig::text("N0DDD")].concat();
    for (kind, data) in [(b'v', &via[..]), (b'v', b"\x09"), (b'v', b"")] {
        rig.ask(one, kind, "N0AAA", "N0BBB", data);
        assert_eq!(rig.heard(one).0, "d", "{kind} {data:?}");
    }
    assert_eq!(rig.stations[0].frames, 0);
    // What is open stays open.
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    rig.ask(one, b'C', "N0AAA", "N0BBB", b"");
    rig.ask(one, b'D', "N0AAA", "N0BBB", b"still here");
    rig.pass(SECOND);
    assert_eq!(rig.heard(other), (String::new(), b"still here".to_vec()));
}

/// A program is killed in mid-transfer: its call sign is free at once, its link ends in seconds,
/// and whoever calls next is served.
#[test]
fn calls_of_a_killed_program_are_free_again() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    rig.ask(one, b'D', "N0AAA", "N0BBB", &[7; 20_000]);
    rig.pass(Duration::from_millis(20));
    rig.kill(one);
    let next = rig.registered(0, "N0AAA");
    rig.pass(11 * SECOND);
    assert!(rig.heard(other).0.ends_with('d'));
    assert_eq!((rig.stations[0].agw.links(), rig.stations[1].agw.links()), (0, 0));
    rig.ask(next, b'C', "N0AAA", "N0BBB", b"");
    rig.pass(SECOND);
    assert_eq!((rig.heard(next).0, rig.heard(other).0), ("C".into(), "C".into()));
}

/// The same where the peer is gone, too: no link is waited for longer than ten seconds.
#[test]
fn links_of_a_killed_program_do_not_linger() {
    let mut rig = Rig::new();
    let [one, _] = rig.linked();
    rig.is_clear = false;
    rig.ask(one, b'D', "N0AAA", "N0BBB", &[7; 1000]);
    rig.kill(one);
    rig.pass(9 * SECOND);
    assert_eq!(rig.stations[0].agw.links(), 1);
    rig.pass(2 * SECOND);
    assert_eq!((rig.stations[0].agw.links(), rig.stations[0].agw.held()), (0, 0));
}

/// The next program need not wait for a link that is ending.
#[test]
fn a_link_that_lingers_makes_room_for_the_same_call() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    rig.is_clear = false;
    rig.ask(one, b'D', "N0AAA", "N0BBB", &[7; 1000]);
    rig.kill(one);
    let next = rig.registered(0, "N0AAA");
    rig.ask(next, b'C', "N0AAA", "N0BBB", b"");
    rig.is_clear = true;
    rig.pass(30 * SECOND);
    assert_eq!(rig.heard(next).0, "C");
    assert_eq!(rig.heard(other).0, "dC");
}
