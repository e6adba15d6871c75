//! Gaps, as soon as they show.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::Receipts;
use stackwright_transport::rules::{Component, Facts, Property};
use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{Report, ReportRequest, UnitHeader, View};

/// Reports a new gap as soon as it shows, once (XSTP's USTAT, XTP's FASTNAK); another policy
/// reports everything else.
///
/// Choose it on a link that keeps the order of packets, around a policy that reports when it is
/// asked: what is lost is sent again a round trip later and not when the sender asks. Where packets
/// overtake each other, much is sent twice.
///
/// ```
/// use stackwright_policies::acknowledgement::{GapAtOnce, OnRequest};
/// let acknowledgement = GapAtOnce::new(OnRequest::<true>::new());
/// # let _ = acknowledgement;
/// ```
#[derive(Clone, Debug)]
pub struct GapAtOnce<A> {
    other: A,
    gap: Option<Range<u64>>,
}

impl<A> GapAtOnce<A> {
    /// Creates the policy around `other`.
    pub const fn new(other: A) -> Self {
        GapAtOnce { other, gap: None }
    }
}

impl<A: Acknowledgement> Acknowledgement for GapAtOnce<A> {
    fn on_received(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        octets: usize,
        gap: Option<Range<u64>>,
    ) {
        if self.gap.is_none() {
            self.gap.clone_from(&gap);
        }
        self.other.on_received(view, unit, octets, gap);
    }

    fn on_refused(&mut self, view: &View, receipts: &Receipts) {
        self.other.on_refused(view, receipts);
    }

    fn on_inquiry(&mut self, view: &View, question: ReportRequest) {
        self.other.on_inquiry(view, question);
    }

    fn on_room(&mut self, view: &View, receipts: &Receipts) {
        self.other.on_room(view, receipts);
    }

    fn on_moved(&mut self, view: &View, receipts: &Receipts) {
        self.other.on_moved(view, receipts);
    }

    fn hurry(&mut self, view: &View) {
        self.other.hurry(view);
    }

    fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool {
        if self.other.report(view, receipts, room, into) {
            return true;
        }
        let Some(gap) = &self.gap else { return false };
        into.clear();
        into.upto = receipts.upto();
        // Some formats say what is missing, others what has arrived beyond it.
        into.missing.push(gap.clone());
        into.held.extend(receipts.beyond().iter().take(room).cloned());
        true
    }

    fn on_reported(&mut self, view: &View, report: &Report) {
        let unasked = report.answers.is_none() && !report.missing.is_empty();
        self.gap = None;
        if !unasked {
            self.other.on_reported(view, report);
        }
    }

    fn deadline(&self) -> Instant {
        if self.gap.is_some() { Instant::START } else { self.other.deadline() }
    }
}

impl<A: Component> Component for GapAtOnce<A> {
    const FACTS: Facts = Facts {
        name: "acknowledgement of gaps at once",
        does: "reports a gap as soon as it shows",
        needs: A::FACTS.needs.and(Property::SPANS),
        ..A::FACTS
    };
}
