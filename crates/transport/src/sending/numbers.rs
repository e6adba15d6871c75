//! Numbers of messages: no two messages in several pieces have the same number at a time, or the
//! peer would join pieces of both.
//!
//! Counted numbers differ by themselves: numbers are tracked only if the application chooses some.
//!
//! The peer may hold a part of an expired message for as long as it likes. Another message of its
//! number therefore begins with one piece alone: the old message has that piece too, or it precedes
//! what the peer has and is numbered later, so the peer knows that this is another message. The
//! other pieces follow when it is acknowledged.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use stackwright_wire::Message;

use super::Sending;
use super::pieces::Pieces;
use super::waiting::Payload;

/// The least number of entries before free numbers are looked for.
const REMEMBERED_LEAST: usize = 64;

/// The numbers of messages in several pieces.
#[derive(Debug)]
pub(super) struct Numbers<M> {
    /// The numbers of messages that wait or are not settled, and some that are free again.
    taken: BTreeSet<u32>,
    /// The number of entries at which free numbers are looked for.
    most: usize,
    /// The messages whose number is taken, in the order in which they were sent.
    held: VecDeque<Payload<M>>,
    /// The messages of which the first piece left alone, and the number of that packet, until it is
    /// settled.
    alone: Vec<(u32, u64)>,
}

/// The numbers of messages that expired in part, and some between them: consecutive ones, which
/// wrap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expired {
    first: u32,
    count: u64,
}

impl Expired {
    pub(super) const NONE: Expired = Expired { first: 0, count: 0 };

    fn holds(self, number: u32) -> bool {
        u64::from(number.wrapping_sub(self.first)) < self.count
    }

    /// Adds a number, and those between it and the others on the shorter side.
    fn add(&mut self, number: u32) {
        let ahead = u64::from(number.wrapping_sub(self.first)) + 1;
        let behind = u64::from(self.first.wrapping_sub(number)) + self.count;
        match () {
            () if self.count == 0 => *self = Expired { first: number, count: 1 },
            () if self.holds(number) => {}
            () if ahead <= behind => self.count = ahead,
            () => *self = Expired { first: number, count: behind },
        }
    }
}

impl<M> Numbers<M> {
    fn new(taken: BTreeSet<u32>) -> Self {
        let mut numbers =
            Numbers { taken: BTreeSet::new(), most: 0, held: VecDeque::new(), alone: Vec::new() };
        numbers.renew(taken);
        numbers
    }

    fn renew(&mut self, taken: BTreeSet<u32>) {
        self.most = REMEMBERED_LEAST.max(2 * taken.len());
        self.taken = taken;
    }

    /// Returns the number of messages that wait for their number.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

impl<M: Message> Sending<M> {
    /// Tracks from now on which numbers are taken: an application chooses some.
    #[inline]
    pub(crate) fn watch_numbers(&mut self) {
        if self.numbers.is_none() {
            self.numbers = Some(Box::new(Numbers::new(self.unsettled())));
        }
    }

    /// Returns whether an application chooses numbers.
    #[inline]
    pub(crate) fn watches_numbers(&self) -> bool {
        self.numbers.is_some()
    }

    /// Enters a message in several pieces to leave, or to wait for its number if another message
    /// has that.
    #[inline(never)]
    pub(super) fn wait_for_number(&mut self, payload: Payload<M>) {
        let number = payload.pieces.label().message;
        if self.numbers.as_ref().is_some_and(|numbers| {
            numbers.taken.len() >= numbers.most || numbers.taken.contains(&number)
        }) {
            let taken = self.unsettled();
            if let Some(numbers) = &mut self.numbers {
                numbers.renew(taken);
            }
        }
        let Some(numbers) = &mut self.numbers else { return self.waiting.push(payload) };
        let is_held = numbers.held.iter().any(|held| held.pieces.label().message == number);
        if is_held || !numbers.taken.insert(number) {
            return numbers.held.push_back(payload);
        }
        self.waiting.push(payload);
    }

