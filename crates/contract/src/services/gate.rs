//! Credit of a layer between two others: what leaves within it, what waits for more, and what is
//! given back together.

use alloc::collections::VecDeque;

use super::{Batch, Credit, PropertiesOf, Transfer};
use crate::Handle;

/// Batches that nobody gets credit back for, and that may wait all the same.
const OWN_MOST: usize = 64;

/// The credit that is worth a word: then it is given back.
const WORTH: Credit =
    Credit { octets: Credit::ROOM.octets / 4, messages: Credit::ROOM.messages / 4 };

/// What leaves by one association below: in order, and within its credit.
pub struct CreditGate<T: Transfer> {
    credit: Credit,
    waiting: VecDeque<QueuedBatch<T>>,
}

/// A batch that waits for credit.
pub struct QueuedBatch<T: Transfer> {
    /// What is sent.
    pub batch: Batch<T::Message>,
    /// Its properties.
    pub properties: PropertiesOf<T>,
    /// Who gets credit back for it.
    pub back: CreditBack,
}

/// Who gets credit back when a batch has left, and how much: without the headers that were pushed
/// since. `None`: nobody above has sent it.
pub type CreditBack = Option<(Handle, Credit)>;

impl<T: Transfer> Default for CreditGate<T> {
    fn default() -> Self {
        CreditGate { credit: Credit::NONE, waiting: VecDeque::new() }
    }
}

impl<T: Transfer> CreditGate<T> {
    /// Takes the credit for what leaves now; returns whether there is as much, and nothing waits.
    #[inline(always)]
    pub fn pass(&mut self, cost: Credit) -> bool {
        let passes = self.waiting.is_empty() && self.credit.covers(cost);
        if passes {
            self.credit -= cost;
        }
        passes
    }

    /// Has a batch wait; returns whether it may. One that is within the credit of somebody above
    /// always may.
    pub fn wait(&mut self, queued: QueuedBatch<T>) -> bool {
        let may = queued.back.is_some() || self.waiting.len() < OWN_MOST;
        if may {
            self.waiting.push_back(queued);
        }
        may
    }

    /// Adds credit.
    #[inline]
    pub fn allow(&mut self, credit: Credit) {
        self.credit += credit;
    }

    /// Returns what waited and may leave now, and takes its credit: a whole batch, else as many of
    /// its first messages as there is credit for.
    pub fn next_ready(&mut self) -> Option<QueuedBatch<T>> {
        let first = self.waiting.front_mut()?;
        let ready = if self.credit.covers(T::cost(&first.batch)) {
            self.waiting.pop_front()?
        } else {
            first.split_covered(self.credit)?
        };
        self.credit -= T::cost(&ready.batch);
        Some(ready)
    }

    /// Shuts it: returns what waited, and leaves no credit.
    pub fn shut(&mut self) -> VecDeque<QueuedBatch<T>> {
        self.credit = Credit::NONE;
        core::mem::take(&mut self.waiting)
    }

    /// Returns the credit for what would be sent now: none where something waits.
    #[inline]
    pub fn free(&self) -> Credit {
        if self.waiting.is_empty() { self.credit } else { Credit::NONE }
    }

    /// Returns how many batches wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether nothing waits.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns whether there is credit.
    pub fn is_open(&self) -> bool {
        self.credit != Credit::NONE
    }
}

impl<T: Transfer> QueuedBatch<T> {
    /// Splits the first messages off that `credit` covers; `None`: it does not cover one.
    fn split_covered(&mut self, credit: Credit) -> Option<Self> {
        let before = self.batch.cost();
        let batch = self.batch.split_covered(credit)?;
        let (cost, properties) = (batch.cost(), self.properties);
        for _ in 0..cost.messages {
            self.properties = T::of_next(self.properties);
        }
        let back = self.back.as_mut().map(|(whose, all)| {
            let headers = before.octets.saturating_sub(all.octets) / before.messages;
            let octets = cost.octets.saturating_sub(cost.messages * headers).min(all.octets);
            let part = Credit { octets, messages: cost.messages.min(all.messages) };
            *all -= part;
            (*whose, part)
        });
        Some(QueuedBatch { batch, properties, back })
    }
}

/// Credit that is to be given back: together, once it is worth a word.
#[derive(Clone, Copy, Default, Debug)]
pub struct OwedCredit(Credit);

impl OwedCredit {
    /// Adds credit; returns all, once it is worth a word.
    #[inline(always)]
    pub fn add(&mut self, credit: Credit) -> Option<Credit> {
        self.0 += credit;
        let is_worth = self.0.octets >= WORTH.octets || self.0.messages >= WORTH.messages;
        is_worth.then(|| core::mem::take(&mut self.0))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use stackwright_wire::{BufferTree, Message as _};

    use super::*;
    use crate::services::Datagrams;

    /// Five messages of 10 octets behind headers of 4.
    #[test]
    fn a_batch_leaves_as_far_as_there_is_credit_and_gives_back_what_it_cost_above() {
        let mut gate = CreditGate::<Datagrams<BufferTree>>::default();
        let whose = Handle { index: 1, generation: 0 };
        let batch = Batch::new(BufferTree::with_headroom(0, &[7; 68]), 14);
        let back = Some((whose, Credit { octets: 48, messages: 5 }));
        assert!(gate.wait(QueuedBatch { batch, properties: Default::default(), back }));
        let mut left = Vec::new();
        for credit in [(27, 1), (2, 9), (13, 0), (26, 0)] {
            gate.allow(Credit { octets: credit.0, messages: credit.1 });
            while let Some(QueuedBatch { batch, back: Some((_, back)), .. }) = gate.next_ready() {
                left.push((batch.count(), batch.octets(), back.octets, back.messages));
            }
        }
        assert_eq!(left, [(1, 14, 10, 1), (1, 14, 10, 1), (1, 14, 10, 1), (2, 26, 18, 2)]);
        assert!(gate.is_idle() && gate.free() == Credit { octets: 0, messages: 5 });
    }
}
