//! Packets of one datagram that came together: read at once, where they say nothing but its fragments.

use stackwright_contract::services::Apart;
use stackwright_transport::words::{Label, Unit, View, Whole, unwrap};
use stackwright_wire::{Header as _, Message};

use crate::header::{BARE, Fragment, Packet, PacketKind, Version};
use crate::option::Options;
use crate::receive::{WHOLE, stamp};
use crate::state::Format;

/// What stands before a fragment, where there are no options, as few numbers: how it is compared without being decoded.
#[derive(PartialEq, Eq)]
struct Bare {
    /// Which kind of packet, and of which session.
    front: u32,
    sequence: u32,
    /// When it was sent, and of which datagram.
    middle: u128,
    /// Which fragment (16 bits), of how many.
    place: u32,
}

impl Bare {
    #[inline]
    fn of(octets: &[u8]) -> Option<Self> {
        let (front, rest) = octets.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (middle, rest) = rest.split_first_chunk()?;
        let [front, sequence, place] =
            [front, sequence, rest.first_chunk()?].map(|octets| u32::from_be_bytes(*octets));
        Some(Bare { front, sequence, middle: u128::from_be_bytes(*middle), place })
    }

    /// That of the fragment that is so many behind it.
    #[inline]
    fn behind(&self, place: u32) -> Self {
        let sequence = self.sequence.wrapping_add(place);
        Bare { sequence, place: self.place.wrapping_add(place << 16), ..*self }
    }
}

/// What stands before a fragment.
struct Head {
    packet: Packet,
    fragment: Fragment,
    /// Its octets, and those of the fragment.
    before: usize,
    body: usize,
}

impl<M: Message> Format<M> {
    /// The datagram of which `first` is the first packet, if all others are right behind it.
    pub(crate) fn read_together(
        &mut self,
        view: &View,
        mut first: M,
        behind: &mut Apart<M>,
    ) -> Result<Whole<M>, M> {
        let Some((head, last)) = self.look(view, &mut first, behind) else { return Err(first) };
        let (number, count) = (view.received_upto, u64::from(head.fragment.count));
        let mut octets = first.len();
        first.advance(head.before);
        octets += behind.join_next(&mut first, count as usize - 1, head.before, last.before);
        let Fragment { datagram: message, .. } = head.fragment;
        let label = Label { message, ..WHOLE };
        let unit = Unit { span: number..number + count, label, body: first, since: view.now, lifetime: None };
        Ok(Whole { unit, piece: head.body, octets, stamp: stamp(&head.packet) })
    }

    /// The heads of the first and the last packet, if they are a datagram with those between them.
    fn look(&self, view: &View, first: &mut M, behind: &mut Apart<M>) -> Option<(Head, Head)> {
        let octets = first.len();
        let head = self.head(first.front(octets)?)?;
        let Fragment { index, count, .. } = head.fragment;
        let others = usize::from(count.checked_sub(1)?);
        let number = unwrap(head.packet.sequence, 32, view.received_upto);
        let is_first = index == 0 && number == view.received_upto && head.before == BARE && head.body > 0;
        if !is_first || others == 0 || others > behind.messages() {
            return None;
        }
        let (stride, bare) = (behind.stride(), Bare::of(first.front(BARE)?)?);
        let packets = behind.octets()?;
        for (place, next) in (1..others).zip(packets.chunks_exact(stride)) {
            // Those that left together differ in nothing else. Where they do, each is looked at by itself.
            if next.len() != octets || Bare::of(next)? != bare.behind(place as u32) {
                return None;
            }
        }
        let start = (others - 1) * stride;
        let last = self.head(&packets[start..packets.len().min(start + stride)])?;
        let follows = last.packet.sequence == head.packet.sequence.wrapping_add(others as u32)
            && last.fragment == Fragment { index: others as u16, ..head.fragment };
        (follows && last.body > 0 && last.body <= head.body).then_some((head, last))
    }

    /// What a packet of data begins with, if that says only which fragment it is; padding says nothing.
    #[inline]
    fn head(&self, octets: &[u8]) -> Option<Head> {
        let packet = Packet::decode(octets).ok()?;
        let is_data = packet.kind == PacketKind::Data
            && packet.session == self.session
            && packet.version == Version::One
            && packet.expiry == 0;
        let (options, rest) = octets.get(Packet::LENGTH..)?.split_at_checked(usize::from(packet.options))?;
        if !is_data || Options::new(options).next().is_some() {
            return None;
        }
        let fragment = Fragment::decode(rest).ok()?;
        let before = BARE + options.len();
        Some(Head { packet, fragment, before, body: octets.len() - before })
    }
}
