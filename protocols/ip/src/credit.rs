//! Credit: what leaves within it, what waits for more, and what is given back together.

use alloc::collections::VecDeque;

use stackwright_contract::Handle;
use stackwright_contract::services::{Batch, Credit, MessageProperties};

/// The credit of one association, in either direction. What is delivered is handled at once, so it
/// is used up only where the layer below sends less than the one above wants.
pub(crate) const ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

/// The credit that is worth a word: then it is given back.
const WORTH: Credit = Credit { octets: ROOM.octets / 4, messages: ROOM.messages / 4 };

/// Messages that nobody gets credit back for, and that may wait all the same.
const OWN_MOST: usize = 64;

/// Packets that wait for credit below.
#[derive(Debug)]
pub(crate) struct Waiting<M> {
    pub(crate) packets: Batch<M>,
    pub(crate) properties: MessageProperties,
    pub(crate) back: Back,
}

/// Who gets credit back when a message has left, and how much.
pub(crate) type Back = Option<(Handle, Credit)>;

/// What leaves by one association, or one port, below: in order, and within its credit.
#[derive(Debug)]
pub(crate) struct Gate<M> {
    credit: Credit,
    waiting: VecDeque<Waiting<M>>,
}

impl<M> Default for Gate<M> {
    fn default() -> Self {
        Gate { credit: Credit::NONE, waiting: VecDeque::new() }
    }
}

impl<M: stackwright_wire::Message> Gate<M> {
    /// Takes the credit for what leaves now; returns whether there is as much, and nothing waits.
    #[inline]
    pub(crate) fn pass(&mut self, cost: Credit) -> bool {
        let passes = self.waiting.is_empty() && self.credit.covers(cost);
        if passes {
            self.credit -= cost;
        }
        passes
    }

    /// Has packets wait; returns whether they may. Those that are within somebody's credit always
    /// may.
    pub(crate) fn wait(&mut self, waiting: Waiting<M>) -> bool {
        let may = waiting.back.is_some() || self.waiting.len() < OWN_MOST;
        if may {
            self.waiting.push_back(waiting);
        }
        may
    }

    pub(crate) fn allow(&mut self, credit: Credit) {
        self.credit += credit;
    }

    /// Returns the next packets that waited and may leave now, and takes their credit.
    pub(crate) fn next(&mut self) -> Option<Waiting<M>> {
        let cost = self.waiting.front()?.packets.cost();
        if !self.credit.covers(cost) {
            return None;
        }
        self.credit -= cost;
        self.waiting.pop_front()
    }

    /// Shuts it: returns what waited, and leaves no credit.
    pub(crate) fn shut(&mut self) -> VecDeque<Waiting<M>> {
        self.credit = Credit::NONE;
        core::mem::take(&mut self.waiting)
    }

    /// Returns whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether there is credit.
    pub(crate) fn is_open(&self) -> bool {
        self.credit != Credit::NONE
    }
}

/// Credit that is to be given back: together, once it is worth a word.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Owed(Credit);

impl Owed {
    /// Adds credit; returns all, once it is worth a word.
    #[inline]
    pub(crate) fn add(&mut self, credit: Credit) -> Option<Credit> {
        self.0 += credit;
        let is_worth = self.0.octets >= WORTH.octets || self.0.messages >= WORTH.messages;
        is_worth.then(|| core::mem::take(&mut self.0))
    }
}
