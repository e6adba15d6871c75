//! The future events of a world, in order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use stackwright_contract::Instant;

use crate::Segment;

/// An event.
pub(crate) enum What<M> {
    /// A segment arrives at a station.
    Arrival { station: usize, lane: usize, segment: Segment<M> },
    /// The deadline of a station has come.
    Wake { station: usize },
    /// The network's deadline has come.
    Network,
}

impl<M> What<M> {
    /// Returns the station of the event; `None` if it is the network's.
    pub(crate) fn station(&self) -> Option<usize> {
        match self {
            What::Arrival { station, .. } | What::Wake { station } => Some(*station),
            What::Network => None,
        }
    }
}

/// All future events. Those of one time happen in the order in which they were added.
pub(crate) struct Events<M> {
    queue: BinaryHeap<Reverse<Event<M>>>,
    /// How many were added: it makes their order total.
    count: u64,
}

struct Event<M> {
    time: Instant,
    sequence: u64,
    what: What<M>,
}

impl<M> Events<M> {
    pub(crate) fn new() -> Self {
        Events { queue: BinaryHeap::new(), count: 0 }
    }

    pub(crate) fn add(&mut self, time: Instant, what: What<M>) {
        self.count += 1;
        self.queue.push(Reverse(Event { time, sequence: self.count, what }));
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse(event)| event.time)
    }

    pub(crate) fn take(&mut self) -> Option<(Instant, What<M>)> {
        self.queue.pop().map(|Reverse(event)| (event.time, event.what))
    }

    /// Takes the next event, if it is at `time` and at `station`.
    pub(crate) fn take_if(&mut self, time: Instant, station: usize) -> Option<What<M>> {
        let Reverse(next) = self.queue.peek()?;
        if (next.time, next.what.station()) != (time, Some(station)) {
            return None;
        }
        self.take().map(|(_, what)| what)
    }
}

impl<M> Event<M> {
    fn order(&self) -> (Instant, u64) {
        (self.time, self.sequence)
    }
}

impl<M> PartialEq for Event<M> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<M> Eq for Event<M> {}

impl<M> PartialOrd for Event<M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Event<M> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}
