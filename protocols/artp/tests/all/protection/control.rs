//! What applications tell each other beside data is protected as data is.

use stackwright_artp::header::ControlKind;
use stackwright_artp::{APPLICATION, Item, Protection};
use stackwright_contract::Duration;
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_transport::words::Dropped;

use crate::protection::setting::{
    CIPHERS, Ends, Wire, heard, numbered_after, opened, run, sealed, signed, units,
};

fn tell(ends: &mut Ends, octets: &[u8]) -> Wire {
    let now = ends.now();
    ends.ends[0].send(
        now,
        octets,
        MessageProperties { kind: MessageKind::Control, ..MessageProperties::default() },
    );
    run(ends, Duration::from_millis(300))
}

fn question() -> Vec<u8> {
    let mut octets = Vec::new();
    for id in [APPLICATION, APPLICATION + 1] {
        Item { kind: ControlKind::Request, id, value: b"how much?" }.write(&mut octets);
    }
    octets
}

#[test]
fn control_arrives_as_it_was_said() {
    let protections: [fn(usize) -> Protection; 4] =
        [|_| Protection::Absent, |_| Protection::Opaque, |_| sealed(CIPHERS[0]), signed];
    for protect in protections {
        let (mut ends, _) = opened([0, 1].map(protect), 0);
        let wire = tell(&mut ends, &question());
        let now = ends.now();
        let (octets, properties) = ends.ends[1].take(now).expect("what was said");
        assert_eq!((octets, properties.kind), (question(), MessageKind::Control));
        let packet = units(&wire, 0).remove(0);
        let readable = packet.windows(9).any(|octets| octets == b"how much?");
        assert_eq!(readable, !matches!(protect(0), Protection::Sealed(_)));
    }
}

#[test]
fn control_that_was_altered_or_came_before_is_refused() {
    for protect in [|_| sealed(CIPHERS[1]), signed] {
        let (mut ends, _) = opened([0, 1].map(protect), 0);
        let packet = units(&tell(&mut ends, &question()), 0).remove(0);
        assert_eq!(heard(&mut ends, 1).len(), 1);
        let again = numbered_after(&packet, &packet);
        ends.inject(1, &again);
        assert_eq!(ends.dropped().last(), Some(&(1, Dropped::Duplicate)));
        let mut altered = numbered_after(&packet, &again);
        *altered.last_mut().expect("octets") ^= 1;
        ends.inject(1, &altered);
        assert_eq!(ends.dropped().last(), Some(&(1, Dropped::Forged)));
        assert_eq!(heard(&mut ends, 1).len(), 0);
    }
}

#[test]
fn control_without_protection_is_refused_where_there_is_one() {
    let (mut ends, _) = opened([Protection::Absent, sealed(CIPHERS[0])], 0);
    tell(&mut ends, &question());
    assert_eq!(heard(&mut ends, 1).len(), 0);
    assert_eq!(ends.dropped().last(), Some(&(1, Dropped::Forged)));
}
