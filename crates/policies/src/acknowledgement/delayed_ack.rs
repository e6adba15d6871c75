//! When a report is due that was not asked for.

use stackwright_contract::Instant;
use stackwright_transport::words::{Nanoseconds, UnitHeader, View};

/// Delayed ACK: a report is due with every `n`-th unit, at the latest `delay` after the first that
/// it covers, and at once where a unit arrived out of order or again (RFC 5681 §4.2), where it was
/// asked for, and where the sender waits for credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    n: u32,
    delay: Nanoseconds,
    units: u32,
    at: Instant,
    pub(super) asked: Option<u32>,
}

impl DelayedAck {
    pub(super) const fn new(n: u32, delay: Nanoseconds) -> Self {
        DelayedAck { n, delay, units: 0, at: Instant::END, asked: None }
    }

    pub(super) fn on_received(&mut self, view: &View, unit: &UnitHeader) {
        self.units = self.units.saturating_add(unit.count);
        let wanted = self.units >= self.n || unit.span.start != view.received_upto;
        self.at = if wanted { view.now } else { self.at.min(view.now.later(self.delay)) };
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

    pub(super) fn on_reported(&mut self) {
        *self = DelayedAck::new(self.n, self.delay);
    }

    pub(super) fn deadline(&self) -> Instant {
        self.at
    }
}
