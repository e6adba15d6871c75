//! Messages that wait to be sent, by urgency. Numbers are assigned when pieces leave.

use alloc::collections::VecDeque;
use core::mem;
use core::num::NonZeroU32;
use core::ptr;

use stackwright_contract::Instant;
use stackwright_wire::{Message, Pool, SegmentsMut};

use super::pieces::Pieces;
use crate::words::Epoch;

/// Messages, or what is left of them: how they are cut, their octets, and how long they are of use.
#[derive(Debug)]
pub(crate) struct Payload<M> {
    pub(crate) pieces: Pieces,
    pub(crate) body: M,
    /// When the application sent them.
    pub(crate) since: Instant,
    /// How long they are of use, in microseconds.
    pub(crate) lifetime: Option<NonZeroU32>,
    pub(crate) epoch: Epoch,
    /// Octets that the application gets back for each message.
    pub(super) credit: usize,
}

impl<M: Message> Payload<M> {
    /// Splits the first `count` pieces off, of `octets` octets; there are more.
    #[inline]
    pub(super) fn split_to(&mut self, count: usize, octets: usize) -> Self {
        let first = Payload { body: self.body.split_to(octets), ..*self };
        self.pieces = self.pieces.skip(count);
        first
    }

    /// Returns its place in the queue: nothing overtakes what was sent in an earlier epoch.
    #[inline]
    fn place(&self) -> (Epoch, u8) {
        (self.epoch, self.pieces.label().priority)
    }

    /// Returns whether a piece of its first message has left.
    #[inline]
    pub(super) fn is_begun(&self) -> bool {
        self.pieces.label().index > 0
    }
}

/// The send queue: the oldest epoch first, and of each the most urgent.
#[derive(Debug)]
pub(crate) struct Waiting<M> {
    queue: VecDeque<Payload<M>>,
    octets: usize,
    /// How many octets of the first piece have left in parts: nothing may overtake it then.
    held: usize,
    /// An upper bound of the octets of messages that were begun and overtaken; and how many there
    /// may be.
    overtaken: usize,
    overtaken_most: usize,
}

impl<M: Message> Waiting<M> {
    pub(super) const fn new() -> Self {
        Waiting {
            queue: VecDeque::new(),
            octets: 0,
            held: 0,
            overtaken: 0,
            overtaken_most: usize::MAX,
        }
    }

    /// Enters messages behind all that are as urgent.
    #[inline(always)] // a message is not moved to get there
    pub(super) fn push(&mut self, payload: Payload<M>) {
        self.octets += payload.body.len();
        if self.queue.back().is_none_or(|last| last.place() <= payload.place()) {
            return self.queue.push_back(payload);
        }
        self.overtake(payload);
    }

    /// Enters messages before others that are less urgent. The peer holds what it has of a message
    /// that was begun: so the first message, if begun, is overtaken only while all begun and
    /// overtaken ones together stay within the limit.
    #[inline(never)]
    fn overtake(&mut self, payload: Payload<M>) {
        let at = payload.place();
        let stays = self.queue.front().filter(|first| self.held > 0 || first.is_begun());
        let place = self.queue.partition_point(|other| {
            stays.is_some_and(|first| ptr::eq(first, other)) || other.place() <= at
        });
        let overtakes =
            place == 1 && self.held == 0 && stays.is_some_and(|first| first.place() > at);
        let place = if overtakes && self.may_overtake() { 0 } else { place };
        self.queue.insert(place, payload);
    }

    /// Returns whether the first message, which was begun, may be overtaken. If so, it is.
    fn may_overtake(&mut self) -> bool {
        let Some(first) = self.queue.front() else { return true };
        let octets = first.credit;
        let fits = |overtaken: usize| overtaken.saturating_add(octets) <= self.overtaken_most;
        let mut overtaken = self.overtaken;
        if !fits(overtaken) {
            // Some may have left since.
            let begun = self.queue.range(1..).filter(|other| other.is_begun());
            overtaken = begun.map(|other| other.credit).sum();
        }
        let fits = fits(overtaken);
        self.overtaken = overtaken.saturating_add(if fits { octets } else { 0 });
        fits
    }

