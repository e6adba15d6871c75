//! The first number that is missing.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{Nanoseconds, Report, ReportRequest, UnitHeader, View};
use stackwright_transport::{Receipts, component};

use super::delayed_ack::DelayedAck;

/// Reports the first number that is missing, and nothing beyond it (TCP without options, RFC 9293
/// §3.8.6.3). Delayed ACK: every `n`-th unit, at the latest `delay` after the first; at once where
/// a unit arrived out of order, or again.
///
/// Choose it where a packet has no room for spans: each report supersedes all those before it.
/// Where more than one packet of a window is lost, [`AckRanges`](super::AckRanges) saves sending
/// again what arrived.
///
/// ```
/// use stackwright_policies::acknowledgement::Cumulative;
/// let every_second = Cumulative::new(2, 40_000_000);
/// let at_once = Cumulative::new(1, 0);
/// # let _ = (every_second, at_once);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cumulative {
    delay: DelayedAck,
}

impl Cumulative {
    /// Creates the policy, with a delayed ACK: every `n`-th unit, at the latest `delay` nanoseconds
    /// after the first.
    pub const fn new(n: u32, delay: Nanoseconds) -> Self {
        Cumulative { delay: DelayedAck::new(n, delay) }
    }
}

impl Acknowledgement for Cumulative {
    fn on_received(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        _octets: usize,
        _gap: Option<Range<u64>>,
    ) {
        self.delay.on_received(view, unit);
    }

    fn on_refused(&mut self, view: &View, _: &Receipts) {
        self.delay.hurry(view);
    }

    fn on_inquiry(&mut self, view: &View, question: ReportRequest) {
        self.delay.on_inquiry(view, question.number);
    }

    fn on_room(&mut self, view: &View, _: &Receipts) {
        self.delay.hurry(view);
    }

    fn hurry(&mut self, view: &View) {
        if self.delay.deadline() != Instant::END {
            self.delay.hurry(view);
        }
    }

    fn report(&self, view: &View, receipts: &Receipts, _: usize, into: &mut Report) -> bool {
        if !self.delay.is_due(view) {
            return false;
        }
        into.clear();
        (into.upto, into.answers) = (receipts.upto(), self.delay.asked);
        true
    }

    fn on_reported(&mut self, view: &View, _: &Report) {
        self.delay.on_reported(view);
    }

    fn deadline(&self) -> Instant {
        self.delay.deadline()
    }
}

component! {
    Cumulative: "acknowledgement of the first missing number", "reports the first missing number",
    gives: Property::REPORTS.and(Property::UNASKED).and(Property::ANSWERS),
}
