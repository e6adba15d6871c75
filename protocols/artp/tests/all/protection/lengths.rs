//! How long a datagram may be, with what protects it.

use stackwright_artp::{Config, Messages, Protection};
use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_transport::slots::Framing as _;
use stackwright_transport::words::{Dropped, Label, Unit};
use stackwright_wire::{BufferTree, Message, Pool};

use crate::protection::setting::{
    CIPHERS, VIEW, config, framings, heard, opened, say, sealed, signed, units,
};

const LONGEST: usize = 1 << 16;

/// What becomes of a datagram of so many octets, in packets that carry `room`; and in how many.
fn pass(
    framings: &mut [Messages<BufferTree>; 2],
    octets: usize,
    room: usize,
) -> (Result<Option<usize>, Dropped>, u64) {
    let pool = Pool::new(2048, 4);
    let message = BufferTree::with_headroom(128, &vec![3; octets]);
    let (mut rest, label, piece) = framings[0]
        .begin(message, &MessageProperties::default(), room, &pool)
        .expect("not too long");
    let mut joined = Ok(None);
    for index in 0..label.count {
        let body = rest.split_to(piece.min(rest.len()));
        let label = Label { index, last: index + 1 == label.count, ..label };
        let number = u64::from(index);
        let unit =
            Unit { span: number..number + 1, label, body, since: Instant::START, lifetime: None };
        let (unit, mut body) = unit.into_parts();
        let whole = framings[1].join(&VIEW, &unit, &mut body, &pool);
        joined = whole.map(|whole| whole.map(|_| unaltered(&body)));
        if joined.is_err() {
            break;
        }
    }
    (joined, u64::from(label.count))
}

/// So many octets, all of which are what was sent.
fn unaltered(message: &BufferTree) -> usize {
    message.each(|octets| assert!(octets.iter().all(|octet| *octet == 3)));
    message.len()
}

#[test]
fn ten_megabytes_are_one_datagram() {
    let mut framings = framings(|_| Config { longest: 16 << 20, ..config(sealed(CIPHERS[0])) });
    assert_eq!(pass(&mut framings, 10_000_000, 1172), (Ok(Some(10_000_000)), 8533));
}

#[test]
fn what_protects_a_datagram_is_not_counted_to_its_length() {
    let protections: [fn(usize) -> Protection; 3] =
        [|_| Protection::Absent, |_| sealed(CIPHERS[0]), signed];
    for protect in protections {
        let mut framings = framings(|side| Config { longest: LONGEST, ..config(protect(side)) });
        for room in (100..600).step_by(31).chain([30_000, 32_768, 65_000]) {
            let (whole, _) = pass(&mut framings, LONGEST, room);
            assert_eq!(whole, Ok(Some(LONGEST)), "{:?}, {room} octets a packet", protect(0));
        }
    }
}

#[test]
fn what_is_too_long_is_given_back_as_it_was() {
    let mut framings = framings(|side| Config { large: false, ..config(signed(side)) });
    let pool = Pool::new(2048, 4);
    let octets = 0xffff * 100 - 75; // one more than fits behind 76 of signature
    let message = BufferTree::with_headroom(0, &vec![3; octets]);
    let back = framings[0]
        .begin(message, &MessageProperties::default(), 100, &pool)
        .expect_err("65536 packets");
    assert_eq!(back.len(), octets);
    let properties =
        MessageProperties { kind: MessageKind::Control, ..MessageProperties::default() };
    let message = BufferTree::with_headroom(0, &[3; 25]);
    let back = framings[0]
        .begin(message, &properties, 100, &pool)
        .expect_err("control goes into one packet");
    assert_eq!(back.len(), 25);
}

/// What is refused does not stay in the window: it would shut for ever.
#[test]
fn what_cannot_be_opened_is_forgotten_with_all_its_numbers() {
    let mut framings =
        framings(|side| config(if side == 0 { Protection::Absent } else { sealed(CIPHERS[0]) }));
    let (refused, count) = pass(&mut framings, 5000, 300);
    assert_eq!((refused, count), (Err(Dropped::Forged), 17));
    // The engine itself knows of the last one.
    assert_eq!(framings[1].forget(&VIEW), 16);
    assert_eq!(framings[1].forget(&VIEW), 0);
}

/// A shorter packet would be the last that leaves by one system call.
#[test]
fn packets_of_a_datagram_are_equally_long() {
    for protection in [Protection::Absent, sealed(CIPHERS[0])] {
        for octets in (540..4000).step_by(29) {
            let (mut ends, _) = opened([protection; 2], 0);
            let packets = units(&say(&mut ends, 0, &vec![5; octets]), 0);
            let most = packets.iter().map(Vec::len).max().unwrap_or_default();
            // An option has four octets: there is no room to make up for fewer.
            let full = most + 3 > usize::from(config(protection).packet);
            let equal = packets.iter().all(|packet| packet.len() == most);
            assert!(equal || full, "{octets} octets, {most} a packet");
            assert_eq!(heard(&mut ends, 1), [vec![5; octets]]);
        }
    }
}
