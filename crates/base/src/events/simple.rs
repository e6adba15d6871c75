//! The simple alternative: a list in the order of deadlines.

use stackwright_contract::Instant;

use super::list::List;
use super::{Events, Expires, Ticket};

/// A list in the order of deadlines (the x-Kernel's and PIX's SimpleEventManager).
///
/// Cancelling and expiring take constant time; scheduling takes time linear in the number of events
/// with a later deadline. So it suits a few events, or any number of which each is the last one
/// when it is scheduled, as with a single fixed timeout.
#[derive(Debug)]
pub struct Simple<T = ()> {
    /// The links. The time of each is its deadline.
    list: List<T>,
}

impl<T> Default for Simple<T> {
    fn default() -> Self {
        Simple { list: List::default() }
    }
}

impl<T> Expires<T> for Simple<T> {
    fn next_deadline(&self) -> Option<Instant> {
        self.list.first().map(|first| Instant::from_nanoseconds(self.list.time(first)))
    }

    fn expire(&mut self, now: Instant) -> Option<T> {
        let first = self.list.first()?;
        if self.list.time(first) > now.nanoseconds() {
            return None;
        }
        self.list.remove(first)
    }

    fn len(&self) -> usize {
        self.list.len()
    }
}

impl<T> Events<T> for Simple<T> {
    type Ticket = Ticket;

    fn schedule(&mut self, at: Instant, what: T) -> Ticket {
        let at = at.nanoseconds();
        // From the end, because a new deadline is mostly among the last ones; and behind all of the
        // same deadline.
        let (mut before, mut after) = (self.list.last(), None);
        while let Some(place) = before
            && self.list.time(place) > at
        {
            (before, after) = (self.list.before(place), before);
        }
        self.list.insert(before, after, at, what)
    }

    fn cancel(&mut self, ticket: Ticket) -> Option<T> {
        let place = self.list.find(ticket)?;
        self.list.remove(place)
    }
}
