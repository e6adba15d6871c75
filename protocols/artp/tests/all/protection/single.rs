//! A datagram that fits into one packet and that nothing protects: it takes eight octets less,
//! where both sides know how.

use stackwright_artp::header::{Packet, PacketKind, Single};
use stackwright_artp::{Config, Protection};
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::Conditions;
use stackwright_transport::words::Dropped;
use stackwright_trial::Trial;
use stackwright_wire::Header;

use crate::protection::setting::{
    CIPHERS, Ends, Wire, config, end_of, heard, numbered_after, opened, run, say, sealed,
};

/// Octets of headers before the longest datagram that fits.
const BEFORE: usize = Packet::LENGTH + Single::LENGTH;

/// The data of one side.
fn said(wire: &Wire) -> Vec<(PacketKind, Vec<u8>)> {
    let packets = wire.iter().filter(|(side, _)| *side == 0);
    let kinds =
        packets.map(|(_, octets)| (Packet::decode(octets).expect("a packet").kind, octets.clone()));
    kinds.filter(|(kind, _)| matches!(kind, PacketKind::Data | PacketKind::Single)).collect()
}

#[test]
fn it_is_shorter_as_long_as_it_fits_and_a_fragment_beyond() {
    let (mut ends, _) = opened([Protection::Absent; 2], 0);
    for (length, kinds) in [
        (1, &[PacketKind::Single][..]),
        (600 - BEFORE, &[PacketKind::Single]),
        (600 - BEFORE + 1, &[PacketKind::Data, PacketKind::Data]),
        (0, &[PacketKind::Data]),
    ] {
        let octets = vec![7; length];
        let packets = said(&say(&mut ends, 0, &octets));
        assert_eq!(packets.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), kinds, "{length}");
        if let [(PacketKind::Single, packet)] = &packets[..] {
            assert_eq!((packet.len(), &packet[BEFORE..]), (BEFORE + length, &octets[..]));
        }
        assert_eq!(heard(&mut ends, 1), [octets], "{length}");
    }
}

#[test]
fn what_is_wished_of_it_is_said_all_the_same() {
    let (mut ends, _) = opened([Protection::Absent; 2], 0);
    let properties =
        MessageProperties { priority: 7, number: Some(99), ..MessageProperties::default() };
    let now = ends.now();
    ends.ends[0].send(now, b"urgent", properties);
    let packets = said(&run(&mut ends, Duration::from_millis(300)));
    assert_eq!(packets[0].0, PacketKind::Single);
    let now = ends.now();
    let (octets, came) = ends.ends[1].take(now).expect("what was said");
    assert_eq!((&octets[..], came.priority, came.number), (&b"urgent"[..], 7, Some(99)));
}

/// Ends of which each knows it, or does not.
fn ends_that_know(knows: [bool; 2]) -> Ends {
    let make = |side: usize| {
        let config = Config { single: knows[side], ..config(Protection::Absent) };
        end_of(&config, side, 0)
    };
    let mut ends = Trial::new(make, &Conditions::IDEAL, 0);
    ends.ends[0].open(ends.now());
    run(&mut ends, Duration::from_secs(1));
    ends
}

#[test]
fn where_one_side_does_not_know_it_it_is_a_fragment() {
    for knows in [[true, false], [false, true], [false, false]] {
        let mut ends = ends_that_know(knows);
        let packets = said(&say(&mut ends, 0, b"hello"));
        assert_eq!(packets[0].0, PacketKind::Data, "{knows:?}");
        assert_eq!(heard(&mut ends, 1), [b"hello"]);
    }
}

/// Else anybody could say something in the peer's name.
#[test]
fn where_something_protects_it_is_not_believed() {
    let mut bare = ends_that_know([true; 2]);
    let (_, single) = said(&say(&mut bare, 0, b"pay him")).remove(0);
    for protection in [sealed(CIPHERS[0]), Protection::Opaque] {
        let (mut ends, _) = opened([protection; 2], 0);
        let message: &[u8] = if protection == Protection::Opaque { &[0; 8] } else { b"true" };
        let packets = said(&say(&mut ends, 0, message));
        assert_eq!(packets[0].0, PacketKind::Data, "and nothing protected leaves so");
        heard(&mut ends, 1);
        ends.inject(1, &numbered_after(&single, &packets[0].1));
        assert_eq!(ends.dropped().last(), Some(&(1, Dropped::Unjoinable)));
        assert_eq!(heard(&mut ends, 1).len(), 0);
    }
}