    /// Returns what leaves next.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Payload<M>> {
        self.queue.front()
    }

    /// Lends the segments of what leaves next, with the gaps before them: none if the messages are
    /// not in a gapped buffer, or its block is shared.
    #[inline]
    pub(crate) fn segments_mut(&mut self) -> SegmentsMut<'_> {
        self.queue.front_mut().map_or_else(SegmentsMut::default, |first| first.body.segments_mut())
    }

    /// Returns the octets and the pieces of several messages that were sent together, if they are
    /// what leaves next and nothing of the first has left.
    #[inline]
    pub(crate) fn together(&self) -> Option<(u64, u64)> {
        let first = self.first()?;
        let whole = first.pieces.messages() > 1 && !first.is_begun();
        whole.then(|| (first.body.len() as u64, first.pieces.count() as u64))
    }

    /// Returns the octets of the second piece.
    #[inline]
    pub(super) fn second_octets(&self) -> Option<usize> {
        let second = self.queue.front()?.pieces.second_octets();
        second.or_else(|| Some(self.queue.get(1)?.pieces.first_octets()))
    }

    /// Returns the epoch of the piece behind the first, or of the first one, if `behind` is 0.
    pub(super) fn epoch(&self, behind: usize) -> Option<Epoch> {
        let first = self.queue.front()?;
        let is_alone = first.pieces.second_octets().is_none();
        self.queue.get(if is_alone { behind } else { 0 }).map(|payload| payload.epoch)
    }

    /// Takes the first `count` pieces of the first entry. One of several pieces stays where it is
    /// in its message, if messages can be shared: a header is then separate. Otherwise it gets a
    /// block of its own, with `headroom`.
    #[inline(always)] // as `push`
    pub(super) fn leave(
        &mut self,
        count: usize,
        pool: &Pool<M>,
        headroom: usize,
    ) -> Option<Payload<M>> {
        let first = self.queue.front_mut()?;
        let octets = first.pieces.octets(count);
        self.octets -= octets;
        if octets == first.body.len() && (M::SHARES || first.pieces.label().index == 0) {
            self.held = 0;
            return self.queue.pop_front();
        }
        self.leave_in_part(count, octets, pool, headroom)
    }

    fn leave_in_part(
        &mut self,
        count: usize,
        octets: usize,
        pool: &Pool<M>,
        headroom: usize,
    ) -> Option<Payload<M>> {
        let held = mem::take(&mut self.held);
        let first = self.queue.front_mut()?;
        let mut leaving = if octets < first.body.len() {
            let leaving = first.split_to(count, octets);
            if held > 0 {
                self.release_held();
            }
            leaving
        } else {
            self.queue.pop_front()?
        };
        if !M::SHARES {
            leaving.body = leaving.body.copy_into(pool, headroom);
        }
        Some(leaving)
    }

    /// Lets messages that could not overtake a piece in parts overtake what follows it, where they
    /// may.
    #[cold]
    fn release_held(&mut self) {
        let (Some(first), Some(second)) = (self.queue.front(), self.queue.get(1)) else { return };
        if second.place() >= first.place() || first.is_begun() && !self.may_overtake() {
            return;
        }
        if let Some(rest) = self.queue.pop_front() {
            let place = self.queue.partition_point(|other| other.place() < rest.place());
            self.queue.insert(place, rest);
        }
    }

    /// Limits the octets of messages that were begun and are overtaken, together.
    pub(crate) fn limit_overtaken(&mut self, most: usize) {
        self.overtaken_most = most;
    }

    /// Returns the cuts of all messages of which something waits.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &Pieces> {
        self.queue.iter().map(|payload| &payload.pieces)
    }

    /// Records that the first `octets` octets of the first piece have left in parts: until the last
    /// part has left, nothing overtakes it.
    pub(super) fn hold(&mut self, octets: usize) {
        self.held = octets;
    }

    /// Returns how many octets of the first piece have left in parts.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Fills the last message up to a piece of `piece` octets, where it is shorter and nothing of
    /// it has left: many short writes are few packets. Returns the octets that are left over.
    pub(crate) fn fill(&mut self, mut octets: M, piece: usize, pool: &Pool<M>) -> Option<M> {
        let is_held = self.held > 0 && self.queue.len() == 1;
        let Some(last) = self
            .queue
            .back_mut()
            .filter(|last| !is_held && last.pieces.are_message(1) && last.body.len() < piece)
        else {
            return Some(octets);
        };
        let added = octets.len().min(piece - last.body.len());
        let mut all = last.body.take();
        all.join(octets.split_to(added));
        last.body = all.copy_into(pool, 0);
        all.reclaim(pool);
        last.pieces = last.pieces.of_octets(last.body.len());
        last.credit += added;
        self.octets += added;
        (!octets.is_empty()).then_some(octets)
    }

    /// Cuts the first piece after `octets` octets, if it is longer and nothing of it has left.
    pub(crate) fn cut_first(&mut self, octets: usize) {
        let Some(first) = self.queue.front_mut().filter(|_| self.held == 0) else { return };
        if let Some((pieces, rest)) = first.pieces.cut(octets) {
            let cut = Payload { pieces, body: first.body.split_to(octets), ..*first };
            first.pieces = rest;
            self.queue.push_front(cut);
        }
    }

    /// Removes the first message, of which nothing more is of use.
    pub(super) fn take_message(&mut self) -> Option<Payload<M>> {
        self.held = 0;
        let first = self.queue.front_mut()?;
        let count = first.pieces.in_message();
        let octets = first.pieces.octets(count);
        self.octets -= octets;
        if octets < first.body.len() {
            Some(first.split_to(count, octets))
        } else {
            self.queue.pop_front()
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns how many messages wait, one of which may have left in part.
    pub(super) fn messages(&self) -> usize {
        self.queue.iter().map(|payload| payload.pieces.messages()).sum()
    }

    #[inline]
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }

    /// Returns whether it holds no memory: it never had a message, or has freed all.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.queue.capacity() == 0
    }

    pub(super) fn furnish(&mut self) {
        self.queue.reserve_exact(1);
    }

    pub(super) fn shrink(&mut self) {
        self.queue.shrink_to_fit();
    }
}
