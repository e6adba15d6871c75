//! Packets of one datagram that came together: read at once, where they say nothing but its fragments.

use stackwright_contract::services::Apart;
use stackwright_transport::words::{Label, Unit, View, Whole, unwrap};
use stackwright_wire::{Header as _, Message};

use crate::header::{BARE, Fragment, OptionHeader, Packet, PacketKind, Version};
use crate::option::PADDING;
use crate::receive::{WHOLE, stamp};
use crate::send::{OPTIONS, SEQUENCE};
use crate::state::Format;

/// What stands before a fragment and says nothing else, as few numbers: how one is compared with another without being decoded.
#[derive(PartialEq, Eq)]
struct Bare {
    /// Which kind of packet, and of which session.
    front: u16,
    sequence: u32,
    /// When it was sent, and for how long it is of use.
    time: u64,
    rest: u32,
    datagram: u32,
    /// Which fragment (16 bits), of how many.
    place: u32,
}

impl Bare {
    /// And how many octets it has: padding says nothing.
    #[inline]
    fn of(octets: &[u8]) -> Option<(Self, usize)> {
        let (packet, rest) = octets.split_first_chunk::<{ Packet::LENGTH }>()?;
        let short = |octets: &[u8]| octets.first_chunk().map(|octets| u16::from_be_bytes(*octets));
        let long = |octets: &[u8]| octets.first_chunk().map(|octets| u32::from_be_bytes(*octets));
        let padding = usize::from(short(&packet[OPTIONS])?);
        let (options, fragment) = rest.split_at_checked(padding)?;
        if padding > 0
            && OptionHeader::decode(options) != Ok(OptionHeader { size: padding as u16, id: PADDING })
        {
            return None;
        }
        let bare = Bare {
            front: short(packet)?,
            sequence: long(&packet[SEQUENCE])?,
            time: u64::from_be_bytes(*packet[SEQUENCE.end..].first_chunk()?),
            rest: long(&packet[SEQUENCE.end + 8..])?,
            datagram: long(fragment)?,
            place: long(&fragment[4..])?,
        };
        Some((bare, BARE + padding))
    }

    /// That of the fragment that is so many behind it.
    #[inline]
    fn behind(&self, place: u32) -> Self {
        let sequence = self.sequence.wrapping_add(place);
        Bare { sequence, place: self.place.wrapping_add(place << 16), ..*self }
    }
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
        let (bare, _) = Bare::of(front)?;
        let stride = behind.stride();
        let mut last = (0, 0);
        // Those that left together differ in nothing else. Where they do, each is looked at by itself.
        for (place, next) in (1..=others).zip(behind.octets()?.chunks(stride)) {
            let (this, before) = Bare::of(next)?;
            let is_next = this == bare.behind(place as u32);
            let is_full = before == BARE && next.len() == octets;
            if !is_next || !is_full && place < others {
                return None;
            }
            last = (before, next.len());
        }
        let (before, end) = last;
        // The last has a body, and no longer one.
        (end > before && end - before <= octets - BARE).then_some((packet, fragment, before))
    }
}
