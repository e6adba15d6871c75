//! A packet, or one segment of a super-packet, as the model sees it.
//!
//! The payload of a super-packet is never copied: its segments share it until the last of them has
//! left.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use stackwright_drivers::tun::{Checks, LENGTH, Offload, SuperPacket};
use stackwright_simulator::LinkPacket;
use stackwright_wire::internet::complete_ipv4;

/// Where the check is in a TCP header.
const IN_TCP: usize = 16;
/// Where it is in a UDP header.
const IN_UDP: usize = 6;

/// What a packet carries, as far as counts are kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP of IPv4.
    Icmp,
    /// All else, neighbour discovery of IPv6 among it.
    Other,
}

impl Protocol {
    /// Each of them.
    pub(crate) const ALL: [Protocol; 4] =
        [Protocol::Tcp, Protocol::Udp, Protocol::Icmp, Protocol::Other];

    /// That of a sound packet.
    fn of(packet: &[u8]) -> Protocol {
        match (packet[0] >> 4, packet[9], packet[6]) {
            (4, 1, _) => Protocol::Icmp,
            (4, 6, _) | (6, _, 6) => Protocol::Tcp,
            (4, 17, _) | (6, _, 17) => Protocol::Udp,
            _ => Protocol::Other,
        }
    }
}

/// One segment of a super-packet, which it shares with its neighbours.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    whole: Arc<SuperPacket<Box<[u8]>>>,
    index: usize,
    altered: bool,
}

impl Segment {
    /// All of what a device gave, in their order. `None` where its headers contradict each other,
    /// or are of no known version.
    pub(super) fn all(
        offload: Offload,
        packet: &[u8],
    ) -> Option<impl Iterator<Item = Segment> + use<>> {
        let whole = SuperPacket::decode(offload, 0, Box::<[u8]>::from(packet))?;
        let whole = Arc::new(whole.complete(offload)?);
        Some((0..whole.segments()).map(move |index| Segment {
            whole: Arc::clone(&whole),
            index,
            altered: false,
        }))
    }

    /// As a complete packet.
    fn octets_alone(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        let payload = self.encode(1, &mut octets);
        octets.extend_from_slice(payload);
        octets.drain(..LENGTH);
        octets
    }

    /// It leaves its super-packet, with these octets.
    fn leave(&mut self, octets: Vec<u8>) {
        let alone = SuperPacket::decode(Offload::default(), 0, octets.into());
        (self.whole, self.index) = (Arc::new(alone.expect("a segment is a packet")), 0);
    }

    pub(super) fn protocol(&self) -> Protocol {
        Protocol::of(self.whole.frame())
    }

    /// Whether a bit of it was turned over under way.
    pub(super) fn is_altered(&self) -> bool {
        self.altered
    }

    /// Whether `other` comes right behind this one in the same super-packet.
    pub(super) fn precedes(&self, other: &Segment) -> bool {
        Arc::ptr_eq(&self.whole, &other.whole) && self.index + 1 == other.index
    }

    /// It and as many behind it, as the device takes them: what [`SuperPacket::encode`] says.
    pub(super) fn encode<'a>(&'a self, segments: usize, head: &mut Vec<u8>) -> &'a [u8] {
        self.whole.encode(self.index..self.index + segments, Checks::Complete, head)
    }
}

impl LinkPacket for Segment {
    /// Those of its IP packet.
    fn octets(&self) -> usize {
        self.whole.octets(self.index..self.index + 1)
    }

    /// Those of its payload: headers stay whole, since a payload that is altered is noticed by the
    /// transport's checksum and counted there, where an altered address or length would be noticed
    /// by many, or by nobody. Of a packet without payload the checksum itself is altered.
    fn exposed(&self) -> usize {
        match self.whole.headers() {
            None => alterable(self.whole.frame()).len(),
            Some(headers) => self.octets() - headers,
        }
    }

    fn twin(&self) -> Self {
        self.clone()
    }

    fn ecn(&self) -> u8 {
        ecn(self.whole.frame())
    }

    /// Only what leaves alone can say something that its neighbours do not.
    fn set_ecn(&mut self, ecn: u8) {
        let mut octets = self.octets_alone();
        set_ecn(&mut octets, ecn);
        self.leave(octets);
    }

    /// It leaves its super-packet, with a complete checksum, so that whoever receives it sees that
    /// it was altered.
    fn alter(&mut self, bit: u64) {
        let mut octets = self.octets_alone();
        self.altered |= turn_over(&mut octets, bit);
        self.leave(octets);
    }
}

/// The ECN field of an IP packet: the last two bits of its traffic class (RFC 3168 §5).
fn ecn(packet: &[u8]) -> u8 {
    match (packet[0] >> 4, packet[1]) {
        (4, class) => class & 0b11,
        (_, flow) => flow >> 4 & 0b11, // RFC 8200 §3: four bits of it are in the first octet
    }
}

fn set_ecn(packet: &mut [u8], ecn: u8) {
    match packet[0] >> 4 {
        4 => {
            packet[1] = packet[1] & !0b11 | ecn;
            let header = usize::from(packet[0] & 15) * 4;
            complete_ipv4(&mut packet[..header]);
        }
        _ => packet[1] = packet[1] & !(0b11 << 4) | ecn << 4,
    }
}

/// Turns over the bit `bit` of those that may be altered. Tells whether there is any.
fn turn_over(octets: &mut [u8], bit: u64) -> bool {
    let span = alterable(octets);
    let bits = span.len() as u64 * 8;
    if bits == 0 {
        return false;
    }
    let bit = (bit % bits) as usize;
    octets[span.start + bit / 8] ^= 1 << (bit % 8);
    // A UDP checksum of 0 would say that there is none.
    if span.len() == 2 && octets[span.clone()] == [0, 0] {
        octets[span].fill(1);
    }
    true
}

/// The payload of a complete packet; where it has none, its checksum.
fn alterable(octets: &[u8]) -> Range<usize> {
    let (start, number, first) = match octets[0] >> 4 {
        4 => {
            let fragment = u16::from_be_bytes([octets[6], octets[7]]) & 0x1fff;
            (usize::from(octets[0] & 15) * 4, octets[9], fragment == 0)
        }
        _ => (40, octets[6], true),
    };
    let end = octets.len();
    // The length of the transport's header, and where its checksum stands.
    let header = match number {
        6 if first => octets.get(start + 12).map(|offset| (usize::from(offset >> 4) * 4, IN_TCP)),
        17 if first => Some((8, IN_UDP)),
        1 | 58 if first => Some((8, 2)),
        _ => None,
    };
    match header {
        Some((length, _)) if start + length < end => start + length..end,
        Some((_, check)) if start + check + 2 <= end => start + check..start + check + 2,
        _ => start.min(end)..end,
    }
}
