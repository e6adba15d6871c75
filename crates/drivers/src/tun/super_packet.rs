//! What a device gives at once: a packet, or several segments under one header.

use std::ops::{DerefMut, Range};

use stackwright_wire::check::Internet;

use super::checksum::{self, IPV4, IPV6};
use super::offload::{Offload, SegmentKind};

/// Octets of the longest packet, an IPv6 one.
pub const LONGEST: usize = IPV6 + 65_535;

/// One packet, or several segments under one header, in a frame of `link` octets before it.
///
/// The payload of a super-packet is never copied: whoever keeps segments of it shares it.
#[derive(Debug)]
pub struct SuperPacket<O> {
    pub(super) octets: O,
    /// How it is split; `None` for a lone packet.
    pub(super) layout: Option<Layout>,
}

/// How a super-packet becomes segments. Offsets are from the first octet of the frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) kind: SegmentKind,
    /// Where the IP header begins.
    pub(super) network: u16,
    /// Where the transport header begins.
    pub(super) transport: u16,
    /// Where it ends.
    pub(super) headers: u16,
    /// Octets of payload in each segment but the last, which may have fewer. At least 1.
    pub(super) size: u16,
}

impl<O: DerefMut<Target = [u8]>> SuperPacket<O> {
    /// Takes a frame as the device gave it, whose IP packet is behind `link` octets. `None` where
    /// its headers contradict each other, or are of no known version.
    pub fn decode(offload: Offload, link: usize, octets: O) -> Option<Self> {
        let packet = octets.get(link..)?;
        match (packet.first()? >> 4, packet.len()) {
            (4, IPV4..=65_535) | (6, IPV6..=LONGEST) => {}
            _ => return None,
        }
        let layout = match (offload.split, offload.checksum) {
            (Some((kind, size, _)), Some((transport, _))) => {
                Some(Layout::find(&octets, link, kind, size, transport)?)
            }
            // What is to be split needs new checks.
            (Some(_), None) => return None,
            (None, _) => None,
        };
        Some(SuperPacket { octets, layout })
    }

    /// Completes a check that holds only the sum of the pseudo-header, so that whoever sees a lone
    /// packet altered, sees it. `None` where it has no such place.
    pub fn complete(mut self, offload: Offload) -> Option<Self> {
        if let (None, Some((start, offset))) = (self.layout, offload.checksum) {
            let covered = self.octets.get_mut(usize::from(start)..)?;
            let at = usize::from(offset);
            if covered.len() < at + 2 {
                return None;
            }
            let check = checksum::sent(Internet::of(covered), offset);
            covered[at..at + 2].copy_from_slice(&check.to_be_bytes());
        }
        Some(self)
    }

    /// Returns how many segments there are; at least 1.
    pub fn segments(&self) -> usize {
        match self.layout {
            None => 1,
            Some(layout) => self.payload(layout).div_ceil(usize::from(layout.size)).max(1),
        }
    }

    /// Lends the octets of the frame: those of a lone packet are complete.
    pub fn frame(&self) -> &[u8] {
        &self.octets
    }

    /// Returns the octets of all headers; `None`: it is a lone packet, of which nobody has found
    /// them.
    pub fn headers(&self) -> Option<usize> {
        self.layout.map(|layout| usize::from(layout.headers))
    }

    /// Returns the octets of so many neighbouring segments as a single frame, headers included.
    pub fn octets(&self, segments: Range<usize>) -> usize {
        match self.layout {
            None => self.octets.len(),
            Some(layout) => usize::from(layout.headers) + self.span(layout, segments).len(),
        }
    }

    fn payload(&self, layout: Layout) -> usize {
        self.octets.len() - usize::from(layout.headers)
    }

    /// Which octets of the payload those segments have.
    pub(super) fn span(&self, layout: Layout, segments: Range<usize>) -> Range<usize> {
        let (size, payload) = (usize::from(layout.size), self.payload(layout));
        (segments.start * size).min(payload)..(segments.end * size).min(payload)
    }
}

impl Layout {
    /// Finds the segments of a super-packet. The length of its headers is asked of themselves: the
    /// device only hints.
    fn find(
        octets: &[u8],
        link: usize,
        kind: SegmentKind,
        size: u16,
        transport: u16,
    ) -> Option<Self> {
        let network = u16::try_from(link).ok()?;
        let version = octets[link] >> 4;
        let start = usize::from(transport);
        let network_header = start.checked_sub(link)?;
        let follows = match version {
            4 => network_header >= IPV4 && network_header == usize::from(octets[link] & 15) * 4,
            // Extension headers may be between.
            _ => network_header >= IPV6,
        };
        let (length, least, fits) = match kind {
            SegmentKind::Udp => (8, 8, true),
            _ => {
                let length = u16::from(octets.get(start + 12)? >> 4) * 4;
                (length, 20, (kind == SegmentKind::Tcp4) == (version == 4))
            }
        };
        let headers = transport.checked_add(length)?;
        let sound =
            size > 0 && follows && fits && length >= least && usize::from(headers) <= octets.len();
        sound.then_some(Layout { kind, network, transport, headers, size })
    }
}
