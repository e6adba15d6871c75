//! What waits to be sent, what was sent, and what is believed to be lost. A mechanism: it judges nothing.
//!
//! ```text
//! send ─▸ waiting ─▸ (cut, numbered) ─▸ in flight ─▸ settled
//!                                         │   ▴
//!                                         ▼   │
//!                                         lost
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `pieces.rs` | how messages are cut |
//! | `waiting.rs` | messages whose pieces have no number yet |
//! | `numbers.rs` | messages whose own number another one has |
//! | `sent/` | packets that have one, until they are settled |
//! | `messages.rs` | when the application may send again |

mod messages;
mod numbers;
mod pieces;
mod sent;
mod waiting;

use alloc::boxed::Box;
use alloc::vec;
use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::Credit;
use stackwright_wire::{Message, Pool, SegmentsMut};

use crate::words::{Cargo, Label, Numbering};
use messages::Messages;
use numbers::{Expired, Numbers};
use sent::{SentQueue, Settling};
use waiting::{Payload, Waiting};

pub(crate) use pieces::Pieces;
pub use sent::{Acknowledged, Suspect};

/// What waits to be sent, and what was sent and is not settled.
#[derive(Debug)]
pub struct Sending<M> {
    pub(crate) waiting: Waiting<M>,
    pub(crate) sent: SentQueue<M>,
    messages: Messages,
    /// Where an application chooses numbers of messages.
    numbers: Option<Box<Numbers<M>>>,
    expired: Expired,
}

/// How a packet leaves.
#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) now: Instant,
    /// The first inquiry that covers it.
    pub(crate) inquiry_number: u32,
    pub(crate) in_parts: bool,
    /// Whether it is kept until it is acknowledged; else it is settled.
    pub(crate) is_kept: bool,
}

/// The packet that leaves next.
pub(crate) struct Next<'a, M> {
    /// Its numbers.
    pub(crate) span: Range<u64>,
    /// Its octets, and those of what follows it in its message.
    payload: &'a Payload<M>,
}

impl<M: Message> Next<'_, M> {
    #[inline]
    pub(crate) fn cargo(&self) -> Cargo<'_> {
        let pieces = &self.payload.pieces;
        Cargo { span: &self.span, label: pieces.label(), octets: pieces.first_octets() }
    }

    /// Since when it waits, and for how long it is of use.
    #[inline]
    pub(crate) fn wish(&self) -> (Instant, Option<NonZeroU32>) {
        (self.payload.since, self.payload.lifetime)
    }

    /// Returns a part of its octets, with `headroom` octets before them where they have to be copied.
    pub(crate) fn part(&self, part: Range<usize>, headroom: usize) -> M {
        let whole = &self.payload.body;
        if !M::SHARES {
            let mut octets = vec![0; part.end];
            whole.copy_to(&mut octets);
            return M::with_headroom(headroom, &octets[part.start..]);
        }
        let mut body = whole.share();
        body.truncate(part.end);
        body.advance(part.start);
        body
    }
}

impl<M: Message> Sending<M> {
    /// Nothing was sent; the first number will be `first`.
    pub(crate) const fn new(numbering: Numbering, first: u64) -> Self {
        Sending {
            waiting: Waiting::new(),
            sent: SentQueue::new(numbering, first),
            messages: Messages::new(),
            numbers: None,
            expired: Expired::NONE,
        }
    }

