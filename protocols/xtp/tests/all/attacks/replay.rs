//! Packets that were recorded, and arrive again.

use stackwright_contract::Duration;
use stackwright_transport::words::{Ending, Phase};
use stackwright_wire::Header as _;
use stackwright_xtp::Config;
use stackwright_xtp::header::{XtpOptions, XtpPacket};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, Transaction, UnacknowledgedDatagram, XtpService,
};

use crate::attacks::scene::{LISTENS, OPENS, acquainted, config, heard, later, send};
use crate::attacks::station::{Service, Station, address, here};

#[test]
fn all_packets_of_a_context_said_three_times_deliver_each_message_once() {
    let mut ends = acquainted(config());
    let (mut record, mut all) = (Vec::new(), Vec::new());
    for nth in 0..100_u8 {
        send(&mut ends, OPENS, &[nth; 400]);
        send(&mut ends, LISTENS, &[nth; 20]);
        let soon = ends.now() + Duration::from_millis(5);
        loop {
            ends.speak(|_, side, octets| record.push((side, octets.to_vec())));
            if !ends.until(soon) {
                break;
            }
        }
        all.extend(heard(&mut ends, LISTENS));
        heard(&mut ends, OPENS);
    }
    ends.pass(later(&ends, 5));
    all.extend(heard(&mut ends, LISTENS));
    heard(&mut ends, OPENS);
    for _ in 0..2 {
        for (side, octets) in &record {
            ends.inject(1 - side, octets);
            all.extend(heard(&mut ends, LISTENS));
            assert_eq!(heard(&mut ends, OPENS), [] as [Vec<u8>; 0]);
        }
    }
    ends.pass(later(&ends, 5));
    all.extend(heard(&mut ends, LISTENS));
    assert_eq!(all, Vec::from_iter((0..100).map(|nth| vec![nth; 400])));
    send(&mut ends, OPENS, b"more");
    ends.pass(later(&ends, 1));
    assert_eq!(heard(&mut ends, LISTENS), [b"more"], "and nothing is broken");
}

/// What a station that opened said to one that listened, until both had ended.
fn recorded<S: Service>() -> Vec<Vec<u8>> {
    let mut client = Station::<S>::new(Config::new([1; 16]));
    let mut server = Station::<S>::listening(Config::new([2; 16]));
    let name = client.opens(here(), &[7; 3000]);
    client.closes(name);
    let mut record = Vec::new();
    for _ in 0..200 {
        for (_, packet) in client.sent() {
            server.arrives(address(1), &packet);
            record.push(packet);
        }
        for opened in std::mem::take(&mut server.opened) {
            server.closes(opened);
        }
        for (_, packet) in server.sent() {
            client.arrives(here(), &packet);
        }
        client.pass(Duration::from_millis(10));
        server.pass(Duration::from_millis(10));
    }
    assert_eq!((server.heard.len(), client.ended.len()), (1, 1), "service {}", S::NUMBER);
    record
}

/// To the station that heard it, as long as it remembers; and to its successor, for which only the
/// first packet is good: it has data in it before anything is agreed.
fn said_again<S: Service>() {
    let record = recorded::<S>();
    let mut successor = Station::<S>::listening(Config::new([3; 16]));
    for packet in record.iter().chain(&record) {
        successor.arrives(address(1), packet);
    }
    successor.pass(Duration::from_secs(300));
    for packet in record.iter().filter(|_| S::NUMBER == UnacknowledgedDatagram::NUMBER) {
        successor.arrives(address(1), packet);
    }
    // A Connection of several packets does not come to its end, for its other packets bear a key
    // that is not the successor's.
    assert!(successor.heard.len() <= 2, "service {}: {}", S::NUMBER, successor.heard.len());
    assert_eq!(successor.layer.associations(), 0, "service {}", S::NUMBER);
}

#[test]
fn a_whole_context_said_again_to_a_successor_leaves_nothing() {
    said_again::<Connection>();
    said_again::<Transaction>();
    said_again::<AcknowledgedDatagram>();
    said_again::<UnacknowledgedDatagram>();
}

/// Both ends have ended, and hear all of it again.
#[test]
fn packets_of_a_context_that_is_over_change_nothing() {
    let mut ends = acquainted(config());
    let mut record = Vec::new();
    send(&mut ends, OPENS, &[7; 3000]);
    ends.ends[OPENS].association.close();
    ends.ends[LISTENS].association.finish();
    let end = later(&ends, 300);
    loop {
        ends.speak(|_, side, octets| record.push((side, octets.to_vec())));
        if !ends.until(end) {
            break;
        }
    }
    for side in [OPENS, LISTENS] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Ended(Ending::Finished));
    }
    heard(&mut ends, LISTENS);
    for (side, octets) in &record {
        ends.inject(1 - side, octets);
    }
    assert_eq!(heard(&mut ends, LISTENS), [] as [Vec<u8>; 0]);
    let (end, mut answers) = (later(&ends, 300), Vec::new());
    loop {
        ends.speak(|_, side, octets| answers.push((side, XtpPacket::decode(octets))));
        if !ends.until(end) {
            break;
        }
    }
    let says_end = |side, header: Result<XtpPacket, _>| {
        side == LISTENS && header.is_ok_and(|header| header.options.has(XtpOptions::END))
    };
    assert!(
        answers.into_iter().all(|(side, header)| says_end(side, header)),
        "only that it is over"
    );
}
