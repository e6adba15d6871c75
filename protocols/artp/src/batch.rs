//! Fragments that arrived in one batch: taken as one unit where their packets carry nothing else.

use stackwright_contract::services::BatchMessages;
use stackwright_transport::Receipts;
use stackwright_transport::words::{Label, UnitHeader};
use stackwright_wire::{Header as _, Message, SegmentLayout};

use crate::header::{BARE, Fragment, OptionHeader, Packet};
use crate::option::PADDING;
use crate::send::{DATAGRAM, OPTIONS, SEQUENCE};

/// The headers of a fragment without options: held in as few integers as possible, since each
/// packet is compared with them.
#[derive(Clone, Copy)]
struct Bare {
    /// The packet header up to and including the sequence number, which is in the lower half.
    head: u64,
    /// The part of the packet header that is equal in packets that left together.
    stamp: [u8; DATAGRAM.start - SEQUENCE.end],
    /// The datagram's number, then the fragment's index and the fragment count, of 16 bits each.
    place: u64,
}

/// The bits of the fragment count, which follows the index.
const COUNT_BITS: u32 = 16;

impl Bare {
    /// Reads the headers at the front of a packet; `None` if it is too short.
    #[inline]
    fn of(packet: &[u8]) -> Option<Self> {
        let (head, rest) = packet.split_first_chunk()?;
        let (stamp, rest) = rest.split_first_chunk()?;
        let place = rest.first_chunk()?;
        Some(Bare {
            head: u64::from_be_bytes(*head),
            stamp: *stamp,
            place: u64::from_be_bytes(*place),
        })
    }

    /// Whether a packet begins with these headers. All of them are compared at once: looking for
    /// the first difference would cost more.
    #[inline]
    fn begins(&self, packet: &[u8]) -> bool {
        Bare::of(packet).is_some_and(|other| {
            (self.head == other.head) & (self.stamp == other.stamp) & (self.place == other.place)
        })
    }

    /// The next sequence number, which wraps.
    #[inline]
    fn next_head(self) -> u64 {
        self.head & !u64::from(u32::MAX) | u64::from((self.head as u32).wrapping_add(1))
    }

    /// The headers of the next fragment, which must exist.
    #[inline]
    fn next(self) -> Self {
        Bare { head: self.next_head(), place: self.place.wrapping_add(1 << COUNT_BITS), ..self }
    }

    /// The headers of the first fragment of the next datagram.
    #[inline]
    fn next_datagram(self) -> Self {
        let count = self.place & ((1 << COUNT_BITS) - 1);
        let datagram = (self.place >> u32::BITS).wrapping_add(1) << u32::BITS;
        Bare { head: self.next_head(), place: datagram | count, ..self }
    }
}

/// Returns how many octets precede the fragment of a packet whose headers are `bare`, padding
/// included.
#[inline]
fn before(packet: &[u8], bare: &Bare) -> Option<usize> {
    if bare.begins(packet) {
        return Some(BARE);
    }
    let (front, rest) = packet.split_first_chunk::<{ Packet::LENGTH }>()?;
    let padding = u16::from_be_bytes(*front[OPTIONS].first_chunk()?);
    let (options, fragment) = rest.split_at_checked(padding.into())?;
    let mut plain = [0; BARE];
    plain[..Packet::LENGTH].copy_from_slice(front);
    plain[OPTIONS].fill(0);
    plain[Packet::LENGTH..].copy_from_slice(fragment.first_chunk::<{ Fragment::LENGTH }>()?);
    let is_padding =
        OptionHeader::decode(options) == Ok(OptionHeader { size: padding, id: PADDING });
    (is_padding && bare.begins(&plain)).then_some(BARE + usize::from(padding))
}

/// What continues a fragment in the packets behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Behind {
    /// Fragments of the same datagram.
    fragments: usize,
    /// Octets before the last of these fragments.
    last: usize,
    /// Complete datagrams behind that one, with the same layout.
    datagrams: usize,
}

/// Counts the packets of `stride` octets, at most `most`, that begin with `bare` and its
/// successors. Afterwards `bare` is what the next packet would begin with.
#[inline]
fn alike(packets: &[u8], stride: usize, bare: &mut Bare, most: usize) -> usize {
    let mut count = 0;
    for packet in packets.chunks_exact(stride).take(most) {
        if !bare.begins(packet) {
            break;
        }
        *bare = bare.next();
        count += 1;
    }
    count
}

