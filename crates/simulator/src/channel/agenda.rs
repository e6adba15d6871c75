//! What is going to happen on a channel, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stackwright_contract::Instant;

/// What happens at one time to or because of one station. What happens at the same time happens in
/// the order of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum What {
    /// The last octet of a frame has reached those who hear its sender.
    Arrives,
    /// The sender's signal is gone, for those who hear it.
    Falls,
    /// The station's own transmitter is off.
    Silent,
    /// The station decides whether to send. All who decide at one time do so before they can hear
    /// one another.
    Decides,
    /// The first octet of its next frame leaves.
    Starts,
    /// The sender's signal is there, for those who hear it.
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

    /// The next event, where it is not after `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<(Instant, What, usize)> {
        if self.next()? > now {
            return None;
        }
        self.events.pop().map(|Reverse(event)| event)
    }
}
