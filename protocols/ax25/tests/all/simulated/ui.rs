//! UI frames, TEST, and digipeaters.

use stackwright_ax25::header::DigipeaterPath;
use stackwright_ax25::{Config, Digipeating, LinkVersion, Route};
use stackwright_contract::services::{Credit, DatagramsRequest, Ended};
use stackwright_contract::{Address, Duration, Either};
use stackwright_simulator::Hearing;
use stackwright_wire::{BufferTree, Message};

use crate::simulated::air::{Air, Heard, call, name, octets, routed, station};
use crate::simulated::exchange::{config, radio};
use crate::simulated::talk::{End, check, data};

const AMPLE: Credit = Credit { octets: 10_000, messages: 100 };

fn send(air: &mut Air, from: usize, index: u32, payload: &[u8]) {
    let batch = BufferTree::with_headroom(0, payload).into();
    let (association, properties) = (name(index), Default::default());
    air.ask(from, Either::Right(DatagramsRequest::Send { association, batch, properties }));
}

fn open(air: &mut Air, from: usize, index: u32, to: &str, pid: u8, route: u16) {
    let (association, remote) = (name(index), routed(to, pid, route));
    let open = DatagramsRequest::Open { association, remote, local: None, credit: AMPLE };
    air.ask(from, Either::Right(open));
}

fn listen(air: &mut Air, at: usize, index: u32, local: &str, pid: u8) {
    let (listener, association) = (name(1000 + index), name(index));
    let local = routed(local, pid, 0);
    air.ask(at, Either::Right(DatagramsRequest::Listen { listener, local }));
    let wait = DatagramsRequest::Await { listener, association, credit: AMPLE };
    air.ask(at, Either::Right(wait));
}

fn arrived(air: &Air, at: usize) -> Vec<Vec<u8>> {
    let delivered = |heard: &Heard| match heard {
        Heard::Delivered { batch, .. } => Some(octets(batch.as_octets())),
        _ => None,
    };
    air.stations[at].heard.iter().filter_map(delivered).collect()
}

