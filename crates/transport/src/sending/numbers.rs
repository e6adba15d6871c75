//! Numbers of messages: no two messages in several pieces have the same number at a time, or the peer would join pieces of both.
//!
//! Numbers that are counted differ by themselves: only where an application chooses some is it known which are taken.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};

use stackwright_wire::Message;

use super::Sending;
use super::pieces::Pieces;
use super::waiting::Payload;

/// At least so many numbers are remembered before those that are free again are looked for.
const REMEMBERED_LEAST: usize = 64;

/// The numbers of messages in several pieces.
#[derive(Debug)]
pub(super) struct Numbers<M> {
    /// Those of messages that wait or are not settled, and some that are free again.
    taken: BTreeSet<u32>,
    /// With so many, those that are free again are looked for.
    most: usize,
    /// Messages whose number is taken, in the order in which they were sent.
    held: VecDeque<Payload<M>>,
}

impl<M> Numbers<M> {
    fn new(taken: BTreeSet<u32>) -> Self {
        let mut numbers = Numbers { taken: BTreeSet::new(), most: 0, held: VecDeque::new() };
        numbers.renew(taken);
        numbers
    }

    fn renew(&mut self, taken: BTreeSet<u32>) {
        self.most = REMEMBERED_LEAST.max(2 * taken.len());
        self.taken = taken;
    }

    /// How many messages wait for their number.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

impl<M: Message> Sending<M> {
    /// From now on it is known which numbers are taken: an application chooses some.
    #[inline]
    pub(crate) fn watch_numbers(&mut self) {
        if self.numbers.is_none() {
            self.numbers = Some(Box::new(Numbers::new(self.unsettled())));
        }
    }

    /// Whether an application chooses numbers.
    #[inline]
    pub(crate) fn watches_numbers(&self) -> bool {
        self.numbers.is_some()
    }

    /// A message in several pieces waits to leave, or first for its number, which another one has.
    #[inline(never)]
    pub(super) fn wait_for_number(&mut self, payload: Payload<M>) {
        let number = payload.pieces.label().message;
        if self
            .numbers
            .as_ref()
            .is_some_and(|numbers| numbers.taken.len() >= numbers.most || numbers.taken.contains(&number))
        {
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

    /// Something was settled: the messages whose number is free now wait to leave.
    #[inline]
    pub(crate) fn free_numbers(&mut self) {
        if self.numbers.as_ref().is_some_and(|numbers| !numbers.held.is_empty()) {
            self.free_held();
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

    /// The numbers of messages in several pieces that wait to leave, or of which something is not settled.
    fn unsettled(&self) -> BTreeSet<u32> {
        let mut numbers = BTreeSet::new();
        let mut enter = |pieces: &Pieces, messages: u32| {
            let label = pieces.label();
            if label.count > 1 {
                numbers.extend((0..messages).map(|nth| label.message.wrapping_add(nth)));
            }
        };
        self.waiting.pieces().for_each(|pieces| enter(pieces, pieces.messages() as u32));
        self.sent.unsettled().for_each(|(pieces, count)| enter(pieces, pieces.messages_begun(count)));
        numbers
    }
}
