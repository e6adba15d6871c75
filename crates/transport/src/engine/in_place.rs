//! Messages that lie where their packets leave from: only what stands between their pieces is
//! written.
//!
//! ```text
//! ├─ header ─┼─ piece ─┼─ header ─┼─ piece ─┼─ header ─┼─ piece ─┤   a message, in a block that nobody else holds
//! └───────────────── a run: nothing was copied ──────────────────┘
//! ```

use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_wire::{Block as _, Message, SegmentLayout};

use super::{Association, Memory, RUNS_MOST};
use crate::configuration::Configuration;
use crate::sending::Next;
use crate::slots::{Format as _, Framing as _, Inquiry as _, Integrity as _};

impl<C: Configuration> Association<C> {
    /// Messages of so many octets to be written, and then to be [sent](Association::send_batch),
    /// that lie where their packets leave from: what stands between the pieces is written there,
    /// and nothing is copied. What they hold is anything. They are one behind the other, as many as
    /// leave in one run, or in several if those may leave at one moment, and no more than `most`.
    /// `None`: one leaves in one packet, or in more than one run, or what stands before its pieces
    /// is not known yet.
    pub fn draft(
        &self,
        octets: usize,
        most: usize,
        memory: &Memory<C::Message>,
    ) -> Option<C::Message> {
        let slots = &self.slots;
        let runs = C::Message::SHARES
            && slots.format.runs(self.sending.sent_upto())
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
        // Before the first is room for any header.
        let start = memory.headroom + slots.format.headroom().max(skip) - skip;
        // A packet that is shorter than the others ends a run.
        let short = stride.checked_sub(skip_last + last)?;
        let each = count * stride - short;
        let together = if short == 0 { most } else { most.min(1) };
        let run = memory.blocks.octets() / each;
        // A message that lies in two runs would come in two pieces.
        let runs = if together > run { self.runs_at_once(together, run, each, piece) } else { 1 };
        let messages = Some(together.min(run * runs)).filter(|messages| *messages > 0)?;
        let all = start + messages * each;
        let pool = &memory.pool;
        let octets = if runs > 1 { all.max(memory.blocks.octets() * runs) } else { all };
        let block = match pool.block() {
            // What is nearly as long as a block of the pool is one: there are more of them than of
            // other lengths.
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

    /// In how many runs of `run` messages some `messages` lie at once: one, two, four, so that
    /// their blocks have few lengths.
    fn runs_at_once(&self, messages: usize, run: usize, each: usize, piece: usize) -> usize {
        let Some(wanted) = messages.checked_div(run) else { return 1 };
        let leave = self.leaves_at_once(piece) / (run * each) as u64;
        let runs = wanted.min(leave as usize).clamp(1, RUNS_MOST);
        1 << runs.ilog2()
    }

    /// Whether the message that waits first lies so, with room for any header before it, and nobody
    /// has to know whether another one follows. It is known before anybody is asked whether it may
    /// leave: who tries a window that is shut is asked once.
    #[inline]
    pub(super) fn lies_apart(&mut self, memory: &Memory<C::Message>, room: Credit) -> bool {
        let headroom = self.slots.format.headroom();
        let Some(next) = self.sending.next().filter(|next| !next.is_lost) else { return false };
        let body = next.pieces.first_octets();
        !self.slots.inquiry.heeds_last()
            && headroom + body <= memory.blocks.octets().min(room.octets)
            && self
                .sending
                .waiting
                .segments_mut()
                .next()
                .is_some_and(|(gap, first)| first.len() == body && gap.len() >= headroom.max(1))
    }

    /// Writes what stands before as many of the pieces that are `left` as fit, behind so many
    /// others: `header` before the first of all, and what follows from it before the others. Gives
    /// how many they are, and the octets of their packets.
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
        // Before the first is room for any header.
        if behind == 0 {
            let Some((gap, _)) = segments.next() else { return (0, 0) };
            let Some(start) = gap.len().checked_sub(header.len()) else { return (0, 0) };
            gap[start..].copy_from_slice(header);
            count = 1;
        }
        let (packets, packet) = (segments.octets_with_gaps(), segments.layout().stride());
        // Packets that leave together have one length.
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
