//! A doubly linked list in a slab, shared by the ordered list and the delta list.

use super::slab::{NOWHERE, Slab, Ticket};

/// A link of the list.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// A deadline, or the time after the predecessor's, as the owner of the list defines.
    time: u64,
    before: u32,
    after: u32,
}

/// The list. Places are indices; `NOWHERE` is before the first and after the last.
#[derive(Debug)]
pub(super) struct List<T> {
    slab: Slab<Link, T>,
    first: u32,
    last: u32,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { slab: Slab::default(), first: NOWHERE, last: NOWHERE }
    }
}

impl<T> List<T> {
    /// Returns the first place, if there is one.
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NOWHERE).then_some(self.first)
    }

    /// Returns the last place, if there is one.
    pub(super) fn last(&self) -> Option<u32> {
        (self.last != NOWHERE).then_some(self.last)
    }

    /// Returns the place before `place`.
    pub(super) fn before(&self, place: u32) -> Option<u32> {
        Some(self.slab.at(place).before).filter(|place| *place != NOWHERE)
    }

    /// Returns the place after `place`.
    pub(super) fn after(&self, place: u32) -> Option<u32> {
        Some(self.slab.at(place).after).filter(|place| *place != NOWHERE)
    }

    /// Returns the time at `place`.
    pub(super) fn time(&self, place: u32) -> u64 {
        self.slab.at(place).time
    }

    /// Returns the time at `place`, to be changed.
    pub(super) fn time_mut(&mut self, place: u32) -> &mut u64 {
        &mut self.slab.at_mut(place).time
    }

    /// Returns the place of `ticket`; `None` if it is stale.
    pub(super) fn find(&self, ticket: Ticket) -> Option<u32> {
        self.slab.note(ticket).map(|_| ticket.index)
    }

    /// Inserts `what` between two neighbours.
    pub(super) fn insert(
        &mut self,
        before: Option<u32>,
        after: Option<u32>,
        time: u64,
        what: T,
    ) -> Ticket {
        let link =
            Link { time, before: before.unwrap_or(NOWHERE), after: after.unwrap_or(NOWHERE) };
        let ticket = self.slab.insert(link, what);
        self.join(before, ticket.index, ticket.index, after);
        ticket
    }

    /// Removes and returns what is at `place`, which is free from then on. It is apart from
    /// `expire`, which is called far more often than an event fires.
    #[inline(never)]
    pub(super) fn remove(&mut self, place: u32) -> Option<T> {
        let Link { before, after, .. } = *self.slab.at(place);
        let (before, after) =
            (Some(before).filter(|it| *it != NOWHERE), Some(after).filter(|it| *it != NOWHERE));
        self.join(before, after.unwrap_or(NOWHERE), before.unwrap_or(NOWHERE), after);
        self.slab.remove(place)
    }

    /// Makes `next` follow `before`, and `previous` precede `after`.
    fn join(&mut self, before: Option<u32>, next: u32, previous: u32, after: Option<u32>) {
        match before {
            Some(before) => self.slab.at_mut(before).after = next,
            None => self.first = next,
        }
        match after {
            Some(after) => self.slab.at_mut(after).before = previous,
            None => self.last = previous,
        }
    }

    /// Returns the length of the list.
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }
}
