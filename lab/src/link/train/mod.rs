//! What a device gives at once: a packet, or a train of segments under one header.
//!
//! | file | what |
//! | --- | --- |
//! | `decode.rs` | from a device: the headers are found, a lone packet's checksum is completed |
//! | `encode.rs` | to a device: some neighbouring segments as one super-packet, or one as a packet of its own |
//! | `checksum.rs` | the sums that both need |
//! | `segment.rs` | one segment, as the model sees it |
//!
//! The payload of a train is never copied: its segments share it until the last of them has left.

mod checksum;
mod decode;
mod encode;
mod segment;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::offload::Kind;

pub(super) use decode::LONGEST;
pub(super) use segment::Segment;

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
}

/// One packet, or several segments under one header.
#[derive(Debug)]
pub(super) struct Train {
    /// The IP packet; that of a lone packet is complete.
    octets: Box<[u8]>,
    protocol: Protocol,
    /// Where its segments are cut; `None` for a lone packet.
    cut: Option<Cut>,
}

/// How a super-packet becomes segments.
#[derive(Clone, Copy, Debug)]
struct Cut {
    kind: Kind,
    /// Where the transport header begins.
    transport: u16,
    /// Where it ends.
    headers: u16,
    /// Octets of payload in each segment but the last, which may have fewer. At least 1.
    size: u16,
}

impl Train {
    /// How many segments there are; at least 1.
    pub(super) fn segments(&self) -> usize {
        match self.cut {
            None => 1,
            Some(cut) => self.payload(cut).div_ceil(usize::from(cut.size)).max(1),
        }
    }

    /// Octets of so many neighbouring segments as a single packet, headers included.
    fn octets(&self, segments: Range<usize>) -> usize {
        match self.cut {
            None => self.octets.len(),
            Some(cut) => usize::from(cut.headers) + self.span(cut, segments).len(),
        }
    }

    fn payload(&self, cut: Cut) -> usize {
        self.octets.len() - usize::from(cut.headers)
    }

    /// Which octets of the payload those segments have.
    fn span(&self, cut: Cut, segments: Range<usize>) -> Range<usize> {
        let (size, payload) = (usize::from(cut.size), self.payload(cut));
        (segments.start * size).min(payload)..(segments.end * size).min(payload)
    }
}
