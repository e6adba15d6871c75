//! Packets that leave as one batch: pieces of messages, for the first time or again, and nothing
//! else.
//!
//! The judges are asked how many packets may leave, a writer writes them, and the judges are told,
//! with the same calls as for one packet that leaves alone (`send.rs`), whose octets are the same.
//!
//! | writer | where | what it writes |
//! | --- | --- | --- |
//! | copied | a block of the pool | headers and octets, one packet behind the other, and checks |
//! | in place (`in_place.rs`) | the gaps of a gapped buffer | headers: nothing is copied, or checked |

use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Credit};
use stackwright_wire::{Message, Pool};

use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::sending::Next;
use crate::slots::{
    Acknowledgement as _, Connection as _, Flow as _, Format as _, Inquiry as _, Integrity as _,
    Lifetime as _, Recovery as _, Switching as _,
};
use crate::words::{Occasion, Outgoing, Signals, View};

/// How many blocks may be on their way down: with more, they would have left the processor's cache
/// before they leave the host.
const LENT_MOST: usize = 16;

/// The blocks in which batches are written. A block is reused when the driver drops it.
#[derive(Debug)]
pub(super) struct Blocks<M: Message> {
    pool: Pool<M>,
    lent: Vec<M>,
}

impl<M: Message> Blocks<M> {
    /// Creates blocks of `octets` octets each; 0: there are none.
    pub(super) fn new(octets: usize) -> Self {
        Blocks { pool: Pool::new(octets, LENT_MOST), lent: Vec::new() }
    }

    pub(super) fn octets(&self) -> usize {
        self.pool.block()
    }

    /// Returns a block that is no longer read.
    fn take(&mut self) -> Option<M::Block> {
        let may = self.pool.regain(&mut self.lent) || self.lent.len() < LENT_MOST;
        may.then(|| self.pool.take())
    }

    /// Lends the octets `start..end` of a block, which leave.
    fn lend(&mut self, block: M::Block, start: usize, end: usize) -> M {
        let packets = M::from_block(block, start, end);
        self.lent.push(packets.share());
        packets
    }
}

/// Where the packets of a batch are written.
pub(super) enum Writer<M: Message> {
    /// Into a block, behind its first `start` octets.
    Copied { block: M::Block, start: usize },
    /// Into the gaps of their messages: these packets were written, with `before` octets before
    /// each piece.
    InPlace { packets: Option<M>, before: usize },
}

/// A batch that is being written.
pub(super) struct Unfinished<M: Message> {
    writer: Writer<M>,
    /// The octets that it has at most, and the packets for which there is credit.
    most: usize,
    left: usize,
    octets: usize,
    /// The octets of each packet but the last.
    segment: usize,
    /// Whether nothing may follow: it has a shorter packet, or no other one fits.
    is_ended: bool,
}

impl<M: Message> Unfinished<M> {
    fn new(writer: Writer<M>, most: usize, packets: usize) -> Self {
        Unfinished { writer, most, left: packets, octets: 0, segment: 0, is_ended: false }
    }

    fn is_in_place(&self) -> bool {
        matches!(self.writer, Writer::InPlace { .. })
    }

    /// Returns whether the batch ends before a message of `packets` packets: it is long enough, and
    /// another batch has space for the whole message, which the peer then gets in one piece.
    fn ends_before(&self, packets: usize) -> bool {
        let message = packets * self.segment;
        2 * self.octets > self.most && self.octets + message > self.most && message <= self.most
    }

    fn finish(self, blocks: &mut Blocks<M>) -> Option<Batch<M>> {
        let packets = match self.writer {
            Writer::Copied { block, start } if self.octets > 0 => {
                blocks.lend(block, start, start + self.octets)
            }
            Writer::Copied { block, .. } => {
                blocks.pool.give(block);
                return None;
            }
            Writer::InPlace { packets, .. } => packets?,
        };
        Some(Batch::new(packets, self.segment))
    }
}

impl<C: Configuration> Association<C> {
    /// Returns whether the association is live, and has nothing but data to send.
    pub(super) fn has_only_data(&self, view: &View) -> bool {
        let slots = &self.slots;
        <C::Message as Message>::SHARES
            // Each packet says its epoch, and only the first of one that it is the first.
            && !C::Switching::SWITCHES
            && slots.format.runs(view.sent_upto, view.sent_upto)
            && slots.recovery.keeps()
            && !self.owes_report(view)
            && slots.connection.signals(view, Occasion::Nothing) == Signals::NONE
            && !slots.connection.due(view)
            && !self.has_ended(view)
    }