    /// Handles that something was settled: the messages whose number is free now wait to leave.
    #[inline]
    pub(crate) fn free_numbers(&mut self) {
        let Some(numbers) = &mut self.numbers else { return };
        numbers.alone.retain(|(_, packet)| !self.sent.is_settled(*packet));
        if !numbers.held.is_empty() {
            self.free_held();
        }
    }

    /// Records that these messages, of which pieces have left, expire.
    #[cold]
    pub(super) fn expire(&mut self, pieces: &Pieces, count: usize) {
        let label = pieces.label();
        if label.count > 1 {
            let numbers = 0..pieces.messages_begun(count);
            numbers.for_each(|nth| self.expired.add(label.message.wrapping_add(nth)));
        }
    }

    /// Returns whether the first piece that waits leaves alone, because the peer may hold a part of
    /// another message of its number.
    #[inline]
    pub(super) fn leaves_alone(&self) -> bool {
        self.numbers.is_some()
            && self.waiting.first().is_some_and(|first| {
                let label = first.pieces.label();
                label.count > 1 && label.index == 0 && self.expired.holds(label.message)
            })
    }

    /// Returns whether what waits first follows such a piece, which is not settled.
    #[inline]
    pub(super) fn waits_for_first(&self) -> bool {
        let Some(numbers) = self.numbers.as_ref().filter(|numbers| !numbers.alone.is_empty())
        else {
            return false;
        };
        let first = self.waiting.first().map(|first| first.pieces.label());
        let is_alone = |number: u32| numbers.alone.iter().any(|(message, _)| *message == number);
        first.is_some_and(|label| label.index > 0 && is_alone(label.message))
    }

    /// Records that the first piece that waits leaves alone.
    #[cold]
    pub(super) fn on_alone(&mut self) {
        let packet = self.sent.sent_upto();
        if let (Some(numbers), Some(first)) = (&mut self.numbers, self.waiting.first()) {
            numbers.alone.push((first.pieces.label().message, packet));
        }
    }

    #[cold]
    fn free_held(&mut self) {
        let taken = self.unsettled();
        let Some(numbers) = &mut self.numbers else { return };
        numbers.renew(taken);
        let mut free = VecDeque::new();
        for payload in core::mem::take(&mut numbers.held) {
            let is_free = numbers.taken.insert(payload.pieces.label().message);
            if is_free { &mut free } else { &mut numbers.held }.push_back(payload);
        }
        free.into_iter().for_each(|payload| self.waiting.push(payload));
    }

    /// Returns the numbers of messages in several pieces that wait to leave, or of which something
    /// is not settled.
    fn unsettled(&self) -> BTreeSet<u32> {
        let mut numbers = BTreeSet::new();
        let mut enter = |pieces: &Pieces, messages: u32| {
            let label = pieces.label();
            if label.count > 1 {
                numbers.extend((0..messages).map(|nth| label.message.wrapping_add(nth)));
            }
        };
        self.waiting.pieces().for_each(|pieces| enter(pieces, pieces.messages() as u32));
        self.sent
            .unsettled()
            .for_each(|(pieces, count)| enter(pieces, pieces.messages_begun(count)));
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_numbers_are_a_span_that_grows_where_it_grows_least() {
        let mut expired = Expired::NONE;
        assert!(!expired.holds(0));
        let span = |expired: Expired| (expired.first, expired.count);
        for (number, first, count) in [
            (7, 7, 1),
            (7, 7, 1),
            (9, 7, 3),
            (8, 7, 3),
            (5, 5, 5),
            (u32::MAX, u32::MAX, 11),
            (1 << 31, u32::MAX, (1 << 31) + 2),
        ] {
            expired.add(number);
            assert_eq!(span(expired), (first, count), "{number}");
            assert!(expired.holds(number));
        }
        for number in 0..=u8::MAX {
            expired.add(u32::from(number) << 24);
        }
        // All but the longest gap.
        assert!((0..=u8::MAX).all(|number| expired.holds(u32::from(number) << 24)));
        assert!(!expired.holds((255 << 24) - 1) && !expired.holds((254 << 24) + 1));
    }
}
