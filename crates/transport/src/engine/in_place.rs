//! Messages that lie where their packets leave from: only what stands between their pieces is written.
//!
//! ```text
//! ├─ header ─┼─ piece ─┼─ header ─┼─ piece ─┼─ header ─┼─ piece ─┤   a message, in a block that nobody else holds
//! └───────────────── a run: nothing was copied ──────────────────┘
//! ```

use alloc::vec::Vec;

use stackwright_contract::services::{Quality, Room, Run};
use stackwright_wire::{Block as _, Message, Strides};

use super::run::ends_before;
use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::slots::{Format as _, Framing as _, Inquiry as _, Integrity as _};
use crate::words::{Cargo, View};

/// Packets of one message that leave together.
struct Boarded<M> {
    packets: M,
    count: usize,
    octets: usize,
    /// Of the first.
    stride: usize,
    /// They are as long as each other, and the message has no more.
    whole: bool,
}

impl<C: Configuration> Association<C> {
    /// A message of so many octets to be written, and then to be [sent](Association::send), that lies where its packets leave from: what
    /// stands between its pieces is written there, and nothing is copied. What it holds is anything. `None`: it leaves in one packet, or
    /// in more than one run, or what stands before its pieces is not known yet.
    pub fn draft(&self, octets: usize, memory: &Memory<C::Message>) -> Option<C::Message> {
        let slots = &self.slots;
        let runs = C::Message::SHARES && slots.format.runs() && memory.blocks.octets() > 0;
        if !runs || slots.integrity.looks_at() > 0 || octets > slots.format.longest() {
            return None;
        }
        let room = slots.format.room(octets, &Quality::default());
        let (before, count, piece) = slots.framing.pieces(octets, room)?;
        let behind = count.checked_sub(1).filter(|count| *count > 0)?;
        let last = (octets + before).checked_sub(behind * piece).filter(|last| *last > 0)?;
        let (skip, skip_last) = slots.format.gaps(piece, last)?;
        let stride = skip + piece;
        // Before the first is room for any header.
        let start = memory.headroom + slots.format.headroom() + before;
        let first = start..start + piece.checked_sub(before).filter(|octets| *octets > 0)?;
        let end = first.end + (behind - 1) * stride + skip_last + last;
        // Of what leaves in several runs only the first would find nobody else holding the block.
        if end - start > memory.blocks.octets() {
            return None;
        }
        let block = memory.pool.again(end).unwrap_or_else(|| <C::Message as Message>::Block::zeroed(end));
        let parts = Strides { stride, count: behind, skip, skip_last };
        Some(C::Message::from_parts(block, first, &parts, end))
    }

    /// Whether the message that waits first lies so, with room for any header before it, and nobody has to know whether another one
    /// follows. It is known before anybody is asked whether it may leave: who tries a window that is shut is asked once.
    #[inline]
    pub(super) fn lies_apart(&mut self, memory: &Memory<C::Message>, room: Room) -> bool {
        let headroom = self.slots.format.headroom();
        let Some((_, _, body)) = self.sending.piece_after(0) else { return false };
        !self.slots.inquiry.heeds_last()
            && headroom + body <= memory.blocks.octets().min(room.octets)
            && self.sending.gap(0).is_some_and(|(gap, there)| there == body && gap.len() >= headroom)
    }

    /// The next packets, as [`transmit_run`](Association::transmit_run) gives them, as long as they lie so. `None`: they do not fit where
    /// they lie.
    #[inline(never)]
    pub(super) fn write_in_place(
        &mut self,
        mut view: View,
        memory: &mut Memory<C::Message>,
        room: Room,
    ) -> Option<Run<C::Message>> {
        let most = Room { octets: memory.blocks.octets().min(room.octets), messages: room.messages };
        let (mut left, mut stride, mut run) = (most, 0, None::<C::Message>);
        loop {
            if self.drop_expired(&view, memory) {
                view = self.view(view.now);
            }
            let written = most.octets - left.octets;
            if ends_before(self.sending.next_pieces() * stride, written, most.octets) {
                break;
            }
            let Some(boarded) = self.board_in_place(&mut view, &mut memory.header, stride, left) else {
                break;
            };
            stride = boarded.stride;
            left = Room { octets: left.octets - boarded.octets, messages: left.messages - boarded.count };
            match &mut run {
                Some(run) => run.join(boarded.packets),
                None => run = Some(boarded.packets),
            }
            if !boarded.whole {
                break;
            }
        }
        self.sending.depart();
        run.map(|run| Run::new(run, stride))
    }

    /// As many pieces of the message that waits first as may leave now, in packets of `stride` octets, if that is not 0, but for the last.
    fn board_in_place(
        &mut self,
        view: &mut View,
        header: &mut Vec<u8>,
        stride: usize,
        room: Room,
    ) -> Option<Boarded<C::Message>> {
        let (mut count, mut octets, mut bodies) = (0, 0, 0);
        let (mut stride, mut first, mut whole) = (stride, None, false);
        while count < room.messages
            && let Some((span, label, body)) = self.sending.piece_after(count)
            && let Some(last) = self.choose_unit(view, body, span.end)
            && !self.asks(view, last)
        {
            let cargo = Cargo { span: &span, label: &label, octets: body };
            self.head(view, cargo, first.is_some(), header);
            let packet = header.len() + body;
            let alike = if first.is_some() { packet <= stride } else { stride == 0 || packet == stride };
            let Some((gap, there)) = self.sending.gap(count) else { break };
            let Some(before) = gap.len().checked_sub(header.len()) else { break };
            // Before the first is room for any header, before the others for one that fills it.
            let fits = there == body && (first.is_none() || before == 0) && octets + packet <= room.octets;
            if !alike || !fits {
                break;
            }
            write_header(&mut gap[before..], header);
            first.get_or_insert((label, header.len()));
            self.on_boarded(view, packet, body, span.end);
            view.drained = label.last && self.sending.waiting() == 1;
            (stride, whole) = (stride.max(packet), label.last && packet == stride.max(packet));
            (count, octets, bodies) = (count + 1, octets + packet, bodies + body);
            if label.last || packet < stride {
                break;
            }
        }
        let (label, before) = first?;
        let stamp = self.asked.wrapping_add(1);
        let packets = self.sending.board_together(label, count, bodies, before, view.now, stamp)?;
        Some(Boarded { packets, count, octets, stride, whole })
    }
}

/// Copies a header, which is short: as two halves that may overlap, not by a call.
#[inline]
fn write_header(into: &mut [u8], header: &[u8]) {
    const HALF: usize = 16;
    if into.len() != header.len() || header.len() > 2 * HALF {
        return into.copy_from_slice(header);
    }
    match (header.first_chunk::<HALF>(), header.last_chunk::<HALF>()) {
        (Some(first), Some(last)) => {
            into[..HALF].copy_from_slice(first);
            into[header.len() - HALF..].copy_from_slice(last);
        }
        _ => into.copy_from_slice(header),
    }
}
