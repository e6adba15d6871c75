//! Packets of one datagram that came together: read at once, where they say nothing but its fragments.

use stackwright_contract::services::Apart;
use stackwright_transport::words::{Label, Unit, View, Whole, unwrap};
use stackwright_wire::{Header as _, Message};

use crate::header::{BARE, Fragment, OptionHeader, Packet, PacketKind, Version};
use crate::option::PADDING;
use crate::receive::{WHOLE, stamp};
use crate::send::{INDEX, OPTIONS, SEQUENCE};
use crate::state::Format;

/// What stands before the fragment that is so many behind the one that `bare` stands before.
#[inline]
fn after(bare: &[u8; BARE], place: u16) -> [u8; BARE] {
    let (mut after, mut sequence) = (*bare, [0; SEQUENCE.end - SEQUENCE.start]);
    sequence.copy_from_slice(&bare[SEQUENCE]);
    let sequence = u32::from_be_bytes(sequence).wrapping_add(place.into());
    after[SEQUENCE].copy_from_slice(&sequence.to_be_bytes());
    after[INDEX].copy_from_slice(&place.to_be_bytes());
    after
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

impl<M: Message> Format<M> {
    /// The datagram of which `first` is the first packet, if all others are right behind it.
    pub(crate) fn read_together(
        &mut self,
        view: &View,
        mut first: M,
        behind: &mut Apart<M>,
    ) -> Result<Whole<M>, M> {
        let Some((packet, fragment, last)) = self.look(view, &mut first, behind) else { return Err(first) };
        let (number, count) = (view.received_upto, u64::from(fragment.count));
        let mut octets = first.len();
        first.advance(BARE);
        let piece = first.len();
        octets += behind.join_next(&mut first, count as usize - 1, BARE, last);
        let Fragment { datagram: message, .. } = fragment;
        let label = Label { message, ..WHOLE };
        let unit = Unit { span: number..number + count, label, body: first, since: view.now, lifetime: None };
        Ok(Whole { unit, piece, octets, stamp: stamp(&packet) })
    }

    /// What the first packet says, and how many octets stand before the fragment of the last, if they are a datagram with those between
    /// them.
    fn look(&self, view: &View, first: &mut M, behind: &mut Apart<M>) -> Option<(Packet, Fragment, usize)> {
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
        let bare = *front.first_chunk::<BARE>()?;
        let stride = behind.stride();
        let mut packets = behind.octets()?.chunks(stride);
        // Those that left together differ in nothing else. Where they do, each is looked at by itself.
        for (place, next) in (1..fragment.count - 1).zip(&mut packets) {
            if next.len() != octets || !next.starts_with(&after(&bare, place)) {
                return None;
            }
        }
        let last = packets.next()?;
        let (before, end) = (before(last, &after(&bare, fragment.count - 1))?, last.len());
        // The last has a body, and no longer one.
        (end > before && end - before <= octets - BARE).then_some((packet, fragment, before))
    }
}