    /// Octets in flight: sent, and neither acknowledged nor lost.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.sent.in_flight()
    }

    /// Whether everything that was sent is settled.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.sent.is_empty()
    }

    /// Whether nothing waits to be sent, again or for the first time.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.sent.lost_packets() == 0 && self.waiting.is_empty()
    }

    /// Whether several packets wait, and none that was lost leaves before them.
    #[inline]
    pub(crate) fn has_several(&self) -> bool {
        self.sent.lost_packets() == 0 && self.waiting.has_several()
    }

    /// Whether something that was lost leaves next.
    #[inline]
    pub(crate) fn is_losing(&self) -> bool {
        self.sent.lost_packets() > 0
    }

    /// Number after the last one sent.
    #[inline]
    pub fn sent_upto(&self) -> u64 {
        self.sent.sent_upto()
    }

    /// The lowest number that was sent and is not settled.
    #[inline]
    pub fn settled_upto(&self) -> u64 {
        self.sent.settled_upto()
    }

    /// Returns how many messages wait, one of which may have left in part.
    pub fn waiting(&self) -> usize {
        self.waiting.messages() + self.numbers.as_ref().map_or(0, |numbers| numbers.held())
    }

    /// Octets that wait to be sent for the first time.
    #[inline]
    pub fn waiting_octets(&self) -> usize {
        self.waiting.octets()
    }

    /// Whether it holds no memory: it never had a message, or has given all back.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.waiting.is_bare()
    }

    /// Takes memory for one message, where queues that grow would begin with four: most associations never have more on its way.
    #[cold]
    #[inline(never)]
    pub(crate) fn furnish(&mut self) {
        self.waiting.furnish();
        self.sent.furnish();
    }

    /// Nothing is in flight, and nothing waits: memory is given back.
    pub(crate) fn shrink(&mut self) {
        self.waiting.shrink();
        self.sent.shrink();
    }

    /// Whether the application may send something again.
    #[inline]
    pub(crate) fn has_released(&self) -> bool {
        self.messages.released != Credit::default()
    }

    /// Returns what the application may send again for what was settled since this was asked last.
    pub(crate) fn released(&mut self) -> Credit {
        core::mem::take(&mut self.messages.released)
    }

    /// A message of so many octets is done with.
    pub(crate) fn release(&mut self, octets: usize) {
        self.messages.release(1, octets);
    }

    /// A message of the application, which gets `credit` octets back when all is done. It is cut into pieces of `piece` octets as they
    /// leave.
    #[inline(always)] // a message is not moved to get there
    pub(crate) fn push(
        &mut self,
        body: M,
        label: Label,
        piece: usize,
        credit: usize,
        since: Instant,
        lifetime: Option<NonZeroU32>,
    ) {
        let pieces = Pieces::new(label, self.messages.enter(1), piece, body.len());
        self.enter(Payload { pieces, body, since, lifetime, credit });
    }

    /// Several messages in pieces, one behind the other, of which nothing is wished; the application gets `credit` octets back for each.
    /// `label` is that of the first.
    pub(crate) fn push_run(
        &mut self,
        body: M,
        messages: usize,
        label: Label,
        piece: usize,
        credit: usize,
        since: Instant,
    ) {
        let (each, count) = (body.len() / messages, messages as u32);
        let pieces = Pieces::new(label, self.messages.enter(count), piece, each).and(count - 1);
        self.enter(Payload { pieces, body, since, lifetime: None, credit });
    }

    #[inline(always)] // as `push`
    fn enter(&mut self, payload: Payload<M>) {
        if self.watches_numbers() && payload.pieces.label().count > 1 {
            return self.wait_for_number(payload);
        }
        self.waiting.push(payload);
    }

    /// Returns how many numbers a packet of so many octets has.
    #[inline]
    pub(crate) fn numbers_in(&self, octets: usize) -> u64 {
        match self.sent.numbering() {
            Numbering::Packets => 1,
            Numbering::Octets => octets as u64,
        }
    }

    /// What could leave next. What was lost comes first.
    #[inline(always)] // for each packet, more than once
    pub(crate) fn next(&mut self) -> Option<Next<'_, M>> {
        if self.is_losing() {
            return self.next_lost();
        }
        if self.waits_for_first() {
            return None;
        }
        let numbering = self.sent.numbering();
        let (payload, start) = (self.waiting.first()?, self.sent.sent_upto());
        Some(Next { span: start..start + payload.pieces.numbers(1, numbering), payload })
    }

    #[inline(never)]
    fn next_lost(&mut self) -> Option<Next<'_, M>> {
        let numbering = self.sent.numbering();
        let range = self.sent.first_lost()?;
        let span = range.numbers.start..range.number(1, numbering);
        Some(Next { span, payload: &range.payload })
    }

    /// The octets of what could follow it, and the number after its last one.
    pub(crate) fn second(&self) -> Option<(usize, u64)> {
        let fresh = |octets: usize, upto: u64| (octets, upto + self.numbers_in(octets));
        let (first, upto) = (|| Some(self.waiting.first()?.pieces.first_octets()), self.sent.sent_upto());
        match self.sent.lost_packets() {
            0 if self.leaves_alone() => None,
            0 => Some(fresh(self.waiting.second_octets()?, fresh(first()?, upto).1)),
            1 => Some(fresh(first()?, upto)),
            _ => Some((1, 0)), // it had its number before; nothing is shorter
        }
    }

    /// What leaves [next](Self::next) leaves in parts: until the last of them has left, nothing fresh overtakes it.
    pub(crate) fn hold(&mut self) {
        if !self.is_losing() {
            self.waiting.hold();
        }
    }

    /// What leaves [next](Self::next) leaves, as the packet that `pack` makes of its body.
    #[inline(always)] // a packet is not moved once more
    pub(crate) fn leave<T>(
        &mut self,
        leaving: Leaving,
        (pool, headroom): (&Pool<M>, usize),
        pack: impl FnOnce(&mut M) -> T,
    ) -> Option<T> {
        if self.is_losing() {
            if leaving.is_kept {
                return Some(pack(self.sent.resend(1, &leaving)?));
            }
            let (mut payload, count) = self.sent.take_lost(1)?;
            let packet = pack(&mut payload.body);
            self.settle(payload, count, pool);
            self.free_numbers();
            return Some(packet);
        }
        if self.leaves_alone() && leaving.is_kept {
            self.on_alone();
        }
        let mut payload = self.waiting.leave(1, pool, headroom)?;
        if leaving.is_kept {
            return Some(pack(self.sent.push(payload, 1, &leaving)));
        }
        self.sent.pass(&payload.pieces, 1);
        let packet = pack(&mut payload.body);
        self.settle(payload, 1, pool);
        self.free_numbers();
        Some(packet)
    }

    /// Nobody will hear of these pieces, which are all that the body holds.
    fn settle(&mut self, payload: Payload<M>, count: usize, pool: &Pool<M>) {
        self.messages.settle(&payload.pieces, count, payload.credit);
        payload.body.reclaim(pool);
    }

    /// The pieces that leave next for the first time; `None` where there are none, or something that was lost leaves before them.
    #[inline]
    pub(crate) fn ahead(&self) -> Option<Pieces> {
        let is_next = !self.is_losing() && !self.leaves_alone() && !self.waits_for_first();
        if is_next { Some(self.waiting.first()?.pieces) } else { None }
    }

    /// The octets and the pieces of several messages that were sent together, if they are what leaves next and nothing of the first has left.
    #[inline]
    pub(crate) fn together(&self) -> Option<(u64, u64)> {
        let first = self.waiting.first()?;
        let pieces = &first.pieces;
        let whole = pieces.messages() > 1 && pieces.label().index == 0;
        whole.then(|| (first.body.len() as u64, pieces.count() as u64))
    }

    /// The octets of the first piece that waits.
    #[inline]
    pub(crate) fn first_octets(&self) -> Option<usize> {
        Some(self.waiting.first()?.pieces.first_octets())
    }

    /// The body of what waits first.
    #[inline]
    pub(crate) fn first_body(&self) -> Option<&M> {
        Some(&self.waiting.first()?.body)
    }

    /// Lends the segments of what waits first, with the gaps before them.
    #[inline]
    pub(crate) fn segments_mut(&mut self) -> SegmentsMut<'_> {
        self.waiting.first_mut().map_or_else(SegmentsMut::default, |first| first.body.segments_mut())
    }

    /// Since when what waits first does, and for how long it is of use.
    #[inline]
    pub(crate) fn waiting_wish(&self) -> (Instant, Option<NonZeroU32>) {
        self.waiting.first().map_or((Instant::START, None), |first| (first.since, first.lifetime))
    }

    /// The first `count` pieces that wait have left together.
    #[inline]
    pub(crate) fn on_together(&mut self, count: usize, now: Instant, inquiry_number: u32, pool: &Pool<M>) {
        if let Some(payload) = self.waiting.leave(count, pool, 0) {
            let leaving = Leaving { now, inquiry_number, in_parts: false, is_kept: true };
            self.sent.push(payload, count, &leaving);
        }
    }

    /// What leaves next: since when it waits, and for how long it is of use.
    #[inline]
    pub(crate) fn first_wish(&mut self) -> Option<(Instant, Option<NonZeroU32>)> {
        self.next().map(|next| next.wish())
    }

    /// What leaves next is of no use any more. What never left gives its number to another.
    #[cold]
    pub(crate) fn drop_first(&mut self, pool: &Pool<M>) {
        if self.is_losing() {
            if let Some((payload, count)) = self.sent.take_lost(usize::MAX) {
                self.expire(&payload.pieces, count);
                self.settle(payload, count, pool);
            }
        } else if let Some(payload) = self.waiting.take_message() {
            let count = payload.pieces.in_message();
            if payload.pieces.label().index > 0 {
                self.expire(&payload.pieces, count);
            }
            self.settle(payload, count, pool);
        }
    }

    /// The packets that lie in `span` have arrived. What was sent again later than `copies` did not arrive in this copy.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        span: Range<u64>,
        copies: Instant,
        pool: &Pool<M>,
        sum: &mut Acknowledged,
    ) {
        self.sent.acknowledge(span, &mut Settling { copies, messages: &mut self.messages, pool, sum });
    }
}
