//! What waits to be sent, what was sent, and what counts as lost. A mechanism: it judges nothing.
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
use stackwright_wire::{Message, Pool};

use crate::words::{Epoch, Label, Numbering};
use messages::Messages;
use numbers::{Expired, Numbers};
use sent::SentQueue;
use waiting::{Payload, Waiting};

pub(crate) use pieces::Pieces;
pub(crate) use sent::Settling;
pub use sent::{Acknowledged, Suspect};

/// What waits to be sent, and what was sent and is not settled.
#[derive(Debug)]
pub struct Sending<M> {
    pub(crate) waiting: Waiting<M>,
    pub(crate) sent: SentQueue<M>,
    pub(crate) messages: Messages,
    /// The numbers of messages, if the application chooses them.
    numbers: Option<Box<Numbers<M>>>,
    expired: Expired,
}

/// How packets leave.
#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) now: Instant,
    /// The first inquiry that covers them.
    pub(crate) inquiry_number: u32,
    pub(crate) in_parts: bool,
    /// Whether they are kept until they are acknowledged; else they are settled.
    pub(crate) is_kept: bool,
}

/// What leaves next: pieces that wait, or the lowest lost range.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// Number of the first packet.
    pub(crate) start: u64,
    numbering: Numbering,
    pub(crate) pieces: Pieces,
    /// The number of packets that may leave together at most: the first of the pieces.
    pub(crate) count: usize,
    /// Since when they wait, and for how long they are of use.
    pub(crate) wish: (Instant, Option<NonZeroU32>),
    pub(crate) epoch: Epoch,
    pub(crate) is_lost: bool,
}

impl Next {
    #[inline(always)] // most of it is not looked at
    fn of<M>(
        payload: &Payload<M>,
        start: u64,
        numbering: Numbering,
        count: usize,
        is_lost: bool,
    ) -> Self {
        let (wish, epoch) = ((payload.since, payload.lifetime), payload.epoch);
        Next { start, numbering, pieces: payload.pieces, count, wish, epoch, is_lost }
    }

    /// Returns the number of packet `index`.
    #[inline]
    pub(crate) fn number(&self, index: usize) -> u64 {
        self.start + self.pieces.numbers(index, self.numbering)
    }

    /// Returns the numbers of the first packet.
    #[inline]
    pub(crate) fn span(&self) -> Range<u64> {
        self.start..self.number(1)
    }

    /// Returns how many packets have no other numbers than the next `numbers`.
    #[inline]
    pub(crate) fn within(&self, numbers: usize) -> usize {
        match self.numbering {
            Numbering::Packets => numbers,
            Numbering::Octets => self.pieces.whole(numbers),
        }
    }

    /// Returns the first `count` packets.
    #[inline]
    pub(crate) fn first(self, count: usize) -> Self {
        Next { count, ..self }
    }

    /// Returns what follows the first `count` packets, at least one of which there is.
    #[inline]
    pub(crate) fn skip(&self, count: usize) -> Self {
        Next {
            start: self.number(count),
            pieces: self.pieces.skip(count),
            count: self.count - count,
            ..*self
        }
    }
}

impl<M: Message> Sending<M> {
    /// Creates a state in which nothing was sent; the first number will be `first`.
    pub(crate) const fn new(numbering: Numbering, first: u64) -> Self {
        Sending {
            waiting: Waiting::new(),
            sent: SentQueue::new(numbering, first),
            messages: Messages::new(),
            numbers: None,
            expired: Expired::NONE,
        }
    }

