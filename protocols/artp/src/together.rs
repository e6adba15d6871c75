//! Packets of one datagram that came together: read at once, where they say nothing but its fragments.

use stackwright_contract::services::BatchMessages;
use stackwright_transport::words::{Label, Unit, View, Whole, unwrap};
use stackwright_wire::{Header as _, Message};

use crate::header::{BARE, Fragment, OptionHeader, Packet, PacketKind, Version};
use crate::option::PADDING;
use crate::receive::{WHOLE, stamp};
use crate::send::{DATAGRAM, OPTIONS, SEQUENCE};
use crate::state::Format;

/// What stands before a fragment of which nothing more is said: as few numbers, since each packet is compared with it.
#[derive(Clone, Copy)]
struct Bare {
    /// Up to the number, which is in the lower half.
    head: u64,
    /// In which packets that left together do not differ.
    stamp: [u8; DATAGRAM.start - SEQUENCE.end],
    /// The datagram, and below it the place there and how many there are, of 16 bits each.
    place: u64,
}

/// What is after the index.
const COUNT_BITS: u32 = 16;

impl Bare {
    /// The front of a packet, where that is so long.
    #[inline]
    fn of(packet: &[u8]) -> Option<Self> {
        let (head, rest) = packet.split_first_chunk()?;
        let (stamp, rest) = rest.split_first_chunk()?;
        let place = rest.first_chunk()?;
        Some(Bare { head: u64::from_be_bytes(*head), stamp: *stamp, place: u64::from_be_bytes(*place) })
    }

    /// Whether it stands at the front of a packet. All of it is compared at once: a difference is not worth looking for.
    #[inline]
    fn begins(&self, packet: &[u8]) -> bool {
        Bare::of(packet).is_some_and(|other| {
            (self.head == other.head) & (self.stamp == other.stamp) & (self.place == other.place)
        })
    }

    /// The next number, which wraps.
    #[inline]
    fn next_head(self) -> u64 {
        self.head & !u64::from(u32::MAX) | u64::from((self.head as u32).wrapping_add(1))
    }

    /// Before the next fragment: there is one.
    #[inline]
    fn next(self) -> Self {
        Bare { head: self.next_head(), place: self.place.wrapping_add(1 << COUNT_BITS), ..self }
    }

    /// Before the first fragment of the next datagram.
    #[inline]
    fn next_datagram(self) -> Self {
        let count = self.place & ((1 << COUNT_BITS) - 1);
        let datagram = (self.place >> u32::BITS).wrapping_add(1) << u32::BITS;
        Bare { head: self.next_head(), place: datagram | count, ..self }
    }
}

/// Whether packets of `stride` octets begin with those of a datagram up to the last of its fragments, before which are so many others, each of
/// as many octets: `bare` stands before the first of them. Gives how many octets stand before the last one, how many its packet has, what stands
/// before that but for padding, and the packets behind it.
#[inline]
fn are(packets: &[u8], stride: usize, mut bare: Bare, others: usize) -> Option<(usize, usize, Bare, &[u8])> {
    let (before_last, rest) = packets.split_at_checked(others * stride)?;
    for packet in before_last.chunks_exact(stride) {
        if !bare.begins(packet) {
            return None;
        }
        bare = bare.next();
    }
    // The last of all may be shorter.
    let (last, rest) = rest.split_at(rest.len().min(stride));
    Some((before(last, &bare)?, last.len(), bare, rest))
}

/// How many octets stand before the fragment of a packet that says what `bare` does: padding says nothing.
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
    let is_padding = OptionHeader::decode(options) == Ok(OptionHeader { size: padding, id: PADDING });
    (is_padding && bare.begins(&plain)).then_some(BARE + usize::from(padding))
}

/// A datagram whose packets came together.
struct Seen {
    /// What its first packet says.
    packet: Packet,
    fragment: Fragment,
    /// How many octets stand before its last fragment.
    last: usize,
    /// How many datagrams are behind it that are as it.
    more: usize,
}