    /// Returns whether a report is to leave now, or with the next packet.
    #[inline]
    fn owes_report(&self, view: &View) -> bool {
        match self.slots.acknowledgement.deadline() {
            Instant::END => false,
            deadline => deadline <= view.now || self.slots.format.always_reports(),
        }
    }

    /// Writes as many of the next packets of data as may leave. They count as sent.
    #[inline(never)]
    pub(super) fn write_batch(
        &mut self,
        view: &mut View,
        memory: &mut Memory<C::Message>,
        room: Credit,
    ) -> Option<Batch<C::Message>> {
        let one = memory.blocks.octets();
        if self.lies_apart(memory, room) {
            let several =
                self.sending.waiting.together().is_some_and(|(octets, _)| octets > one as u64);
            let most = if several { memory.several_runs() } else { one };
            let writer = Writer::InPlace { packets: None, before: 0 };
            let mut batch = Unfinished::new(writer, most.min(room.octets), room.messages);
            self.fill(view, memory, room, several, &mut batch);
            if batch.octets > 0 {
                return batch.finish(&mut memory.blocks);
            }
        }
        let start = memory.headroom;
        let most = room.octets.min(one.saturating_sub(start));
        let block = if most > 0 { memory.blocks.take()? } else { return None };
        let mut batch = Unfinished::new(Writer::Copied { block, start }, most, room.messages);
        self.fill(view, memory, room, false, &mut batch);
        batch.finish(&mut memory.blocks)
    }

    /// Writes as many packets as may leave: of `one` entry of what is next, or of all.
    #[inline]
    fn fill(
        &mut self,
        view: &mut View,
        memory: &mut Memory<C::Message>,
        room: Credit,
        one: bool,
        batch: &mut Unfinished<C::Message>,
    ) {
        while !(batch.is_ended || one && batch.octets > 0) {
            self.drop_useless(view, memory);
            let Some(mut next) = self.sending.next() else { break };
            let pieces = &next.pieces;
            next.count = next.count.min(if batch.is_in_place() {
                pieces.count()
            } else {
                pieces.in_message()
            });
            if batch.ends_before(next.count) || self.defers(view) {
                break;
            }
            // A gapped buffer waits for the next batch: once its first packets are copied, its
            // block is shared, and all of it has to be copied.
            if !batch.is_in_place() && batch.octets > 0 && self.lies_apart(memory, room) {
                break;
            }
            if !self.write_entry(view, &next, memory, batch) {
                break;
            }
        }
    }

    /// Writes as many of the next packets as may leave, which count as sent. Returns whether there
    /// are any.
    #[inline]
    fn write_entry(
        &mut self,
        view: &mut View,
        next: &Next,
        memory: &mut Memory<C::Message>,
        batch: &mut Unfinished<C::Message>,
    ) -> bool {
        let (mut written, before, mut rest) = (0, batch.octets, None);
        while written < next.count {
            let left = next.skip(written);
            let several = self.choose_several(view, &left, batch.left.min(left.count));
            if several == 0 || !self.slots.format.runs(left.start, view.sent_upto) {
                break;
            }
            if written == 0 {
                self.write_header(view, &left, &mut memory.header);
            }
            let header = &mut memory.header;
            let (count, octets) = if let Writer::InPlace { before, .. } = &mut batch.writer {
                let segment = header.len() + next.pieces.first_octets();
                if batch.octets > 0 && (batch.segment, *before) != (segment, header.len()) {
                    break;
                }
                (batch.segment, *before) = (segment, header.len());
                let fitting = (batch.most - batch.octets) / segment;
                self.write_gaps(&left, written, several.min(fitting), header)
            } else {
                self.copy(view, left.first(several), &mut rest, header, batch)
            };
            if count == 0 {
                break;
            }
            (written, batch.left, batch.octets) =
                (written + count, batch.left - count, batch.octets + octets);
            let body = left.pieces.octets(count);
            self.tell_packets(view, Signals::NONE, octets, body);
            self.tell_units(view);
            view.in_flight += body as u64;
            view.sent_upto = view.sent_upto.max(left.number(count));
            view.idle = false;
            batch.is_ended |= count < several;
            // A judge that depends on what follows looks at what waits.
            if batch.is_ended || self.slots.inquiry.heeds_last() {
                break;
            }
        }
        drop(rest);
        if written == 0 {
            return false;
        }
        if let Writer::InPlace { packets, before: header } = &mut batch.writer {
            let these = self.sending.body().and_then(|body| body.with_gaps(*header, written));
            match (packets, these) {
                (Some(packets), Some(these)) => packets.join(these),
                (packets, these) => *packets = these,
            }
            // All packets are equally long, or nothing follows.
            batch.is_ended |=
                written < next.count || batch.octets - before < next.count * batch.segment;
        }
        self.leave(view, (written, None, false), memory, |_, _, _| ());
        view.drained = self.sending.is_drained();
        true
    }

