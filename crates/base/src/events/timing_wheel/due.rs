//! The events that are about to fire, in order.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::super::slab::Ticket;

/// The number of stale entries below which a sweep is not worth its cost.
const TOLERATED: usize = 64;

/// An event that is about to fire. The entry stays when the event is cancelled, and is stale then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) deadline: u64,
    /// The order of arrival: it ascends, and events of one deadline come here in the order in which
    /// they were scheduled.
    order: u64,
    pub(super) ticket: Ticket,
}

impl Entry {
    fn key(&self) -> (u64, u64) {
        (self.deadline, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The entries of the slot that the wheel has reached, sorted once, and beside them a heap of what
/// was scheduled too late to go into a slot.
#[derive(Debug, Default)]
pub(super) struct Due {
    run: Vec<Entry>,
    /// The number of entries of `run` that are gone.
    gone: usize,
    late: BinaryHeap<Reverse<Entry>>,
    order: u64,
    stale: usize,
}

impl Due {
    /// Takes an entry of the slot that the wheel has just reached; `sort` follows.
    #[inline]
    pub(super) fn collect(&mut self, deadline: u64, ticket: Ticket) {
        let entry = self.entry(deadline, ticket);
        self.run.push(entry);
    }

    /// Sorts the entries once the slot is collected.
    pub(super) fn sort(&mut self) {
        debug_assert!(
            self.gone == 0 && self.late.is_empty(),
            "a slot is opened when nothing else is due"
        );
        if self.run.len() > 1 {
            self.run.sort_unstable();
        }
    }

    /// Takes an entry before the end of the slot that the wheel has reached.
    pub(super) fn insert(&mut self, deadline: u64, ticket: Ticket) {
        let entry = self.entry(deadline, ticket);
        self.late.push(Reverse(entry));
    }

    /// Records that an entry has become stale. When there are too many of them, `live` tells which
    /// to keep, so that stale entries take no more memory than live ones.
    pub(super) fn cancelled(&mut self, live: impl Fn(Ticket) -> bool) {
        self.stale += 1;
        if self.stale > TOLERATED && self.stale > (self.run.len() - self.gone + self.late.len()) / 2
        {
            self.run.drain(..self.gone);
            self.gone = 0;
            self.run.retain(|entry| live(entry.ticket));
            self.late.retain(|Reverse(entry)| live(entry.ticket));
            self.stale = 0;
        }
    }

    /// Returns the first live entry.
    pub(super) fn first(&mut self, live: impl Fn(Ticket) -> bool) -> Option<Entry> {
        loop {
            let entry = self.peek()?;
            if self.stale == 0 || live(entry.ticket) {
                return Some(entry);
            }
            self.stale -= 1;
            self.pop();
        }
    }

    /// Removes and returns the first entry.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let entry = self.peek()?;
        if self.run.get(self.gone) == Some(&entry) {
            self.gone += 1;
            if self.gone == self.run.len() {
                self.run.clear();
                self.gone = 0;
            }
        } else {
            self.late.pop();
        }
        Some(entry)
    }

    /// Returns the first entry, stale or not.
    #[inline]
    fn peek(&self) -> Option<Entry> {
        match (self.run.get(self.gone), self.late.peek()) {
            (Some(run), Some(Reverse(late))) => Some(*run.min(late)),
            (Some(run), None) => Some(*run),
            (None, late) => late.map(|Reverse(late)| *late),
        }
    }

    fn entry(&mut self, deadline: u64, ticket: Ticket) -> Entry {
        self.order += 1;
        Entry { deadline, order: self.order, ticket }
    }
}
