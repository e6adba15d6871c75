//! The agenda of a channel: its future events, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stackwright_contract::Instant;

/// A kind of event of one station. Events at one time happen in the order of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum What {
    /// The last octet of a frame has reached the stations that hear its sender.
    Arrives,
    /// The sender's signal ends at the stations that hear it.
    Falls,
    /// The station's own transmitter is off.
    Silent,
    /// The station decides whether to send. All stations that decide at one time do so before they
    /// can hear one another.
    Decides,
    /// The first octet of its next frame leaves.
    Starts,
    /// The sender's signal begins at the stations that hear it.
    Rises,
}

/// The next events of all stations.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    events: BinaryHeap<Reverse<(Instant, What, usize)>>,
}

impl Agenda {
    pub(super) fn add(&mut self, time: Instant, what: What, station: usize) {
        self.events.push(Reverse((time, what, station)));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.events.peek().map(|Reverse((time, ..))| *time)
    }

    /// Takes the next event, if it is not after `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<(Instant, What, usize)> {
        if self.next()? > now {
            return None;
        }
        self.events.pop().map(|Reverse(event)| event)
    }
}
