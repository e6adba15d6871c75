//! Packets that nobody would send.

use stackwright_artp::Item;
use stackwright_artp::header::{
    Close, ControlKind, Fragment, Microseconds, Packet, PacketKind, Proposal, Reason, Token,
    Verdict, Version,
};
use stackwright_artp::option::{Large, PacketOption, Part};
use stackwright_wire::Header;

/// The session that all tests use.
pub(crate) const SESSION: u8 = 5;

/// The control items of sessions.
pub(crate) const OPEN: u8 = 1;
pub(crate) const CLOSE: u8 = 2;
pub(crate) const CONFIRM: u8 = 3;
pub(crate) const IDENTIFY: u8 = 6;
pub(crate) const CHALLENGE: u8 = 7;

/// The octets of a header.
pub(crate) fn encoded<H: Header>(header: &H) -> Vec<u8> {
    let mut octets = vec![0; H::LENGTH];
    header.encode(&mut octets);
    octets
}

/// A packet of whatever kind with these options, which does not expire.
pub(crate) fn packet(
    kind: PacketKind,
    session: u8,
    sequence: u32,
    options: &[u8],
    data: &[u8],
) -> Vec<u8> {
    let header = Packet {
        version: Version::One,
        kind,
        session,
        options: options.len() as u16,
        sequence,
        seconds: 0,
        microseconds: Microseconds::of(0),
        expiry: 0,
    };
    [&encoded(&header), options, data].concat()
}

/// A fragment. A count that needs it makes it a packet of version 2.
pub(crate) fn fragment(
    sequence: u32,
    datagram: u32,
    index: u32,
    count: u32,
    body: &[u8],
) -> Vec<u8> {
    let mut options = Vec::new();
    if count > u32::from(u16::MAX) {
        let high = Large { index: (index >> 16) as u16, count: (count >> 16) as u16 };
        PacketOption::Large(high).write(&mut options);
    }
    let fragment = Fragment { datagram, index: index as u16, count: count as u16 };
    let data = [&encoded(&fragment), body].concat();
    let mut octets = packet(PacketKind::Data, SESSION, sequence, &options, &data);
    if !options.is_empty() {
        octets[0] = 0x21;
    }
    octets
}

/// A part of the only fragment of a datagram.
pub(crate) fn part(sequence: u32, datagram: u32, offset: u16, whole: u16, body: &[u8]) -> Vec<u8> {
    let mut options = Vec::new();
    PacketOption::Part(Part { offset, whole }).write(&mut options);
    let data = [&encoded(&Fragment { datagram, index: 0, count: 1 }), body].concat();
    let mut octets = packet(PacketKind::Data, SESSION, sequence, &options, &data);
    octets[0] = 0x21;
    octets
}

/// A whole datagram that is not signed.
pub(crate) fn datagram(sequence: u32, number: u32, body: &[u8]) -> Vec<u8> {
    fragment(sequence, number, 0, 1, &[&[0; 4], body].concat())
}

/// An acknowledgement of ranges, each with its first and its last number.
pub(crate) fn ranges(numbers: &[(u32, u32)], credit: Option<u32>) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(credit) = credit {
        PacketOption::Credit(credit).write(&mut options);
    }
    PacketOption::Ranges.write(&mut options);
    let data: Vec<u8> = numbers
        .iter()
        .flat_map(|(first, last)| [first.to_be_bytes(), last.to_be_bytes()].concat())
        .collect();
    packet(PacketKind::Acknowledge, SESSION, 1, &options, &data)
}

/// A control item of sessions.
pub(crate) fn arrangement(kind: ControlKind, id: u8, value: &[u8]) -> Vec<u8> {
    let mut item = Vec::new();
    Item { kind, id, value }.write(&mut item);
    packet(PacketKind::Control, 0, 1, &[], &item)
}

/// A proposal.
pub(crate) fn proposal(verdict: Verdict, nonce: u64, echo: u64) -> Proposal {
    Proposal {
        session: SESSION,
        verdict,
        packet: 1200,
        window: 4096,
        first: 77,
        longest: u32::MAX,
        delay: 50,
        idle: 0,
        ranges: true,
        large: true,
        parts: true,
        expires: false,
        marks: true,
        single: true,
        reserved: (),
        nonce,
        echo,
        salt: [0; 16],
        reset: [0; 16],
    }
}

/// A request for a session.
pub(crate) fn request(nonce: u64) -> Vec<u8> {
    arrangement(ControlKind::Request, OPEN, &encoded(&proposal(Verdict::Asked, nonce, 0)))
}

/// An item with a token.
pub(crate) fn token(kind: ControlKind, id: u8, token: u64) -> Vec<u8> {
    if id == CLOSE {
        let (session, reason) = (SESSION, Reason::Done);
        let close = Close { session, reason, reserved: (), detail: 0, received: 0, token };
        return arrangement(kind, id, &encoded(&close));
    }
    arrangement(kind, id, &encoded(&Token { session: SESSION, reserved: (), token }))
}
