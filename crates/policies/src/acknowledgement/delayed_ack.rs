//! When a report is due that was not asked for.

use stackwright_contract::Instant;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, UnitHeader, View};

/// How many reports leave in a round trip at most, while nothing is missing: enough for the sender
/// to measure and to pace, and few enough for a narrow way back (TACK, RFC 9000 §13.2.2).
const TRIP_MOST: Nanoseconds = 8;

/// Below this round trip a timer is coarser than the wait.
const SHORT: Nanoseconds = 4 * MILLISECOND;

/// Returns when the next report may leave, behind one that left at `reported_at`, while nothing is
/// missing.
#[inline]
pub(super) fn spaced(view: &View, reported_at: Instant) -> Instant {
    match view.rtt.smoothed {
        ..SHORT => view.now,
        smoothed => view.now.max(reported_at.later(smoothed / TRIP_MOST)),
    }
}

/// Delayed ACK: a report is due with every `n`-th unit, at the latest `delay` after the first that
/// it covers, but no more than eight in a round trip; and at once where a unit arrived out of order or again (RFC 5681 §4.2), where it was
/// asked for, and where the sender waits for credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    n: u32,
    delay: Nanoseconds,
    units: u32,
    at: Instant,
    reported_at: Instant,
    pub(super) asked: Option<u32>,
}

impl DelayedAck {
    pub(super) const fn new(n: u32, delay: Nanoseconds) -> Self {
        DelayedAck::behind(n, delay, Instant::START)
    }

    const fn behind(n: u32, delay: Nanoseconds, reported_at: Instant) -> Self {
        DelayedAck { n, delay, units: 0, at: Instant::END, reported_at, asked: None }
    }

    pub(super) fn on_received(&mut self, view: &View, unit: &UnitHeader) {
        self.units = self.units.saturating_add(unit.count);
        let wait = if unit.span.start != view.received_upto {
            view.now
        } else if self.units >= self.n {
            spaced(view, self.reported_at)
        } else {
            view.now.later(self.delay)
        };
        self.at = self.at.min(wait);
    }

    pub(super) fn on_inquiry(&mut self, view: &View, number: u32) {
        (self.asked, self.at) = (Some(number), view.now);
    }

    pub(super) fn hurry(&mut self, view: &View) {
        self.at = view.now;
    }

    pub(super) fn is_due(&self, view: &View) -> bool {
        self.at <= view.now
    }

    pub(super) fn on_reported(&mut self, view: &View) {
        *self = DelayedAck::behind(self.n, self.delay, view.now);
    }

    pub(super) fn deadline(&self) -> Instant {
        self.at
    }
}
