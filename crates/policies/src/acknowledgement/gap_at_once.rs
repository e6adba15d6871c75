//! Gaps, as soon as they show.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::rules::{Component, Facts, Property};
use stackwright_transport::slots::{self, Acknowledgement};
use stackwright_transport::words::{Report, UnitHeader, View};
use stackwright_transport::{Receipts, wraps};

/// Reports new gaps as soon as they show, once (XSTP's USTAT, XTP's FASTNAK); another policy
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
    /// Whether gaps are left to the other policy, too.
    waits: bool,
    /// The numbers among which some were missing since the last report.
    gap: Option<Range<u64>>,
}

impl<A> GapAtOnce<A> {
    /// Creates the policy around `other`.
    pub const fn new(other: A) -> Self {
        GapAtOnce { other, waits: false, gap: None }
    }

    /// Leaves gaps to the other policy, too: where a link carries one direction at a time, a report
    /// would meet what its peer still sends.
    #[must_use]
    pub fn when_asked(self) -> Self {
        GapAtOnce { waits: true, ..self }
    }
}

wraps! { GapAtOnce<A>: other }

impl<A: Acknowledgement> slots::WrapsAcknowledgement for GapAtOnce<A> {
    fn on_received(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        octets: usize,
        gap: Option<Range<u64>>,
    ) {
        if let Some(new) = gap.as_ref().filter(|_| !self.waits) {
            self.gap.get_or_insert_with(|| new.clone()).end = new.end;
        }
        self.other.on_received(view, unit, octets, gap);
    }

    /// Not passed on: with it, each question in the middle of a window is answered once more.
    fn on_taken(&mut self, _: &View) {}

    fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool {
        if self.other.report(view, receipts, room, into) {
            return true;
        }
        let Some(gap) = &self.gap else { return false };
        into.clear();
        into.upto = receipts.upto();
        // Some formats say what is missing, others what has arrived beyond it.
        let is_new = |hole: &Range<u64>| hole.end > gap.start && hole.start < gap.end;
        into.missing.extend(receipts.missing().filter(is_new).take(room));
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

#[cfg(test)]
mod tests {
    use stackwright_transport::words::Label;

    use super::*;
    use crate::acknowledgement::OnRequest;

    #[test]
    fn all_gaps_that_one_batch_shows_are_reported_at_once_but_those_that_it_fills() {
        let (mut policy, mut receipts) =
            (GapAtOnce::new(OnRequest::<true>::new()), Receipts::new(0));
        let view = View::START;
        for number in [0, 2, 5, 6, 9, 5, 4, 8] {
            let (label, since) = (Label::default(), view.now);
            let span = number..number + 1;
            let gap = Some(receipts.highest()..number).filter(|gap| gap.start < gap.end);
            let unit =
                UnitHeader { span: span.clone(), count: 1, piece: 1, label, since, lifetime: None };
            policy.on_received(&view, &unit, 1, gap);
            receipts.enter(&span);
        }
        let mut report = Report::default();
        assert!(policy.deadline() <= view.now && policy.report(&view, &receipts, 8, &mut report));
        assert_eq!(report.missing, [1..2, 3..4, 7..8]);
        policy.on_reported(&view, &report);
        assert!(!policy.report(&view, &receipts, 8, &mut report), "once");
        assert_eq!(policy.deadline(), Instant::END);
    }
}