impl Behind {
    /// Examines packets of `stride` octets, at most `most`, behind a fragment that is not the last
    /// of its datagram. Packets that left together differ in nothing else.
    fn look(packets: &[u8], stride: usize, first: Bare, label: &Label, most: usize) -> Self {
        let (mut bare, count) = (first.next(), label.count as usize);
        let others = count - label.index as usize - 1;
        let between = alike(packets, stride, &mut bare, most.min(others - 1));
        let seen = Behind { fragments: between, last: BARE, datagrams: 0 };
        if between < others - 1 || between == most {
            return seen;
        }
        // The last fragment of a datagram may be shorter.
        let rest = &packets[between * stride..];
        let (packet, mut rest) = rest.split_at(rest.len().min(stride));
        let last = before(packet, &bare);
        // It must have a body, and none longer than the others.
        let Some(last) =
            last.filter(|last| (1..=stride - BARE).contains(&packet.len().saturating_sub(*last)))
        else {
            return seen;
        };
        let mut seen = Behind { fragments: others, last, datagrams: 0 };
        // A packet that is shorter than the others ends what left together.
        let most = if label.index == 0 && packet.len() == stride { most } else { 0 };
        while most >= others + (seen.datagrams + 1) * count && rest.len() >= count * stride {
            bare = bare.next_datagram();
            let (datagram, behind) = rest.split_at(count * stride);
            let fragments = alike(datagram, stride, &mut bare, count - 1);
            if fragments < count - 1 || before(&datagram[fragments * stride..], &bare) != Some(last)
            {
                break;
            }
            (seen.datagrams, rest) = (seen.datagrams + 1, behind);
        }
        seen
    }
}

/// Takes, together with the fragment `first`, the fragments `behind` it that have consecutive
/// sequence numbers and of which none was received before. `first` is not the last of its datagram
/// and is the only one of `unit`.
#[inline(never)]
pub(crate) fn take_behind<M: Message>(
    receipts: &Receipts,
    first: &mut M,
    behind: &mut BatchMessages<M>,
    unit: &mut UnitHeader,
) {
    let hole = receipts.hole_from(unit.span.start);
    let most = if hole.start == unit.span.start { hole.end - hole.start - 1 } else { 0 };
    let (stride, most) =
        (behind.segment_size(), behind.len().min(most.try_into().unwrap_or(usize::MAX)));
    let alike = most > 0 && stride == first.len();
    let bare = first.front(BARE).and_then(Bare::of).filter(|_| alike);
    let seen = match (bare, behind.octets()) {
        (Some(bare), Some(packets)) => Behind::look(packets, stride, bare, &unit.label, most),
        _ => Behind::default(),
    };
    if seen.fragments == 0 {
        return first.advance(BARE);
    }
    let Label { index, count, .. } = unit.label;
    let packets = seen.fragments + seen.datagrams * count as usize;
    behind.join_next(first, packets);
    let fragments = (count - index) as usize;
    first.drop_gaps(&SegmentLayout::new(stride, BARE).in_messages(fragments, BARE, seen.last));
    unit.count += packets as u32;
    unit.span.end += packets as u64;
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The packets of two datagrams of four fragments each, one behind the other.
    fn two() -> Vec<[u8; BARE + 10]> {
        let packet = |place: u32| {
            let mut octets = [7; BARE + 10];
            octets[OPTIONS].fill(0);
            octets[SEQUENCE].copy_from_slice(&(u32::MAX - 2).wrapping_add(place).to_be_bytes());
            let fragment =
                Fragment { datagram: 70 + place / 4, index: (place % 4) as u16, count: 4 };
            fragment.encode(&mut octets[Packet::LENGTH..BARE]);
            octets
        };
        (0..8).map(packet).collect()
    }

    /// What continues the packet at `index`, at most `most` packets.
    fn behind(packets: &[[u8; BARE + 10]], index: usize, most: usize) -> Option<Behind> {
        let (first, rest) = packets[index..].split_first()?;
        let label = Label { index: index as u32 % 4, count: 4, ..Label::default() };
        Some(Behind::look(rest.as_flattened(), first.len(), Bare::of(first)?, &label, most))
    }

    #[test]
    fn fragments_are_taken_up_to_the_end_of_their_datagram_and_whole_datagrams_behind_it() {
        let seen = |fragments, datagrams| Some(Behind { fragments, last: BARE, datagrams });
        let packets = two();
        assert_eq!(behind(&packets, 0, 7), seen(3, 1));
        assert_eq!(
            [6, 3, 2, 1].map(|most| behind(&packets, 0, most)),
            [3, 3, 2, 1].map(|most| seen(most, 0))
        );
        assert_eq!(behind(&packets, 1, 6), seen(2, 0), "the next ones are no part of it");
        assert_eq!(behind(&packets[..3], 0, 2), seen(2, 0), "the last one is missing");
    }

    #[test]
    fn no_octet_of_a_header_may_be_another() {
        let packets = two();
        for packet in 1..packets.len() {
            for octet in 0..BARE {
                let mut other = packets.clone();
                other[packet][octet] ^= 1;
                let fragments = if packet < 4 { packet - 1 } else { 3 };
                let seen = Behind { fragments, last: BARE, datagrams: 0 };
                assert_eq!(behind(&other, 0, 7), Some(seen), "octet {octet} of packet {packet}");
            }
        }
    }
}
