//! Messages that wait, and what is cut off them.

use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_wire::{Message, Pool};

use super::{Sending, Sent, State};
use crate::words::{Label, Unit};

/// What the message that waits first is cut into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// The number of the first piece, and what it is.
    number: u64,
    label: Label,
    /// How many octets each has, but the last, and all of them.
    piece: usize,
    octets: usize,
}

impl Ahead {
    /// How many pieces there are.
    #[inline]
    pub(crate) fn pieces(&self) -> usize {
        self.octets.div_ceil(self.piece)
    }

    /// The octets of the first `count` pieces.
    #[inline]
    pub(crate) fn octets(&self, count: usize) -> usize {
        self.octets.min(count * self.piece)
    }

    /// Those behind the first `count`, of which there are as many.
    #[inline]
    pub(crate) fn behind(&self, count: usize) -> Self {
        Ahead {
            number: self.number + count as u64,
            label: Label { index: self.label.index + count as u32, ..self.label },
            piece: self.piece,
            octets: self.octets - self.octets(count),
        }
    }

    /// What piece `place` is, where there is one: its numbers and its label.
    #[inline]
    pub(crate) fn piece(&self, place: usize) -> (Range<u64>, Label) {
        let number = self.number + place as u64;
        let last = self.octets <= (place + 1) * self.piece;
        (number..number + 1, Label { index: self.label.index + place as u32, last, ..self.label })
    }
}

/// A message of which something has not left yet.
#[derive(Debug)]
pub(super) struct Waiting<M> {
    rest: M,
    /// Of every piece, but for its index.
    label: Label,
    /// Of the next piece. It stands apart: it was written just now, and is read alone, not with its neighbours, which would wait until
    /// all that was written before it, the octets of a piece, has left the processor.
    index: u32,
    /// The octets of every piece but the last.
    piece: usize,
    since: Instant,
    lifetime: Option<NonZeroU32>,
    /// What the layer above gets back for it.
    octets: usize,
}

impl<M: Message> Waiting<M> {
    /// Its pieces, of which the first will have this number.
    #[inline]
    pub(super) fn ahead(&self, number: u64) -> Ahead {
        let label = Label { index: self.index, ..self.label };
        Ahead { number, label, piece: self.piece, octets: self.rest.len() }
    }

    /// What stands before each of its pieces, as [`gaps`](Message::gaps).
    #[inline]
    pub(super) fn gaps(&mut self) -> impl Iterator<Item = (&mut [u8], usize)> {
        self.rest.gaps()
    }

    /// Copies its octets; gives how many.
    #[inline]
    pub(super) fn copy_next(&self, into: &mut [u8]) -> usize {
        self.rest.copy_to(into)
    }

    /// All that has not left, in pieces of so many octets, and what is wished of it.
    pub(super) fn rest(&self) -> (M, usize, Instant, Option<NonZeroU32>) {
        (self.rest.share(), self.piece, self.since, self.lifetime)
    }

    /// The same, and what the layer above gets back: of one of which all has left.
    #[inline]
    pub(super) fn into_rest(self) -> (M, usize, Instant, Option<NonZeroU32>, Option<usize>) {
        (self.rest, self.piece, self.since, self.lifetime, Some(self.octets))
    }

    /// Whether so many octets are all that is left.
    pub(super) fn is_left(&self, octets: usize) -> bool {
        octets == self.rest.len()
    }

    /// So many pieces have left. Gives what the layer above gets back when all has: then it is to be forgotten.
    #[inline]
    pub(super) fn pass(&mut self, pieces: u32, octets: usize) -> Option<usize> {
        if octets == self.rest.len() {
            return Some(self.octets);
        }
        self.rest.advance(octets);
        self.index += pieces;
        None
    }

    pub(super) fn next_octets(&self) -> usize {
        self.rest.len().min(self.piece)
    }