impl<M: Message> Format<M> {
    /// The datagram of which `first` is the first packet, if all others are right behind it; and the datagrams behind those that are as it.
    pub(crate) fn read_together(
        &mut self,
        view: &View,
        mut first: M,
        behind: &mut BatchMessages<M>,
    ) -> Result<Whole<M>, M> {
        let Some(seen) = self.look(view, &mut first, behind) else { return Err(first) };
        let Seen { packet, fragment, last, more } = seen;
        let (number, count) = (view.received_upto, usize::from(fragment.count));
        let mut octets = first.len();
        first.advance(BARE);
        let piece = first.len();
        octets += behind.join_next(&mut first, count - 1, BARE, last);
        let mut messages = 1;
        if more > 0 && behind.join_alike(&mut first, more, count, BARE) {
            messages += more;
            octets *= messages;
        }
        let label = Label { message: fragment.datagram, ..WHOLE };
        let span = number..number + (messages * count) as u64;
        let unit = Unit { span, label, body: first, since: view.now, lifetime: None };
        Ok(Whole { unit, messages, piece, octets, stamp: stamp(&packet) })
    }

    /// What the first packet says, if those behind it are its datagram.
    fn look(&self, view: &View, first: &mut M, behind: &mut BatchMessages<M>) -> Option<Seen> {
        let octets = first.len();
        let front = first.front(BARE)?;
        let (packet, fragment) =
            (Packet::decode(front).ok()?, Fragment::decode(&front[Packet::LENGTH..]).ok()?);
        let is_data = packet.kind == PacketKind::Data
            && packet.session == self.session
            && packet.version == Version::One
            && packet.expiry == 0
            && packet.options == 0;
        let others = usize::from(fragment.count.checked_sub(1)?);
        let number = unwrap(packet.sequence, 32, view.received_upto);
        let is_first = fragment.index == 0 && number == view.received_upto && octets > BARE;
        let stride = behind.segment_size();
        if !is_data || !is_first || others == 0 || others > behind.len() || stride != octets {
            return None;
        }
        let bare = Bare::of(front)?;
        let packets = behind.octets()?;
        // Those that left together differ in nothing else. Where they do, each is looked at by itself.
        let (last, end, mut bare, mut packets) = are(packets, stride, bare.next(), others - 1)?;
        // The last has a body, and no longer one.
        if end <= last || end - last > octets - BARE {
            return None;
        }
        let mut more = 0;
        // What is shorter than the others ends what left together.
        while end == octets && packets.len() > others * stride {
            match are(packets, stride, bare.next_datagram(), others) {
                Some((before, packet, next, behind)) if (before, packet) == (last, end) => {
                    (bare, packets) = (next, behind);
                }
                _ => break,
            }
            more += 1;
        }
        Some(Seen { packet, fragment, last, more })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The packets of two datagrams in four fragments, one behind the other.
    fn two() -> Vec<[u8; BARE + 10]> {
        let packet = |place: u32| {
            let mut octets = [7; BARE + 10];
            octets[OPTIONS].fill(0);
            octets[SEQUENCE].copy_from_slice(&(u32::MAX - 2).wrapping_add(place).to_be_bytes());
            let fragment = Fragment { datagram: 70 + place / 4, index: (place % 4) as u16, count: 4 };
            fragment.encode(&mut octets[Packet::LENGTH..BARE]);
            octets
        };
        (0..8).map(packet).collect()
    }

    /// How many octets stand before the last fragment of the first datagram, and of the second.
    fn last(packets: &[[u8; BARE + 10]]) -> Option<(usize, usize)> {
        let first = Bare::of(&packets[0])?;
        let stride = packets[0].len();
        let (one, _, bare, behind) = are(packets[1..].as_flattened(), stride, first.next(), 2)?;
        Some((one, are(behind, stride, bare.next_datagram(), 3)?.0))
    }

    #[test]
    fn no_octet_of_a_header_may_be_another() {
        let packets = two();
        assert_eq!(last(&packets), Some((BARE, BARE)));
        for packet in 1..packets.len() {
            for octet in 0..BARE {
                let mut other = packets.clone();
                other[packet][octet] ^= 1;
                assert_eq!(last(&other), None, "octet {octet} of packet {packet}");
            }
        }
    }
}
