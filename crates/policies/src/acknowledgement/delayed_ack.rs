//! When a report is due that was not asked for.

use stackwright_contract::Instant;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, UnitHeader, View};

/// How many reports leave in a round trip at most, while nothing is missing: enough for the sender
/// to measure and to pace, and few enough for a narrow way back (TACK, RFC 9000 §13.2.2).
const TRIP_MOST: Nanoseconds = 8;

/// The longest wait: on a long path, losses are to be found as soon as on a short one.
const WAIT_MOST: Nanoseconds = 5 * MILLISECOND;

/// Below this round trip a timer is coarser than the wait.
const SHORT: Nanoseconds = 4 * MILLISECOND;

/// How many reports leave without that limit at first, and where something arrived again or nothing
/// did for a round trip: the sender may have waited for reports that were lost (Linux's quick
/// ACKs).
const QUICK: u16 = 1024;

/// How far reports are apart of which none says that something is missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    reported_at: Instant,
    arrived_at: Instant,
    quick: u16,
}

impl Spacing {
    pub(super) const fn new() -> Self {
        Spacing { reported_at: Instant::START, arrived_at: Instant::START, quick: QUICK }
    }

    /// Records that something arrived, perhaps `again`.
    #[inline]
    pub(super) fn on_received(&mut self, view: &View, again: bool) {
        if again {
            self.quick = QUICK;
        }
        // Many arrive at one moment.
        if view.now != self.arrived_at {
            if view.now.nanoseconds_since(self.arrived_at) > view.rtt.smoothed {
                self.quick = QUICK;
            }
            self.arrived_at = view.now;
        }
    }

    /// Returns when the next report may leave.
    #[inline]
    pub(super) fn next(&self, view: &View) -> Instant {
        match view.rtt.smoothed {
            ..SHORT => view.now,
            _ if self.quick > 0 => view.now,
            smoothed => {
                let wait = (smoothed / TRIP_MOST).min(WAIT_MOST);
                view.now.max(self.reported_at.later(wait))
            }
        }
    }

    pub(super) fn on_reported(&mut self, view: &View) {
        (self.reported_at, self.quick) = (view.now, self.quick.saturating_sub(1));
    }
}

/// Delayed ACK: a report is due with every `n`-th unit, at the latest `delay` after the first that
/// it covers, but no more than eight in a round trip; and at once where a unit arrived out of order
/// or again (RFC 5681 §4.2), where it was asked for, and where the sender waits for credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    n: u32,
    delay: Nanoseconds,
    units: u32,
    at: Instant,
    spacing: Spacing,
    pub(super) asked: Option<u32>,
}

impl DelayedAck {
    pub(super) const fn new(n: u32, delay: Nanoseconds) -> Self {
        DelayedAck::behind(n, delay, Spacing::new())
    }

    const fn behind(n: u32, delay: Nanoseconds, spacing: Spacing) -> Self {
        DelayedAck { n, delay, units: 0, at: Instant::END, spacing, asked: None }
    }

    pub(super) fn on_received(&mut self, view: &View, unit: &UnitHeader) {
        self.on_several(view, unit, unit.count);
    }

    /// Records a unit that counts as `units`.
    pub(super) fn on_several(&mut self, view: &View, unit: &UnitHeader, units: u32) {
        self.units = self.units.saturating_add(units);
        let is_odd = unit.span.start != view.received_upto;
        self.spacing.on_received(view, unit.span.end <= view.received_upto);
        let at = if is_odd {
            view.now
        } else if self.units >= self.n {
            self.spacing.next(view)
        } else {
            view.now.later(self.delay)
        };
        self.at = self.at.min(at);
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
        self.spacing.on_reported(view);
        *self = DelayedAck::behind(self.n, self.delay, self.spacing);
    }

    pub(super) fn deadline(&self) -> Instant {
        self.at
    }
}
