//! The alternative that counts the time between events: a delta list.

use stackwright_contract::Instant;

use super::list::List;
use super::{Events, Expires, Ticket};

/// A list in which each entry holds the time after its predecessor (PIX's DeltaListManager).
///
/// Cancelling and expiring take constant time; scheduling takes time linear in the number of events
/// with an earlier deadline. So it suits a few events of which the new one is mostly among the
/// first.
#[derive(Debug)]
pub struct DeltaList<T = ()> {
    /// The links. The time of each is what passes after its predecessor's deadline; that of the
    /// first, after `origin`.
    list: List<T>,
    /// An instant that is not later than any deadline.
    origin: u64,
}

impl<T> Default for DeltaList<T> {
    fn default() -> Self {
        DeltaList { list: List::default(), origin: 0 }
    }
}

impl<T> Expires<T> for DeltaList<T> {
    fn next_deadline(&self) -> Option<Instant> {
        self.list
            .first()
            .map(|first| Instant::from_nanoseconds(self.origin + self.list.time(first)))
    }

    fn expire(&mut self, now: Instant) -> Option<T> {
        let first = self.list.first()?;
        let deadline = self.origin + self.list.time(first);
        if deadline > now.nanoseconds() {
            return None;
        }
        // The next link's time counts from this deadline: no other link has to change as time
        // passes.
        self.origin = deadline;
        self.list.remove(first)
    }

    fn len(&self) -> usize {
        self.list.len()
    }
}

impl<T> Events<T> for DeltaList<T> {
    type Ticket = Ticket;

    fn schedule(&mut self, at: Instant, what: T) -> Ticket {
        let at = at.nanoseconds();
        if at < self.origin {
            // The deadline is before the last that fired: the origin moves back, and the first link
            // away from it.
            if let Some(first) = self.list.first() {
                *self.list.time_mut(first) += self.origin - at;
            }
            self.origin = at;
        }
        let mut remaining = at - self.origin;
        let (mut before, mut after) = (None, self.list.first());
        while let Some(place) = after
            && self.list.time(place) <= remaining
        {
            remaining -= self.list.time(place);
            (before, after) = (after, self.list.after(place));
        }
        if let Some(after) = after {
            *self.list.time_mut(after) -= remaining;
        }
        self.list.insert(before, after, remaining, what)
    }

    fn cancel(&mut self, ticket: Ticket) -> Option<T> {
        let place = self.list.find(ticket)?;
        if let Some(after) = self.list.after(place) {
            *self.list.time_mut(after) += self.list.time(place);
        }
        self.list.remove(place)
    }
}
