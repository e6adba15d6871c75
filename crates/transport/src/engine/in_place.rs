//! Messages that lie where their packets leave from: only what stands between their pieces is written.
//!
//! ```text
//! ├─ header ─┼─ piece ─┼─ header ─┼─ piece ─┼─ header ─┼─ piece ─┤   a message, in a block that nobody else holds
//! └───────────────── a run: nothing was copied ──────────────────┘
//! ```

use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_wire::{Block as _, Layout, Message, Strides};

use super::{Association, Memory, RUNS_MOST};
use crate::configuration::Configuration;
use crate::sending::Next;
use crate::slots::{Format as _, Framing as _, Inquiry as _, Integrity as _};

impl<C: Configuration> Association<C> {
    /// Messages of so many octets to be written, and then to be [sent](Association::send_batch), that lie where their packets leave from:
    /// what stands between the pieces is written there, and nothing is copied. What they hold is anything. They are one behind the
    /// other, as many as leave in one run, or in several if those may leave at one moment, and no more than `most`. `None`: one leaves
    /// in one packet, or in more than one run, or what stands before its pieces is not known yet.
    pub fn draft(&self, octets: usize, most: usize, memory: &Memory<C::Message>) -> Option<C::Message> {
        let slots = &self.slots;
        let runs =
            C::Message::SHARES && slots.format.runs(self.sending.sent_upto()) && memory.blocks.octets() > 0;
        if !runs || slots.integrity.looks_at() > 0 || octets > slots.format.longest() {
            return None;
        }
        let room = slots.format.room(octets, &MessageProperties::default());
        let (before, count, piece) = slots.framing.pieces(octets, room)?;
        let behind = count.checked_sub(1).filter(|count| *count > 0)?;
        let last = (octets + before).checked_sub(behind * piece).filter(|last| *last > 0)?;
        let (skip, skip_last) = slots.format.gaps(piece, last)?;
        let stride = skip + piece;
        // Before the first is room for any header.
        let start = memory.headroom + slots.format.headroom() + before;
        let first = start..start + piece.checked_sub(before).filter(|octets| *octets > 0)?;
        let end = first.end + (behind - 1) * stride + skip_last + last;
        // A packet that is shorter than the others ends a run.
        let even = skip_last + last == stride;
        let gap = skip + before;
        let each = end - start + gap;
        let together = if even { most } else { most.min(1) };
        let run = memory.blocks.octets() / each;
        // A message that lies in two runs would come in two pieces.
        let runs = if together > run { self.runs_at_once(together, run, each, piece) } else { 1 };
        let messages = together.min(run * runs);
        let all = messages.checked_sub(1)? * each + end;
        let pool = &memory.pool;
        let octets = if runs > 1 { memory.blocks.octets() * runs } else { all };
        let block = match pool.block() {
            // What is nearly as long as a block of the pool is one: there are more of them than of other lengths.
            block if (all..2 * all).contains(&block) => pool.take(),
            _ => pool.again(octets).unwrap_or_else(|| <C::Message as Message>::Block::zeroed(octets)),
        };
        let parts = Strides { stride, count: behind, skip, skip_last };
        Some(C::Message::laid_out(block, &Layout { first, parts, end, messages, gap }))
    }

    /// In how many runs of `run` messages some `messages` lie at once: one, two, four, so that their blocks have few lengths.
    fn runs_at_once(&self, messages: usize, run: usize, each: usize, piece: usize) -> usize {
        let Some(wanted) = messages.checked_div(run) else { return 1 };
        let leave = self.leaves_at_once(piece) / (run * each) as u64;
        let runs = wanted.min(leave as usize).clamp(1, RUNS_MOST);
        1 << runs.ilog2()
    }

    /// Whether the message that waits first lies so, with room for any header before it, and nobody has to know whether another one
    /// follows. It is known before anybody is asked whether it may leave: who tries a window that is shut is asked once.
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
                .stretches()
                .next()
                .is_some_and(|first| first.first_part() == body && first.first_gap() >= headroom)
    }

    /// Writes what stands before as many of the pieces that are `left` as fit, behind so many others: `header` before the first of all, and
    /// what follows from it before the others. Gives how many they are, and the octets of their packets.
    #[inline]
    pub(super) fn write_gaps(
        &mut self,
        next: &Next,
        behind: usize,
        most: usize,
        header: &[u8],
    ) -> (usize, usize) {
        let (mut left, stride) = (*next, header.len() + next.pieces.first_octets());
        let (mut count, mut octets, mut skip) = (0, 0, behind);
        for mut there in self.sending.waiting.stretches() {
            skip -= there.split_to(skip).count();
            if there.count() == 0 {
                continue;
            }
            let mut packets = there.split_to(most - count);
            if packets.count() == 0 || !left.pieces.lie_in(&packets) {
                break;
            }
            // Before the first is room for any header.
            if behind + count == 0 {
                let gap = packets.first_gap();
                let Some(packet) = packets.split_to(1).packets().next() else { break };
                let Some(start) = gap.checked_sub(header.len()) else { break };
                packet[start..gap].copy_from_slice(header);
                (count, octets, left) = (1, stride, left.skip(1));
                if packets.count() == 0 {
                    continue;
                }
            }
            // What is shorter than the others ends a run: it is the last of its message.
            let packet = packets.stride();
            if packet > stride || packet < stride && packets.ends().behind > 0 {
                break;
            }
            let several = if packet < stride { 1 } else { packets.count() };
            let (span, several_packets) = (left.span(), packets.split_to(several));
            let first = left.pieces.cargo(&span);
            let written = self.slots.format.follow_alike(header, &first, several_packets);
            (count, octets) = (count + written, octets + written * packet);
            if written < several || packet < stride {
                break;
            }
            left = left.skip(written);
        }
        (count, octets)
    }
}
