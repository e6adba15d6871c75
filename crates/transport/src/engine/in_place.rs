//! Gapped buffers: messages in the memory from which their packets leave. Only the headers between
//! their pieces are written.
//!
//! ```text
//! ├─ header ─┼─ piece ─┼─ header ─┼─ piece ─┼─ header ─┼─ piece ─┤   a message, in a block that is not shared
//! └──────────────── a batch: nothing was copied ─────────────────┘
//! ```

use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_wire::{Block as _, Message, SegmentLayout};

use super::memory::RUNS_MOST;
use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::sending::Next;
use crate::slots::{Format as _, Framing as _, Inquiry as _, Integrity as _};

impl<C: Configuration> Association<C> {
    /// Reserves messages of `octets` octets, to be written and then
    /// [sent](Association::send_batch), in a gapped buffer: the headers between the pieces are
    /// written there, and nothing is copied. The content is arbitrary at first. The messages are
    /// one behind the other, as many as leave in one batch, or in several if those may leave at one
    /// moment, and no more than `most`. `None` if a message leaves in one packet, or in more than
    /// one batch, or the length of its headers is not known yet.
    pub fn draft(
        &self,
        octets: usize,
        most: usize,
        memory: &Memory<C::Message>,
    ) -> Option<C::Message> {
        let (slots, sent_upto) = (&self.slots, self.sending.sent_upto());
        let runs = C::Message::SHARES
            && slots.format.runs(sent_upto, sent_upto)
            && memory.blocks.octets() > 0;
        if !runs || slots.integrity.looks_at() > 0 || octets > slots.format.longest() {
            return None;
        }
        let room = slots.format.room(octets, &MessageProperties::default());
        let (before, count, piece) = slots.framing.pieces(octets, room)?;
        let behind = count.checked_sub(1).filter(|count| *count > 0)?;
        let last = (octets + before).checked_sub(behind * piece).filter(|last| *last > 0)?;
        let (skip, skip_last) = slots.format.gaps(piece, last)?;
        let stride = skip + Some(piece).filter(|piece| *piece > before)?;
        // Before the first piece is space for any header.
        let start = memory.headroom + slots.format.headroom().max(skip) - skip;
        // A packet that is shorter than the others ends a batch.
        let short = stride.checked_sub(skip_last + last)?;
        let each = count * stride - short;
        let together = if short == 0 { most } else { most.min(1) };
        let run = memory.blocks.octets() / each;
        // A message in two batches would arrive in two pieces.
        let runs = if together > run { self.runs_at_once(together, run, each, piece) } else { 1 };
        let messages = Some(together.min(run * runs)).filter(|messages| *messages > 0)?;
        let all = start + messages * each;
        let pool = &memory.pool;
        let octets = if runs > 1 { all.max(memory.blocks.octets() * runs) } else { all };
        let block = match pool.block() {
            // A buffer that is nearly as long as a block of the pool is one: there are more of them
            // than of other lengths.
            block if (all..2 * all).contains(&block) => pool.take(),
            _ => {
                pool.again(octets).unwrap_or_else(|| <C::Message as Message>::Block::zeroed(octets))
            }
        };
        let layout = SegmentLayout::new(stride, skip).in_messages(count, skip + before, skip_last);
        let mut messages = C::Message::from_block(block, start, all);
        messages.drop_gaps(&layout);
        // Short pieces are copied together, and cannot be written in place.
        (messages.segments_mut().len() > 0).then_some(messages)
    }

    /// Returns in how many batches of `run` messages `messages` are laid out at once: one, two or
    /// four, so that their blocks have few lengths.
    fn runs_at_once(&self, messages: usize, run: usize, each: usize, piece: usize) -> usize {
        let Some(wanted) = messages.checked_div(run) else { return 1 };
        let leave = self.leaves_at_once(piece) / (run * each) as u64;
        let runs = wanted.min(leave as usize).clamp(1, RUNS_MOST);
        1 << runs.ilog2()
    }

    /// Returns whether the message that waits first is in a gapped buffer, with space for any
    /// header before it, no judge depends on whether another one follows, and no check covers its
    /// octets. This is determined before any judge is asked whether it may leave: a policy that
    /// tries a shut window is asked once.
    #[inline]
    pub(super) fn lies_apart(&mut self, memory: &Memory<C::Message>, room: Credit) -> bool {
        let headroom = self.slots.format.headroom();
        let Some(next) = self.sending.next().filter(|next| !next.is_lost) else { return false };
        let body = next.pieces.first_octets();
        !self.slots.inquiry.heeds_last()
            && self.slots.integrity.looks_at() == 0
            && headroom + body <= memory.blocks.octets().min(room.octets)
            && self
                .sending
                .waiting
                .segments_mut()
                .next()
                .is_some_and(|(gap, first)| first.len() == body && gap.len() >= headroom.max(1))
    }

    /// Writes the headers of as many of the pieces that are `left` as fit, behind `behind` others:
    /// `header` before the first of all, and what follows from it before the others. Returns the
    /// number of pieces, and the octets of their packets.
    #[inline]
    pub(super) fn write_gaps(
        &mut self,
        next: &Next,
        behind: usize,
        most: usize,
        header: &[u8],
    ) -> (usize, usize) {
        let mut segments = self.sending.waiting.segments_mut();
        let _left = segments.split_segments(behind);
        if !next.pieces.are_segments(&segments) {
            return (0, 0);
        }
        let stride = header.len() + next.pieces.first_octets();
        let mut segments = segments.split_segments(most);
        let mut count = 0;
        // Before the first piece is space for any header.
        if behind == 0 {
            let Some((gap, _)) = segments.next() else { return (0, 0) };
            let Some(start) = gap.len().checked_sub(header.len()) else { return (0, 0) };
            gap[start..].copy_from_slice(header);
            count = 1;
        }
        let (packets, packet) = (segments.octets_with_gaps(), segments.layout().stride());
        // Packets of one batch have one length.
        if packets > 0 && packet == stride {
            let left = next.skip(count);
            let span = left.span();
            let first = left.pieces.cargo(&span);
            let written = self.slots.format.follow_alike(header, &first, segments);
            // The last one may be shorter.
            return (count + written, count * stride + packets.min(written * stride));
        }
        (count, count * stride)
    }
}
