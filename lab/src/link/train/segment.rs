//! One segment, as the model sees it.

use std::ops::Range;
use std::sync::Arc;

use stackwright_simulator::LinkPacket;

use super::super::offload::LENGTH;
use super::checksum::{IN_TCP, IN_UDP, complete_ipv4};
use super::{Protocol, Train};

/// One segment of a train, which it shares with its neighbours.
#[derive(Clone, Debug)]
pub(in super::super) struct Segment {
    train: Arc<Train>,
    index: usize,
    altered: bool,
}

impl Segment {
    /// All of a train, in its order.
    pub(in super::super) fn all(train: Train) -> impl Iterator<Item = Segment> {
        let train = Arc::new(train);
        (0..train.segments()).map(move |index| Segment {
            train: Arc::clone(&train),
            index,
            altered: false,
        })
    }

    /// As a complete packet.
    fn octets_alone(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        let payload = self.encode(1, &mut octets);
        octets.extend_from_slice(payload);
        octets.drain(..LENGTH);
        octets
    }

    /// It leaves its train, with these octets.
    fn leave(&mut self, octets: Vec<u8>) {
        let train = Train { octets: octets.into(), protocol: self.protocol(), cut: None };
        (self.train, self.index) = (Arc::new(train), 0);
    }

    pub(in super::super) fn protocol(&self) -> Protocol {
        self.train.protocol
    }

    /// Whether a bit of it was turned over under way.
    pub(in super::super) fn is_altered(&self) -> bool {
        self.altered
    }

    /// Whether `other` comes right behind this one in the same train.
    pub(in super::super) fn precedes(&self, other: &Segment) -> bool {
        Arc::ptr_eq(&self.train, &other.train) && self.index + 1 == other.index
    }

    /// It and as many behind it, as the device takes them: what [`Train::encode`] says.
    pub(in super::super) fn encode<'a>(&'a self, segments: usize, head: &mut Vec<u8>) -> &'a [u8] {
        self.train.encode(self.index..self.index + segments, head)
    }
}

impl LinkPacket for Segment {
    /// Those of its IP packet.
    fn octets(&self) -> usize {
        self.train.octets(self.index..self.index + 1)
    }

    /// Those of its payload: headers stay whole, since a payload that is altered is noticed by the
    /// transport's checksum and counted there, where an altered address or length would be noticed
    /// by many, or by nobody. Of a packet without payload the checksum itself is altered.
    fn exposed(&self) -> usize {
        match self.train.cut {
            None => alterable(&self.train.octets).len(),
            Some(cut) => self.octets() - usize::from(cut.headers),
        }
    }

    fn twin(&self) -> Self {
        self.clone()
    }

    fn ecn(&self) -> u8 {
        ecn(&self.train.octets)
    }

    /// Only what leaves alone can say something that its neighbours do not.
    fn set_ecn(&mut self, ecn: u8) {
        let mut octets = self.octets_alone();
        set_ecn(&mut octets, ecn);
        self.leave(octets);
    }

    /// It leaves its train, with a complete checksum, so that whoever receives it sees that it was
    /// altered.
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
        6 if first => {
            octets.get(start + 12).map(|offset| (usize::from(offset >> 4) * 4, usize::from(IN_TCP)))
        }
        17 if first => Some((8, usize::from(IN_UDP))),
        1 | 58 if first => Some((8, 2)),
        _ => None,
    };
    match header {
        Some((length, _)) if start + length < end => start + length..end,
        Some((_, check)) if start + check + 2 <= end => start + check..start + check + 2,
        _ => start.min(end)..end,
    }
}
