//! The first number that is missing, and the ranges beyond it.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{Nanoseconds, Report, ReportRequest, UnitHeader, View};
use stackwright_transport::{Receipts, component};

use super::delayed_ack::DelayedAck;

/// Reports the first number that is missing and the ranges that arrived beyond it, as receivers do
/// today (RFC 2018, RFC 9000 §13.2). Delayed ACK: every `n`-th unit, at the latest `delay` after
/// the first; at once where a unit arrived out of order, or again, or fills a gap or a part of it
/// (RFC 5681 §4.2).
///
/// Where there are more ranges than a packet has room for, the one that holds the newest unit is
/// reported, and then the highest: the others were reported before.
///
/// Choose it, unless something speaks against it: a report that is lost costs nothing, because the
/// next one repeats all of it.
///
/// ```
/// use stackwright_policies::acknowledgement::AckRanges;
/// let ranges = AckRanges::new(2, 25_000_000);
/// # let _ = ranges;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AckRanges {
    delay: DelayedAck,
    newest: u64,
    /// The number after the highest that arrived.
    end: u64,
    /// The octets of a segment, where a unit may be several that arrived as one.
    segment: usize,
}

impl AckRanges {
    /// Creates the policy, with a delayed ACK: every `n`-th unit, at the latest `delay` nanoseconds
    /// after the first.
    pub const fn new(n: u32, delay: Nanoseconds) -> Self {
        AckRanges { delay: DelayedAck::new(n, delay), newest: 0, end: 0, segment: usize::MAX }
    }

    /// Counts a unit of several times `octets` octets as so many: segments that were coalesced
    /// before they came here.
    #[must_use]
    pub const fn in_segments(self, octets: usize) -> Self {
        AckRanges { segment: octets, ..self }
    }
}

impl Acknowledgement for AckRanges {
    fn on_received(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        octets: usize,
        _gap: Option<Range<u64>>,
    ) {
        let segments = if octets > self.segment { octets.div_ceil(self.segment) } else { 1 };
        self.delay.on_several(view, unit, unit.count.max(segments as u32));
        if unit.span.end < self.end {
            self.delay.hurry(view);
        }
        (self.newest, self.end) = (unit.span.end - 1, self.end.max(unit.span.end));
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

    fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool {
        if !self.delay.is_due(view) {
            return false;
        }
        into.clear();
        (into.upto, into.answers) = (receipts.upto(), self.delay.asked);
        let beyond = receipts.beyond();
        let (older, said) = beyond.split_at(beyond.len().saturating_sub(room));
        into.held.extend_from_slice(said);
        let place = older.partition_point(|span| span.end <= self.newest);
        if let Some(span) = older.get(place).filter(|span| span.contains(&self.newest))
            && let Some(lowest) = into.held.first_mut()
        {
            *lowest = span.clone();
        }
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
    AckRanges: "acknowledgement of ranges", "reports the first missing number and the ranges beyond",
    needs: Property::SPANS, gives: Property::REPORTS.and(Property::UNASKED).and(Property::ANSWERS),
}
