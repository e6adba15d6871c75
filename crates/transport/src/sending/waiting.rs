//! Messages that wait, and what is cut off them.

use core::num::NonZeroU32;
use core::ptr;

use stackwright_contract::Instant;
use stackwright_wire::{Message, Pool, Stretch};

use super::ahead::Ahead;
use super::{Sending, Sent, State};
use crate::words::{Label, Unit};

/// A message of which something has not left yet, and others that were sent together with it.
#[derive(Debug)]
pub(super) struct Waiting<M> {
    rest: M,
    /// Of every piece of the first message, but for its index.
    pub(super) label: Label,
    /// Of the next piece. It stands apart: it was written just now, and is read alone, not with its neighbours, which would wait until
    /// all that was written before it, the octets of a piece, has left the processor.
    index: u32,
    /// The octets of every piece but the last of a message.
    piece: usize,
    /// How many messages follow the first, and how many octets each has.
    pub(super) more: u32,
    each: usize,
    /// How many octets are left of the first message.
    pub(super) left: usize,
    since: Instant,
    lifetime: Option<NonZeroU32>,
    /// What the layer above gets back for a message.
    octets: usize,
}

impl<M: Message> Waiting<M> {
    /// Its pieces, of which the first will have this number.
    #[inline]
    pub(super) fn ahead(&self, number: u64) -> Ahead {
        let label = Label { index: self.index, ..self.label };
        Ahead::new(number, label, self.piece, self.left).and(self.more, self.each)
    }

    /// Its pieces, if it is several messages, and nothing of the first has left.
    #[inline]
    pub(super) fn together(&self) -> Option<Ahead> {
        (self.more > 0 && self.index == 0).then(|| self.ahead(0))
    }

    /// What stands between the first `count` pieces, and so many octets before them, with those pieces: as
    /// [`with_gaps`](Message::with_gaps).
    #[inline]
    pub(super) fn with_gaps(&self, before: usize, count: usize) -> Option<M> {
        self.rest.with_gaps(before, count)
    }

    /// The first of several messages, and so many behind it, which leave by themselves; `None` where there are no others.
    #[inline]
    pub(super) fn split_to(&mut self, behind: u32) -> Option<Self> {
        let more = self.more.checked_sub(behind + 1)?;
        let octets = self.left + behind as usize * self.each;
        let first = Waiting { rest: self.rest.split_to(octets), more: behind, ..*self };
        self.label.message = self.label.message.wrapping_add(behind + 1);
        (self.more, self.index, self.left) = (more, 0, self.each);
        Some(first)
    }