    /// The octets of the piece after so many others; `None`: there is none. A message of no octets has a piece all the same.
    #[inline]
    pub(super) fn octets_after(&self, pieces: usize) -> Option<usize> {
        let left = self.rest.len().checked_sub(pieces * self.piece)?;
        (left > 0 || pieces == 0).then_some(left.min(self.piece))
    }
}

impl<M: Message> Sending<M> {
    /// A message of the layer above, whose `octets` it gets back when all is done. It is cut into pieces of `piece` octets as
    /// they leave.
    #[inline(always)] // a message is not moved to get there
    pub(crate) fn push(
        &mut self,
        message: M,
        label: Label,
        piece: usize,
        octets: usize,
        since: Instant,
        lifetime: Option<NonZeroU32>,
    ) {
        debug_assert!(piece > 0, "a piece has octets");
        self.waiting_octets += message.len();
        let waiting = Waiting { rest: message, label, index: label.index, piece, since, lifetime, octets };
        // What is more urgent overtakes what waits, not what has its number.
        if self.waiting.back().is_none_or(|last| last.label.priority <= label.priority) {
            return self.waiting.push_back(waiting);
        }
        let place = self.waiting.partition_point(|other| other.label.priority <= label.priority);
        self.waiting.insert(place, waiting);
    }

    /// How many messages wait, one of which may have left in part.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many octets wait that have no number yet.
    #[inline]
    pub fn waiting_octets(&self) -> usize {
        self.waiting_octets
    }

    /// Since when the first one waits, and for how long it is of use.
    pub(super) fn first_waiting(&self) -> Option<(Instant, Option<NonZeroU32>)> {
        self.waiting.front().map(|waiting| (waiting.since, waiting.lifetime))
    }

    /// The first one is of no use any more.
    pub(super) fn drop_waiting(&mut self, pool: &Pool<M>) {
        if let Some(waiting) = self.waiting.pop_front() {
            self.release(waiting.octets);
            self.waiting_octets -= waiting.rest.len();
            waiting.rest.reclaim(pool);
        }
    }

    /// The next piece gets its number, and becomes a unit.
    #[inline]
    pub(super) fn cut(&mut self, pool: &Pool<M>, headroom: usize) -> Option<()> {
        let waiting = self.waiting.front_mut()?;
        if waiting.index > 0 || waiting.rest.len() > waiting.piece {
            return self.cut_off(pool, headroom);
        }
        let waiting = self.waiting.pop_front()?;
        let label = Label { last: true, ..waiting.label };
        self.number(waiting.rest, label, waiting.since, waiting.lifetime, Some(waiting.octets));
        Some(())
    }

    /// One piece of several. It stays where it is in the message, where messages can be shared: a header then stands by itself.
    /// Else it gets a block of its own.
    fn cut_off(&mut self, pool: &Pool<M>, headroom: usize) -> Option<()> {
        let waiting = self.waiting.front_mut()?;
        let (since, lifetime) = (waiting.since, waiting.lifetime);
        let ahead = waiting.ahead(0);
        let (octets, (_, label)) = (ahead.octets(1), ahead.piece(0));
        let piece = waiting.rest.split_to(octets);
        waiting.index += 1;
        let release = label.last.then_some(waiting.octets);
        if label.last {
            self.waiting.pop_front();
        }
        let body = if M::SHARES { piece } else { piece.copy_into(pool, headroom) };
        self.number(body, label, since, lifetime, release);
        Some(())
    }

    #[inline(always)] // as `push`
    fn number(
        &mut self,
        body: M,
        label: Label,
        since: Instant,
        lifetime: Option<NonZeroU32>,
        release: Option<usize>,
    ) {
        self.waiting_octets -= body.len();
        let end = self.sent_upto + self.numbers(body.len());
        debug_assert!(end > self.sent_upto, "a unit has at least one number");
        self.units.push_back(Sent {
            unit: Unit { span: self.sent_upto..end, label, body, since, lifetime },
            at: Instant::START,
            order: 0,
            times: 0,
            stamp: 0,
            release,
            state: State::Numbered,
        });
    }
}
