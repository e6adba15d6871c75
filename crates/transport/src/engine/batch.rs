//! Packets that leave as one batch: pieces of messages, for the first time, and nothing else is said.
//!
//! The judges are asked how many pieces may leave, a writer writes their packets, and the judges are told. The answers are those
//! of `send.rs`: a batch is what [`transmit`](Association::transmit) would give packet by packet.
//!
//! | writer | where | what it writes |
//! | --- | --- | --- |
//! | copied | a block of the pool | headers and octets, one packet behind the other |
//! | in place (`in_place.rs`) | the gaps of a gapped buffer | headers: nothing is copied |

use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Credit};
use stackwright_wire::{Message, Pool};

use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::sending::Pieces;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Format as _, Inquiry as _, Integrity as _,
    Lifetime as _, Rate as _, Recovery as _,
};
use crate::words::{Cargo, Occasion, Saying, Signals, View};

/// How many blocks may be on their way down: more of them would not be in the processor's cache any more when they leave.
const LENT_MOST: usize = 16;

/// The blocks in which batches lie. When the driver drops one, it is written again.
#[derive(Debug)]
pub(super) struct Blocks<M: Message> {
    pool: Pool<M>,
    lent: Vec<M>,
}

impl<M: Message> Blocks<M> {
    /// Each has `octets` octets; 0: there are none.
    pub(super) fn new(octets: usize) -> Self {
        Blocks { pool: Pool::new(octets, LENT_MOST), lent: Vec::new() }
    }

    pub(super) fn octets(&self) -> usize {
        self.pool.block()
    }

    /// Returns a block that nobody reads any more.
    fn take(&mut self) -> Option<M::Block> {
        let may = self.pool.regain(&mut self.lent) || self.lent.len() < LENT_MOST;
        may.then(|| self.pool.take())
    }

    /// The octets `start..end` of a block leave.
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
    /// Where their pieces lie: these were, with `before` octets before each piece.
    InPlace { packets: Option<M>, before: usize },
}

/// A batch that is being written.
pub(super) struct Unfinished<M: Message> {
    writer: Writer<M>,
    /// How many octets it has at most, and for how many packets there is room.
    most: usize,
    left: usize,
    octets: usize,
    /// The octets of each packet but the last.
    segment: usize,
    /// It has a shorter packet, or no other one fits: nothing may follow.
    is_ended: bool,
}

impl<M: Message> Unfinished<M> {
    fn new(writer: Writer<M>, most: usize, packets: usize) -> Self {
        Unfinished { writer, most, left: packets, octets: 0, segment: 0, is_ended: false }
    }

    fn is_in_place(&self) -> bool {
        matches!(self.writer, Writer::InPlace { .. })
    }

    /// Whether it ends before a message of so many packets: it is long enough, and another batch has room for the whole message, which
    /// the peer then gets in one piece.
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
    /// The next packets that are to leave, within `room`, if they are pieces of messages and nothing else is to be said. `None`:
    /// [`transmit`](Association::transmit) tells what leaves next.
    #[inline]
    pub fn transmit_batch(
        &mut self,
        now: Instant,
        memory: &mut Memory<C::Message>,
        room: Credit,
    ) -> Option<Batch<C::Message>> {
        if !self.sending.has_several() {
            return None;
        }
        let view = self.view(now);
        if !self.has_only_data(&view) {
            return None;
        }
        self.write_batch(view, memory, room)
    }

    /// Whether the association is well, and nobody but the application has something to say.
    pub(super) fn has_only_data(&self, view: &View) -> bool {
        let slots = &self.slots;
        <C::Message as Message>::SHARES
            && slots.format.runs()
            && slots.integrity.looks_at() == 0
            && slots.recovery.keeps()
            && slots.acknowledgement.deadline() > view.now
            && slots.connection.signals(view) == Signals::NONE
            && !slots.connection.due(view)
            && !self.has_ended(view)
    }

