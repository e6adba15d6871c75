//! When a report is due that nobody asked for.

use stackwright_contract::Instant;
use stackwright_transport::words::{Nanoseconds, UnitHeader, View};

/// A report is due with every so manyth unit, at most so long after the first that it covers, and
/// at once where a unit came out of order or came again (RFC 5681 §4.2), where it was asked for,
/// and where the sender waits for room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    every: u32,
    most: Nanoseconds,
    units: u32,
    at: Instant,
    pub(super) asked: Option<u32>,
}

impl Delay {
    pub(super) const fn new(every: u32, most: Nanoseconds) -> Self {
        Delay { every, most, units: 0, at: Instant::END, asked: None }
    }

    pub(super) fn on_received(&mut self, view: &View, unit: &UnitHeader) {
        self.units = self.units.saturating_add(unit.count);
        let wanted = self.units >= self.every || unit.span.start != view.received_upto;
        self.at = if wanted { view.now } else { self.at.min(view.now.later(self.most)) };
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
        *self = Delay::new(self.every, self.most);
    }

    pub(super) fn deadline(&self) -> Instant {
        self.at
    }
}
