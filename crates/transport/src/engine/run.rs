//! Packets that leave together: they are written one behind the other, so that who sends them has them in one piece.
//!
//! The questions are those of `send.rs`, and so are the answers: a run is what [`transmit`](Association::transmit) would give packet
//! by packet while there is nothing to send but the pieces of messages, for the first time. All else ends it.

use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Room};
use stackwright_wire::{Message, Pool};

use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::sending::Pieces;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Format as _, Inquiry as _, Integrity as _,
    Lifetime as _, Rate as _, Recovery as _,
};
use crate::words::{Cargo, Occasion, Saying, Signals, View};

/// How many blocks may be on their way down: what lies in more of them would not be in the processor's cache any more when it leaves.
const LENT_MOST: usize = 16;

/// The blocks in which runs lie. Who sends one lets go of it, and it is written again.
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

    /// A block that nobody reads any more.
    fn take(&mut self) -> Option<M::Block> {
        let may = self.pool.regain(&mut self.lent) || self.lent.len() < LENT_MOST;
        may.then(|| self.pool.take())
    }

    /// The octets `start..end` of a block leave.
    fn lend(&mut self, block: M::Block, start: usize, end: usize) -> M {
        let run = M::from_block(block, start, end);
        self.lent.push(run.share());
        run
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
        room: Room,
    ) -> Option<Batch<C::Message>> {
        if !self.sending.has_several() {
            return None;
        }
        let view = self.view(now);
        if !self.has_only_data(&view) || self.keeps_together(&view) {
            return None;
        }
        if self.lies_apart(memory, room)
            && let Some(run) = self.write_in_place(view, memory, room)
        {
            return Some(run);
        }
        self.write_run(view, memory, room)
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
    fn write_run(
        &mut self,
        mut view: View,
        memory: &mut Memory<C::Message>,
        room: Room,
    ) -> Option<Batch<C::Message>> {
        let start = memory.headroom;
        let most = memory.blocks.octets().min(start.saturating_add(room.octets));
        let mut block = if most > start { memory.blocks.take()? } else { return None };
        let (mut end, mut stride, mut count) = (start, 0, 0);
        // Of the message that is being written: what is left, and how many pieces are written.
        let mut begun: Option<(Pieces, C::Message)> = None;
        let mut written = 0;
        while count < room.messages && end + stride <= most {
            if begun.is_none() {
                // What lies apart waits for the next run: once its first packets are copied, somebody holds its block, and all of it is copied.
                if self.keeps_together(&view) || count > 0 && self.lies_apart(memory, room) {
                    break;
                }
                if self.drop_expired(&view, memory) {
                    view = self.view(view.now);
                }
            }
            let follows = begun.is_some();
            let Some(pieces) = begun.as_ref().map(|begun| begun.0).or_else(|| self.sending.ahead()) else {
                break;
            };
            if !follows && ends_before(pieces.in_message() * stride, end - start, most - start) {
                break;
            }
            let (label, body) = (pieces.label(), pieces.first_octets());
            let span = view.sent_upto..view.sent_upto + pieces.numbers(1, self.sending.numbering());
            let Some(last) = self.choose_unit(&view, body, span.end) else { break };
            if self.asks(&view, last) {
                break;
            }
            let cargo = Cargo { span: &span, label, octets: body };
            let rest = begun.as_ref().map(|begun| &begun.1);
            let into = &mut block[end..most];
            let Some(octets) = self.write(&view, cargo, rest, &mut memory.header, into, stride) else {
                break;
            };
            (end, stride, count, written) = (end + octets, stride.max(octets), count + 1, written + 1);
            // Who wants to know what follows looks at what waits.
            if label.last || self.slots.inquiry.heeds_last() {
                self.leave_together(&view, written, memory);
                (begun, written) = (None, 0);
            } else {
                let rest =
                    begun.map(|begun| begun.1).or_else(|| self.sending.first_body().map(Message::share));
                begun = rest.map(|mut rest| {
                    rest.advance(body);
                    (pieces.skip(1), rest)
                });
            }
            self.on_boarded(&mut view, octets, body, span.end);
            view.drained = self.sending.is_drained();
            if octets < stride {
                break;
            }
        }
        drop(begun);
        if written > 0 {
            self.leave_together(&view, written, memory);
        }
        if count == 0 {
            memory.blocks.pool.give(block);
            return None;
        }
        Some(Batch::new(memory.blocks.lend(block, start, end), stride))
    }

    /// The first pieces that wait have left together.
    #[inline]
    pub(super) fn leave_together(&mut self, view: &View, count: usize, memory: &Memory<C::Message>) {
        let stamp = self.asked.wrapping_add(1);
        self.sending.on_together(count, view.now, stamp, &memory.pool);
    }

    /// Writes the packet of a piece to where it leaves from, where it fits and is no longer than `stride`, if that is not 0. `rest`: what
    /// is left of its message, of which a piece was written before; `None`: the message that waits first begins. Gives its octets.
    #[inline]
    fn write(
        &mut self,
        view: &View,
        cargo: Cargo<'_>,
        rest: Option<&C::Message>,
        header: &mut Vec<u8>,
        into: &mut [u8],
        stride: usize,
    ) -> Option<usize> {
        let followed = if rest.is_some() { self.slots.format.follow(header, &cargo, into) } else { None };
        let before = match followed {
            Some(before) => before,
            None => {
                self.write_header(view, cargo, header);
                into.get_mut(..header.len())?.copy_from_slice(header);
                header.len()
            }
        };
        let octets = before + cargo.octets;
        if stride > 0 && octets > stride {
            return None;
        }
        let body = into.get_mut(before..octets)?;
        let copied = rest.or_else(|| self.sending.first_body())?.copy_to(body);
        (copied == cargo.octets).then_some(octets)
    }

    /// Writes what stands before a piece.
    #[inline]
    pub(super) fn write_header(&mut self, view: &View, cargo: Cargo<'_>, header: &mut Vec<u8>) {
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
        debug_assert!(saying.unit.is_none(), "a format that writes runs takes each unit as it is");
    }

    /// Whether a question leaves with the next piece.
    #[inline]
    pub(super) fn asks(&self, view: &View, last: bool) -> bool {
        let slots = &self.slots;
        slots.inquiry.due(view, Occasion::Unit { last }) || slots.congestion.asks(view)
    }

    /// Packets of so many octets have left, with those of their pieces, and the numbers before `end`: as in
    /// [`transmit`](Association::transmit), whoever wants to know is told. One packet, or [several](Association::choose_several).
    #[inline]
    pub(super) fn on_boarded(&mut self, view: &mut View, octets: usize, body: usize, end: u64) {
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

/// Whether a run of which so many octets are written, of `most`, ends before a message whose packets have so many: it is long enough,
/// and another run has room for the whole message, which the peer then gets in one piece.
pub(super) fn ends_before(message: usize, written: usize, most: usize) -> bool {
    2 * written > most && written + message > most && message <= most
}