    /// Copies as many of the packets that are `left` as fit, and that are no longer than the
    /// packets before them. `rest` is what is left of their octets once the packet behind `header`
    /// was written; `None` if none was. Returns the number of packets, and their octets.
    #[inline]
    fn copy(
        &mut self,
        view: &View,
        mut left: Next,
        rest: &mut Option<C::Message>,
        header: &mut Vec<u8>,
        batch: &mut Unfinished<C::Message>,
    ) -> (usize, usize) {
        let Writer::Copied { block, start } = &mut batch.writer else { return (0, 0) };
        let (from, end) = (*start + batch.octets, *start + batch.most);
        let Some(mut into) = block.get_mut(from..end) else { return (0, 0) };
        let (mut count, mut octets) = (0, 0);
        loop {
            let (span, piece) = (left.span(), left.pieces.first_octets());
            let followed = match rest {
                Some(_) => self.slots.format.follow(header, &left.pieces.cargo(&span), into),
                None => None,
            };
            let before = followed.unwrap_or_else(|| {
                if rest.is_some() {
                    self.write_header(view, &left, header);
                }
                header.len()
            });
            let packet = before + piece;
            if packet > into.len() || batch.segment > 0 && packet > batch.segment {
                break;
            }
            if followed.is_none() {
                into[..before].copy_from_slice(header);
            }
            let body = match rest {
                Some(body) => body,
                None => match self.sending.body() {
                    Some(body) => rest.insert(body.share()),
                    None => break,
                },
            };
            body.copy_to(&mut into[before..packet]);
            body.advance(piece);
            if self.slots.integrity.looks_at() > 0 {
                // What was just copied is still in the processor's cache.
                let at = self.slots.format.check(&into[..before], packet);
                self.slots.integrity.seal(&mut into[..packet], None::<&C::Message>, at);
            }
            (count, octets) = (count + 1, octets + packet);
            into = &mut into[packet..];
            batch.is_ended = packet < batch.segment;
            batch.segment = batch.segment.max(packet);
            if batch.is_ended || left.count == 1 {
                break;
            }
            left = left.skip(1);
            if !self.slots.format.runs(left.start, view.sent_upto) {
                break;
            }
        }
        (count, octets)
    }

    /// Writes what precedes the octets of a packet of data.
    #[inline]
    fn write_header(&mut self, view: &View, next: &Next, header: &mut Vec<u8>) {
        let (slots, span, (since, lifetime)) = (&mut self.slots, next.span(), next.wish);
        // Where any packet carries the report, it carries the credit, too.
        let credit = if slots.format.always_reports() { slots.flow.credit(view) } else { None };
        let mut saying = Outgoing {
            unit: Some(next.pieces.cargo(&span)),
            part: None,
            report: None,
            inquiry: None,
            credit,
            signals: Signals::NONE,
            terms: None,
            mark: None,
            proposal: None,
            priority: self.priority,
            stamp: slots.lifetime.stamp(view, since, lifetime),
            clock: slots.lifetime.clock(view),
        };
        header.clear();
        slots.format.encode(view, &mut saying, header);
        if let Some(credit) = credit.filter(|_| saying.credit.is_none()) {
            slots.flow.on_credit_said(credit);
        }
        debug_assert!(
            saying.unit.is_none(),
            "a format that writes batches takes each unit as it is"
        );
    }
}