    /// Returns the octets in flight: sent, and neither acknowledged nor lost.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.sent.in_flight()
    }

    /// Returns whether everything that was sent is settled.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns whether nothing waits to be sent, again or for the first time.
    #[inline]
    pub fn is_drained(&self) -> bool {
        !self.is_losing() && self.waiting.is_empty()
    }

    /// Returns whether several packets leave next, whether lost or new.
    #[inline]
    pub(crate) fn has_several(&self) -> bool {
        match self.sent.lost_packets() {
            0 => self.waiting.second_octets().is_some(),
            lost => lost > 1,
        }
    }

    /// Returns whether the unit that leaves next leaves for the first time, and nothing else waits.
    pub(crate) fn is_lone(&self) -> bool {
        !self.is_losing() && !self.has_several()
    }

    /// Returns whether a retransmission leaves next.
    #[inline]
    pub(crate) fn is_losing(&self) -> bool {
        self.sent.lost_packets() > 0
    }

    /// Returns the number after the last one sent.
    #[inline]
    pub fn sent_upto(&self) -> u64 {
        self.sent.sent_upto()
    }

    /// Returns the lowest number that was sent and is not settled.
    #[inline]
    pub fn settled_upto(&self) -> u64 {
        self.sent.settled_upto()
    }

    /// Returns how many messages wait, one of which may have left in part.
    pub fn waiting(&self) -> usize {
        self.waiting.messages() + self.numbers.as_ref().map_or(0, |numbers| numbers.held())
    }

    /// Returns the octets that wait to be sent for the first time.
    #[inline]
    pub fn waiting_octets(&self) -> usize {
        self.waiting.octets()
    }

    /// Allocates memory for one message, where growing queues would begin with four: most
    /// associations never have more on its way.
    #[cold]
    #[inline(never)]
    pub(crate) fn furnish(&mut self) {
        self.waiting.furnish();
        self.sent.furnish();
    }

    /// Frees memory when nothing is in flight and nothing waits.
    pub(crate) fn shrink(&mut self) {
        self.waiting.shrink();
        self.sent.shrink();
    }

    /// Enters messages of the application, one behind the other and equally long, and how they are
    /// cut as they leave: the label of the first piece, and the octets of each. The application
    /// gets `credit` octets back for each message when all of it is settled.
    #[inline(always)] // a message is not moved to get there
    pub(crate) fn push(
        &mut self,
        (body, label, piece): (M, Label, usize),
        messages: u32,
        credit: usize,
        (since, epoch): (Instant, Epoch),
        lifetime: Option<NonZeroU32>,
    ) {
        let (serial, each) = (self.messages.enter(messages), body.len() / messages as usize);
        let pieces = Pieces::new(label, serial, piece, each).and(messages - 1);
        let payload = Payload { pieces, body, since, lifetime, epoch, credit };
        if self.watches_numbers() && label.count > 1 {
            return self.wait_for_number(payload);
        }
        self.waiting.push(payload);
    }

    /// Returns how many numbers a packet of `octets` octets has.
    #[inline]
    pub(crate) fn numbers_in(&self, octets: usize) -> u64 {
        match self.sent.numbering() {
            Numbering::Packets => 1,
            Numbering::Octets => octets as u64,
        }
    }

    /// Returns what could leave next: lost packets first.
    #[inline(always)] // for each packet, more than once
    pub(crate) fn next(&mut self) -> Option<Next> {
        if self.is_losing() {
            return self.next_lost();
        }
        if self.waits_for_first() {
            return None;
        }
        let payload = self.waiting.first()?;
        let count = if self.leaves_alone() { 1 } else { usize::MAX };
        Some(Next::of(payload, self.sent.sent_upto(), self.sent.numbering(), count, false))
    }

    #[inline(never)]
    fn next_lost(&mut self) -> Option<Next> {
        let numbering = self.sent.numbering();
        let range = self.sent.first_lost()?;
        let mut next = Next::of(&range.payload, range.numbers.start, numbering, range.count, true);
        if range.is_abandoned() {
            next.pieces = next.pieces.without_octets();
        }
        Some(next)
    }

    /// Returns the octets of what leaves next, and perhaps of what follows it.
    pub(crate) fn body(&mut self) -> Option<&M> {
        let payload = if self.is_losing() {
            &self.sent.first_lost()?.payload
        } else {
            self.waiting.first()?
        };
        Some(&payload.body)
    }

    /// Returns a part of the octets of the next packet, with `headroom` octets before them if they
    /// have to be copied.
    pub(crate) fn part(&mut self, part: Range<usize>, headroom: usize) -> Option<M> {
        let whole = self.body()?;
        if !M::SHARES {
            let mut octets = vec![0; part.end];
            whole.copy_to(&mut octets);
            return Some(M::with_headroom(headroom, &octets[part.start..]));
        }
        let mut body = whole.share();
        body.truncate(part.end);
        body.advance(part.start);
        Some(body)
    }

    /// Returns the octets of what could follow it, and the number after its last one.
    pub(crate) fn second(&self) -> Option<(usize, u64)> {
        let fresh = |octets: usize, upto: u64| (octets, upto + self.numbers_in(octets));
        let (first, upto) =
            (|| Some(self.waiting.first()?.pieces.first_octets()), self.sent.sent_upto());
        match self.sent.lost_packets() {
            0 if self.leaves_alone() => None,
            0 => Some(fresh(self.waiting.second_octets()?, fresh(first()?, upto).1)),
            1 => Some(fresh(first()?, upto)),
            _ => Some((1, 0)), // it had its number before; nothing is shorter
        }
    }

    /// Returns the epoch of what could follow it.
    pub(crate) fn second_epoch(&self) -> Option<Epoch> {
        let behind = usize::from(!self.is_losing());
        self.waiting.epoch(behind)
    }

    /// Records that the first `octets` octets of what leaves [next](Self::next) left in parts:
    /// until the last part has left, nothing new overtakes it.
    pub(crate) fn hold(&mut self, octets: usize) {
        if !self.is_losing() {
            self.waiting.hold(octets);
        }
    }

    /// Returns the number after the last one that the peer may have received: where octets have
    /// numbers, a part has some before its unit counts as sent.
    #[cold]
    pub(crate) fn left_upto(&self) -> u64 {
        match self.sent.numbering() {
            Numbering::Packets => self.sent.sent_upto(),
            Numbering::Octets => self.sent.sent_upto() + self.waiting.held() as u64,
        }
    }

    /// Sends the first `count` packets of what leaves [next](Self::next), as the packet that `pack`
    /// makes of their body.
    #[inline(always)] // a packet is not moved once more
    pub(crate) fn leave<T>(
        &mut self,
        count: usize,
        leaving: Leaving,
        (pool, headroom): (&Pool<M>, usize),
        pack: impl FnOnce(&mut M) -> T,
    ) -> Option<T> {
        let range = if self.is_losing() {
            self.sent.resend(count, &leaving)?
        } else {
            if self.leaves_alone() {
                self.on_alone();
            }
            let payload = self.waiting.leave(count, pool, headroom)?;
            self.sent.push(payload, count, &leaving)
        };
        let (packet, number) = (pack(&mut range.payload.body), range.numbers.start);
        if !leaving.is_kept {
            self.settle_sent(number, pool);
        }
        Some(packet)
    }

    #[inline(never)]
    fn settle_sent(&mut self, number: u64, pool: &Pool<M>) {
        if let Some((payload, count)) = self.sent.take(number) {
            self.settle(payload, count, pool);
        }
    }

    /// Settles pieces that will not be acknowledged, which are all that the body holds.
    fn settle(&mut self, payload: Payload<M>, count: usize, pool: &Pool<M>) {
        self.messages.settle(&payload.pieces, count, payload.credit);
        payload.body.reclaim(pool);
        self.free_numbers();
    }

    /// Abandons the lost packet that leaves next, if it left `times` times or more.
    #[cold]
    pub(crate) fn abandon_first(&mut self, times: u16, pool: &Pool<M>) {
        if let Some((pieces, body)) = self.sent.abandon_first(times) {
            self.messages.abandon(pieces);
            body.reclaim(pool);
        }
    }

    /// Drops what leaves next, which is of no use any more. A number that never left is used again.
    #[cold]
    pub(crate) fn drop_first(&mut self, pool: &Pool<M>) {
        let dropped = match self.is_losing() {
            true => self
                .sent
                .first_lost()
                .map(|range| range.numbers.start)
                .and_then(|number| self.sent.take(number))
                .map(|(payload, count)| (payload, count, true)),
            false => self.waiting.take_message().map(|payload| {
                let (count, is_begun) = (payload.pieces.in_message(), payload.is_begun());
                (payload, count, is_begun)
            }),
        };
        let Some((payload, count, is_begun)) = dropped else { return };
        if is_begun {
            self.expire(&payload.pieces, count);
        }
        self.settle(payload, count, pool);
    }
}