#[test]
fn a_ui_frame_reaches_those_who_listen_for_its_call_and_protocol() {
    let configs = ["A", "B", "C"].map(|own| config(own, LinkVersion::Auto));
    let mut air = Air::new(radio("packet-radio-1200"), configs.to_vec(), 7);
    listen(&mut air, 1, 1, "B", 0xcc);
    listen(&mut air, 2, 1, "QST", 0xcd);
    open(&mut air, 0, 1, "B", 0xcc, 0);
    open(&mut air, 0, 2, "QST", 0xcd, 0);
    open(&mut air, 0, 3, "B", 0xf0, 0);
    send(&mut air, 0, 1, b"to B");
    send(&mut air, 0, 2, b"to all");
    send(&mut air, 0, 3, b"nobody listens");
    send(&mut air, 0, 1, &[0; 300]); // longer than a frame
    send(&mut air, 0, 1, b"again");
    let done = |air: &mut Air| arrived(air, 1).len() == 2;
    assert!(air.run_until(Duration::from_secs(60), done));
    assert_eq!(arrived(&air, 1), [&b"to B"[..], b"again"]);
    assert_eq!(arrived(&air, 2), [b"to all"]);
    // The answer goes to where it came from, as the station's own.
    send(&mut air, 2, 1, b"from C");
    listen(&mut air, 0, 9, "A", 0xcd);
    assert!(air.run_until(Duration::from_secs(60), |air| !arrived(air, 0).is_empty()));
    let came = air.stations[0].heard.iter().find_map(|heard| match heard {
        Heard::Opened { association, remote, path, .. } if *association == name(9) => {
            assert_eq!(path.longest, 256);
            Some(remote.address)
        }
        _ => None,
    });
    assert_eq!(came, Some(Address::Station { call: call("C"), pid: 0xcd, route: 0 }));
    // Everything that was sent gave its credit back.
    let given: usize = air.stations[0]
        .heard
        .iter()
        .map(|heard| match heard {
            Heard::Credit { credit, .. } => credit.octets,
            _ => 0,
        })
        .sum();
    assert_eq!(given, 4 + 6 + 14 + 300 + 5);
    for name in [name(1), name(1001)] {
        air.ask(1, Either::Right(DatagramsRequest::Close { name }));
    }
    let ends = air.stations[1].heard.iter().filter_map(|heard| match heard {
        Heard::Ended { why, .. } => Some(*why),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [Ended::Finished, Ended::Unlistened]);
}

/// The first and the last do not hear one another; the one in the middle repeats.
fn relayed(digipeat: Digipeating, via: &str) -> Air {
    let path = DigipeaterPath::through(&[call(via)]).expect("one");
    let configs = ["A", "RELAY", "B"].map(|own| Config {
        digipeat,
        routes: vec![Route { port: 0, path }],
        ..config(own, LinkVersion::Auto)
    });
    let mut conditions = radio("packet-radio-1200");
    conditions.hearing = Hearing::hiding(&[(0, 2)]);
    Air::new(conditions, configs.to_vec(), 7)
}

#[test]
fn a_digipeater_repeats_a_ui_frame_once() {
    let wide = Digipeating::Wide { most: 2 };
    for (digipeat, via, frames) in [
        (Digipeating::Off, "RELAY", 0),
        (Digipeating::Named, "RELAY", 1),
        (Digipeating::Named, "WIDE1-1", 0),
        (wide, "RELAY", 1),
        (wide, "WIDE1-1", 1),
    ] {
        let mut air = relayed(digipeat, via);
        listen(&mut air, 2, 1, "B", 0xf0);
        open(&mut air, 0, 1, "B", 0xf0, 1);
        send(&mut air, 0, 1, b"hello");
        send(&mut air, 0, 1, b"hello"); // a copy, as far as the digipeater can see
        air.run_until(Duration::from_secs(60), |_| false);
        assert_eq!(arrived(&air, 2).len(), frames);
        assert_eq!(air.stations[1].sent.len(), frames);
    }
}

#[test]
fn a_link_through_a_digipeater() {
    let mut air = relayed(Digipeating::Named, "RELAY");
    let mut one = End::new(0, 1, data(2000, 1));
    let mut other = End::new(2, 1, data(2000, 2));
    other.listen(&mut air, "B");
    one.open(&mut air, routed("B", 0xf0, 1));
    let done = air.run_until(Duration::from_secs(3600), |air| {
        one.turn(air);
        other.turn(air);
        one.finishes = one.received.len() == 2000 && other.received.len() == 2000;
        one.ended.is_some() && other.ended.is_some()
    });
    assert!(done, "{one:?} {other:?}");
    check(&one, &other);
    check(&other, &one);
    assert_eq!(one.ended, Some(Ended::Finished));
    let learned = air.stations[2].stack.upper.route(1);
    assert_eq!(learned.map(|route| route.path), DigipeaterPath::through(&[call("RELAY")]));
}

#[test]
fn a_station_that_nobody_is_does_not_answer() {
    let configs = ["A", "B"].map(|own| config(own, LinkVersion::Auto));
    let mut air = Air::new(radio("packet-radio-1200"), configs.to_vec(), 7);
    let mut one = End::new(0, 1, Vec::new());
    one.open(&mut air, station("C"));
    let done = |air: &mut Air| {
        one.turn(air);
        one.ended.is_some()
    };
    assert!(air.run_until(Duration::from_secs(600), done));
    assert_eq!(one.ended, Some(Ended::Unreachable));
    let controls = air.stations[0].sent.iter().map(|frame| frame[14]);
    let expected = [vec![0x7f; 3], vec![0x3f; 10]].concat();
    assert_eq!(controls.collect::<Vec<_>>(), expected, "three SABME, then N2 times SABM");
}

/// Two call signs of one station have a link, of which nothing is transmitted; one does not call
/// itself.
#[test]
fn a_link_within_a_station() {
    for version in [LinkVersion::V20, LinkVersion::Auto] {
        let aliases = vec![call("A-7")];
        let configs = vec![Config { aliases, ..config("A", version) }, config("B", version)];
        let mut air = Air::new(radio("packet-radio-1200"), configs, 7);
        let mut one = End::new(0, 1, data(20_000, 1));
        let mut other = End::new(0, 2, data(20_000, 2));
        let mut itself = End::new(0, 3, Vec::new());
        other.listen(&mut air, "A-7");
        one.open(&mut air, station("A-7"));
        itself.open(&mut air, station("A"));
        let done = air.run_until(Duration::from_secs(3600), |air| {
            for end in [&mut one, &mut other, &mut itself] {
                end.turn(air);
            }
            one.finishes = one.received.len() == 20_000 && other.received.len() == 20_000;
            one.ended.is_some() && other.ended.is_some()
        });
        assert!(done, "{one:?} {other:?}");
        check(&one, &other);
        check(&other, &one);
        assert_eq!(itself.ended, Some(Ended::Unavailable));
        assert_eq!(air.frames(), 0, "{version:?}: nothing is on the air");
    }
}
