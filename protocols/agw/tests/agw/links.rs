//! Links of programs.

use stackwright_ax25::header::Addresses;
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
    for data in [&b"\x09"[..], b"\x01", b""] {
        rig.ask(one, b'v', "N0AAA", "N0BBB", data);
        assert_eq!(rig.heard(one).0, "d", "{data:?}");
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

/// The data of `v`, or what is in front of the text of `V`.
fn through(path: &[&str]) -> Vec<u8> {
    let calls: Vec<u8> = path.iter().flat_map(|call| crate::rig::text(call)).collect();
    [&[path.len() as u8][..], &calls].concat()
}

/// Through any digipeaters, whether or not the configuration names them.
#[test]
fn a_call_goes_through_the_digipeaters_that_a_program_names() {
    let mut rig = Rig::new();
    let one = rig.registered(0, "N0AAA");
    let paths = [&["RELAY"][..], &["N0DDD", "N0EEE-2"], &["A1A"; 8]];
    for (path, peer) in paths.into_iter().zip(["N0BBB", "N0CCC", "N0DDD"]) {
        rig.ask(one, b'v', "N0AAA", peer, &through(path));
        rig.ask(one, b'V', "N0AAA", "CQ", &[&through(path)[..], b"text"].concat());
        rig.pass(SECOND);
        let sent = std::mem::take(&mut rig.stations[0].sent);
        let ways: Vec<_> = sent.iter().map(|frame| way(frame)).collect();
        for to in [peer, "CQ"] {
            let expected = (to.to_string(), path.iter().map(ToString::to_string).collect());
            assert!(ways.contains(&expected), "{to} {ways:?}");
        }
    }
}

/// The link through the first digipeater is not released yet.
#[test]
fn a_call_again_goes_through_other_digipeaters() {
    let mut rig = Rig::new();
    let one = rig.registered(0, "N0AAA");
    rig.ask(one, b'v', "N0AAA", "N0BBB", &through(&["RELAY"]));
    rig.ask(one, b'd', "N0AAA", "N0BBB", b"");
    rig.ask(one, b'v', "N0AAA", "N0BBB", &through(&["N0DDD"]));
    rig.stations[0].sent.clear();
    rig.pass(60 * SECOND);
    let last = rig.stations[0].sent.last().map(|frame| way(frame));
    assert_eq!(last, Some(("N0BBB".into(), vec!["N0DDD".into()])));
}

fn way(frame: &[u8]) -> (String, Vec<String>) {
    let (addresses, _) = Addresses::decode(frame).expect("addresses");
    let path = addresses.path.iter().map(|(call, _)| call.to_string()).collect();
    (addresses.destination.to_string(), path)
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

/// A call sign that was made free leaves its links to the program that had it.
#[test]
fn no_program_cuts_the_link_of_another() {
    let mut rig = Rig::new();
    let [one, other] = rig.linked();
    rig.ask(one, b'x', "N0AAA", "", b"");
    let third = rig.registered(0, "N0AAA");
    rig.ask(third, b'C', "N0AAA", "N0BBB", b"");
    rig.pass(Duration::from_secs(5));
    let text = b"*** DISCONNECTED From Station N0BBB\r\0".to_vec();
    assert_eq!(rig.told(third), [('d', "N0BBB".into(), "N0AAA".into(), text)]);
    rig.ask(one, b'D', "N0AAA", "N0BBB", b"still here");
    rig.ask(other, b'D', "N0BBB", "N0AAA", b"so am I");
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.heard(other), (String::new(), b"still here".to_vec()));
    assert_eq!(rig.heard(one), (String::new(), b"so am I".to_vec()));
    // When its program is gone, the next has its call.
    rig.kill(one);
    rig.ask(third, b'C', "N0AAA", "N0BBB", b"");
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.heard(third).0, "C");
}

/// `Y` names the two stations either way round.
#[test]
fn outstanding_frames_are_told_either_way_round() {
    let mut rig = Rig::new();
    let [one, _other] = rig.linked();
    rig.is_clear = false;
    for _ in 0..3 {
        rig.ask(one, b'D', "N0AAA", "N0BBB", b"octets");
    }
    for [from, to] in [["N0AAA", "N0BBB"], ["N0BBB", "N0AAA"]] {
        rig.ask(one, b'Y', from, to, b"");
        assert_eq!(rig.told(one), [('Y', from.into(), to.into(), vec![3, 0, 0, 0])]);
    }
}