    #[inline(never)]
    fn write_batch(
        &mut self,
        view: View,
        memory: &mut Memory<C::Message>,
        room: Credit,
    ) -> Option<Batch<C::Message>> {
        let one = memory.blocks.octets();
        if self.lies_apart(memory, room) {
            let several = self.sending.together().is_some_and(|(octets, _)| octets > one as u64);
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

    /// Writes as many packets as may leave: of `one` entry of what waits, or of all.
    #[inline]
    fn fill(
        &mut self,
        mut view: View,
        memory: &mut Memory<C::Message>,
        room: Credit,
        one: bool,
        batch: &mut Unfinished<C::Message>,
    ) {
        while !(batch.is_ended || one && batch.octets > 0) {
            if self.drop_expired(&view, memory) {
                view = self.view(view.now);
            }
            let Some(pieces) = self.sending.ahead() else { break };
            let packets = if batch.is_in_place() { pieces.count() } else { pieces.in_message() };
            if batch.ends_before(packets) || self.defers(&view) {
                break;
            }
            // What lies apart waits for the next batch: once its first packets are copied, somebody holds its block, and all of it is
            // copied.
            if !batch.is_in_place() && batch.octets > 0 && self.lies_apart(memory, room) {
                break;
            }
            if !self.write_entry(&mut view, &pieces, packets, memory, batch) {
                break;
            }
        }
    }

    /// Writes as many of the first `most` pieces that wait as may leave: they leave. Whether there are any.
    #[inline]
    fn write_entry(
        &mut self,
        view: &mut View,
        pieces: &Pieces,
        most: usize,
        memory: &mut Memory<C::Message>,
        batch: &mut Unfinished<C::Message>,
    ) -> bool {
        let (mut written, before, numbering) = (0, batch.octets, self.sending.sent.numbering());
        let mut rest = None;
        while written < most {
            let (left, start) = (pieces.skip(written), view.sent_upto);
            let several = self.choose_several(view, &left, batch.left.min(most - written));
            if several == 0 {
                break;
            }
            if written == 0 {
                let span = start..start + left.numbers(1, numbering);
                let cargo = Cargo { span: &span, label: left.label(), octets: left.first_octets() };
                self.write_header(view, cargo, &mut memory.header);
            }
            let header = &mut memory.header;
            let (count, octets) = if let Writer::InPlace { before, .. } = &mut batch.writer {
                let segment = header.len() + pieces.first_octets();
                if batch.octets > 0 && (batch.segment, *before) != (segment, header.len()) {
                    break;
                }
                (batch.segment, *before) = (segment, header.len());
                let fitting = (batch.most - batch.octets) / segment;
                self.write_gaps(left, start, written, several.min(fitting), header)
            } else {
                self.copy(view, left, several, &mut rest, header, batch)
            };
            if count == 0 {
                break;
            }
            (written, batch.left, batch.octets) =
                (written + count, batch.left - count, batch.octets + octets);
            self.on_batch(view, octets, left.octets(count), start + left.numbers(count, numbering));
            batch.is_ended |= count < several;
            // A judge that heeds what follows looks at what waits.
            if batch.is_ended || self.slots.inquiry.heeds_last() {
                break;
            }
        }
        drop(rest);
        if written == 0 {
            return false;
        }
        if let Writer::InPlace { packets, before: header } = &mut batch.writer {
            let these = self.sending.first_body().and_then(|body| body.with_gaps(*header, written));
            match (packets, these) {
                (Some(packets), Some(these)) => packets.join(these),
                (packets, these) => *packets = these,
            }
            // All are equally long, or nothing follows.
            batch.is_ended |= written < most || batch.octets - before < most * batch.segment;
        }
        let stamp = self.asked.wrapping_add(1);
        self.sending.on_together(written, view.now, stamp, &memory.pool);
        view.drained = self.sending.is_drained();
        true
    }

    /// Copies the packets of as many of the pieces that are `left` as fit, and that are no longer than the packets before them. `rest` is
    /// what is left of their message, of which the packet behind `header` was written before; `None`: none was. Gives how many they
    /// are, and the octets of their packets.
    #[inline]
    fn copy(
        &mut self,
        view: &View,
        mut left: Pieces,
        most: usize,
        rest: &mut Option<C::Message>,
        header: &mut Vec<u8>,
        batch: &mut Unfinished<C::Message>,
    ) -> (usize, usize) {
        let Writer::Copied { block, start } = &mut batch.writer else { return (0, 0) };
        let (from, end) = (*start + batch.octets, *start + batch.most);
        let Some(mut into) = block.get_mut(from..end) else { return (0, 0) };
        let (mut count, mut octets, numbering) = (0, 0, self.sending.sent.numbering());
        let mut number = view.sent_upto;
        while count < most {
            let span = number..number + left.numbers(1, numbering);
            let cargo = Cargo { span: &span, label: left.label(), octets: left.first_octets() };
            let followed = if rest.is_some() { self.slots.format.follow(header, &cargo, into) } else { None };
            let before = followed.unwrap_or_else(|| {
                if rest.is_some() {
                    self.write_header(view, cargo, header);
                }
                header.len()
            });
            let packet = before + left.first_octets();
            if packet > into.len() || batch.segment > 0 && packet > batch.segment {
                break;
            }
            if followed.is_none() {
                into[..before].copy_from_slice(header);
            }
            let body = match rest {
                Some(body) => body,
                None => match self.sending.first_body() {
                    Some(body) => rest.insert(body.share()),
                    None => break,
                },
            };
            body.copy_to(&mut into[before..packet]);
            body.advance(left.first_octets());
            (count, octets, number) = (count + 1, octets + packet, span.end);
            into = &mut into[packet..];
            batch.is_ended = packet < batch.segment;
            batch.segment = batch.segment.max(packet);
            if batch.is_ended || count == most {
                break;
            }
            left = left.skip(1);
        }
        (count, octets)
    }

    /// Writes what stands before a piece.
    #[inline]
    fn write_header(&mut self, view: &View, cargo: Cargo<'_>, header: &mut Vec<u8>) {
        let slots = &mut self.slots;
        let (since, lifetime) = self.sending.waiting_wish();
        let mut saying = Saying {
            unit: Some(cargo),
            part: None,
            report: None,
            inquiry: None,
            credit: None,
            signals: Signals::NONE,
            stamp: slots.lifetime.stamp(view, since, lifetime),
            clock: slots.lifetime.clock(view),
        };
        header.clear();
        slots.format.encode(view, &mut saying, header);
        debug_assert!(saying.unit.is_none(), "a format that writes batches takes each unit as it is");
    }

    /// Whether a question leaves with the next piece.
    #[inline]
    pub(super) fn asks(&self, view: &View, last: bool) -> bool {
        let slots = &self.slots;
        slots.inquiry.due(view, Occasion::Unit { last }) || slots.congestion.asks(view)
    }

    /// Packets of so many octets have left, with those of their pieces, and the numbers before `end`: as in
    /// [`transmit`](Association::transmit), the judges are told. One packet, or [several](Association::choose_several).
    #[inline]
    fn on_batch(&mut self, view: &mut View, octets: usize, body: usize, end: u64) {
        if view.idle {
            (self.quiet_since, self.moved, self.timeouts) = (view.now, view.now, 0);
        }
        (self.stirred, self.probed, self.left_at) = (view.now, false, view.now);
        let slots = &mut self.slots;
        slots.connection.on_said(view, Signals::NONE, octets);
        slots.rate.on_sent(view, octets, body);
        slots.inquiry.on_sent(view);
        slots.congestion.on_sent(view);
        view.in_flight += body as u64;
        (view.sent_upto, view.idle) = (end, false);
    }
}