    /// Its pieces, with what may be written before them: as [`stretches`](Message::stretches).
    #[inline]
    pub(super) fn stretches(&mut self) -> impl Iterator<Item = Stretch<'_>> {
        self.rest.stretches()
    }

    /// Copies its octets; gives how many.
    #[inline]
    pub(super) fn copy_next(&self, into: &mut [u8]) -> usize {
        self.rest.copy_to(into)
    }

    /// All that has not left, and perhaps other messages behind it, in pieces of so many octets, and what is wished of it.
    pub(super) fn rest(&self) -> (M, usize, Instant, Option<NonZeroU32>) {
        (self.rest.share(), self.piece, self.since, self.lifetime)
    }

    /// The same of messages of which all has left, and what the layer above gets back for each.
    #[inline]
    pub(super) fn into_rest(self) -> (M, Instant, Option<NonZeroU32>, Option<usize>) {
        (self.rest, self.since, self.lifetime, Some(self.octets))
    }

    /// So many pieces of the first message have left. Gives what the layer above gets back when all has: then it is to be forgotten.
    #[inline]
    pub(super) fn pass(&mut self, pieces: u32, octets: usize) -> Option<usize> {
        if octets == self.rest.len() {
            return Some(self.octets);
        }
        debug_assert!(octets < self.left, "messages that have left are split off");
        self.rest.advance(octets);
        self.left -= octets;
        self.index += pieces;
        None
    }

    pub(super) fn next_octets(&self) -> usize {
        self.left.min(self.piece)
    }

    /// The octets of the second piece; `None`: there is none.
    #[inline]
    pub(super) fn second_octets(&self) -> Option<usize> {
        match self.left.checked_sub(self.piece) {
            Some(left) if left > 0 => Some(left.min(self.piece)),
            _ => (self.more > 0).then_some(self.each.min(self.piece)),
        }
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
        let (index, more, each, left) = (label.index, 0, 0, message.len());
        self.wait(Waiting { rest: message, label, index, piece, more, each, left, since, lifetime, octets });
    }

    /// Several messages in pieces, one behind the other, of which nothing is wished; the layer above gets back `octets` for each. `label`
    /// is that of the first.
    pub(crate) fn push_run(
        &mut self,
        run: M,
        messages: usize,
        label: Label,
        piece: usize,
        octets: usize,
        since: Instant,
    ) {
        let (each, more) = (run.len() / messages, messages as u32 - 1);
        debug_assert_eq!(label.count as usize, each.div_ceil(piece), "its pieces were counted");
        let (index, lifetime) = (label.index, None);
        self.wait(Waiting {
            rest: run,
            label,
            index,
            piece,
            more,
            each,
            left: each,
            since,
            lifetime,
            octets,
        });
    }

    #[inline(always)] // as `push`
    fn wait(&mut self, waiting: Waiting<M>) {
        if self.watches_numbers() && waiting.label.count > 1 {
            return self.wait_for_number(waiting);
        }
        self.queue(waiting);
    }

    #[inline(always)] // as `push`
    pub(super) fn queue(&mut self, waiting: Waiting<M>) {
        self.waiting_octets += waiting.rest.len();
        // What is more urgent overtakes what waits, not what has its number.
        if self.waiting.back().is_none_or(|last| last.label.priority <= waiting.label.priority) {
            return self.waiting.push_back(waiting);
        }
        self.overtake(waiting);
    }

    /// It leaves before others that are less urgent. The peer holds what it has of a message that was begun: so the first one, if it
    /// was, is overtaken only as long as those that are have no more octets together than may be.
    #[inline(never)]
    fn overtake(&mut self, waiting: Waiting<M>) {
        let priority = waiting.label.priority;
        let is_begun = |first: &Waiting<M>| first.index > 0;
        let begun = self.waiting.front().filter(|first| is_begun(first));
        let place = self.waiting.partition_point(|other| {
            begun.is_some_and(|begun| ptr::eq(begun, other)) || other.label.priority <= priority
        });
        let place = match begun.map(|begun| (begun.label.priority > priority, begun.octets)) {
            Some((true, octets)) if place == 1 && self.may_overtake(octets) => 0,
            _ => place,
        };
        self.waiting.insert(place, waiting);
    }

    /// Whether the first one, of so many octets, which was begun, may be overtaken. Then it is.
    fn may_overtake(&mut self, octets: usize) -> bool {
        let fits = |overtaken: usize| overtaken.saturating_add(octets) <= self.overtaken_most;
        let mut overtaken = self.overtaken;
        if !fits(overtaken) {
            // Some may have left since.
            let begun = self.waiting.iter().skip(1).filter(|other| other.index > 0);
            overtaken = begun.map(|other| other.octets).sum();
        }
        let fits = fits(overtaken);
        self.overtaken = overtaken.saturating_add(if fits { octets } else { 0 });
        fits
    }

    /// How many messages wait, one of which may have left in part.
    pub fn waiting(&self) -> usize {
        let held = self.numbers.as_ref().map_or(0, |numbers| numbers.held());
        held + self.waiting.iter().map(|waiting| 1 + waiting.more as usize).sum::<usize>()
    }

    /// What is not done for several messages at once is done for the first of them.
    #[inline]
    pub(crate) fn separate(&mut self) {
        if self.waiting.front().is_some_and(|waiting| waiting.more > 0) {
            self.separate_first();
        }
    }

    #[inline(never)]
    fn separate_first(&mut self) {
        if let Some(first) = self.waiting.front_mut().and_then(|waiting| waiting.split_to(0)) {
            self.waiting.push_front(first);
        }
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
        self.separate();
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
        self.separate();
        let waiting = self.waiting.front_mut()?;
        let (since, lifetime) = (waiting.since, waiting.lifetime);
        let ahead = waiting.ahead(0);
        let (octets, label) = (ahead.octets(1), *ahead.label());
        let piece = waiting.rest.split_to(octets);
        waiting.left -= octets;
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
            in_parts: false,
            release,
            state: State::Numbered,
        });
    }
}
