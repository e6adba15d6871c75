//! Packets of one datagram that came together: read at once, where they say nothing but its fragments.

use stackwright_contract::services::Apart;
use stackwright_transport::words::{Label, Unit, View, Whole, unwrap};
use stackwright_wire::{Header as _, Message};

use crate::header::{BARE, Fragment, OptionHeader, Packet, PacketKind, Version};
use crate::option::PADDING;
use crate::receive::{WHOLE, stamp};
use crate::send::{DATAGRAM, INDEX, OPTIONS, SEQUENCE};
use crate::state::Format;

/// Adds to a number of four octets.
#[inline]
fn add(octets: &mut [u8], more: u32) {
    let Some(octets) = octets.first_chunk_mut() else { return };
    *octets = u32::from_be_bytes(*octets).wrapping_add(more).to_be_bytes();
}

/// What stands before the fragment that is so many behind the first one, which `bare` stands before.
#[inline]
fn after(bare: &[u8; BARE], place: u16) -> [u8; BARE] {
    let mut after = *bare;
    add(&mut after[SEQUENCE], place.into());
    after[INDEX].copy_from_slice(&place.to_be_bytes());
    after
}

/// Whether the next packets are those of a datagram from fragment `first` on, of `count`, each of so many octets but the last: what stands
/// before its first fragment is `bare`. Gives how many octets stand before the last one, and how many its packet has.
#[inline]
fn are<'a>(
    packets: &mut impl Iterator<Item = &'a [u8]>,
    bare: &[u8; BARE],
    (first, count): (u16, u16),
    octets: usize,
) -> Option<(usize, usize)> {
    for (place, next) in (first..count - 1).zip(&mut *packets) {
        if next.len() != octets || !next.starts_with(&after(bare, place)) {
            return None;
        }
    }
    let last = packets.next()?;
    Some((before(last, &after(bare, count - 1))?, last.len()))
}

/// How many octets stand before the fragment of a packet that says what `bare` does: padding says nothing.
fn before(packet: &[u8], bare: &[u8; BARE]) -> Option<usize> {
    let (front, rest) = packet.split_first_chunk::<{ Packet::LENGTH }>()?;
    let padding = u16::from_be_bytes(*front[OPTIONS].first_chunk()?);
    let (options, fragment) = rest.split_at_checked(padding.into())?;
    let mut front = *front;
    front[OPTIONS].fill(0);
    let is_padding = || OptionHeader::decode(options) == Ok(OptionHeader { size: padding, id: PADDING });
    let says = front == bare[..Packet::LENGTH] && fragment.starts_with(&bare[Packet::LENGTH..]);
    (says && (padding == 0 || is_padding())).then_some(BARE + usize::from(padding))
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
        behind: &mut Apart<M>,
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
    fn look(&self, view: &View, first: &mut M, behind: &mut Apart<M>) -> Option<Seen> {
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
        if !is_data || !is_first || others == 0 || others > behind.messages() {
            return None;
        }
        let mut bare = *front.first_chunk::<BARE>()?;
        let stride = behind.stride();
        let mut packets = behind.octets()?.chunks(stride);
        // Those that left together differ in nothing else. Where they do, each is looked at by itself.
        let (last, end) = are(&mut packets, &bare, (1, fragment.count), octets)?;
        // The last has a body, and no longer one.
        if end <= last || end - last > octets - BARE {
            return None;
        }
        let mut more = 0;
        // What is shorter than the others ends what left together.
        while end == octets && packets.len() >= usize::from(fragment.count) {
            add(&mut bare[SEQUENCE], fragment.count.into());
            add(&mut bare[DATAGRAM], 1);
            if are(&mut packets, &bare, (0, fragment.count), octets) != Some((last, end)) {
                break;
            }
            more += 1;
        }
        Some(Seen { packet, fragment, last, more })
    }
}
