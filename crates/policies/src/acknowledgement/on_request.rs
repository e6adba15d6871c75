//! Reports on request.

use stackwright_contract::Instant;
use stackwright_transport::Receipts;
use stackwright_transport::rules::{Component, Facts, Property};
use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{Report, ReportRequest, View};

/// Reports when it is asked, and at no other time: the first number that is missing, and where
/// `SPANS` what arrived beyond it. It reports at once (XTP's SREQ, XSTP's POLL), or to a question
/// that is patient when the application has taken all that arrived before it (XTP's DREQ).
///
/// Without spans it goes with [`GoBackN`](crate::recovery::GoBackN), as in XTP §5; with them, with
/// [`SelectiveRepeat`](crate::recovery::SelectiveRepeat).
///
/// Choose it where the return path is narrow, or shared with the forward path: the sender knows
/// best when a report is of use.
///
/// ```
/// use stackwright_policies::acknowledgement::OnRequest;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(OnRequest::<true>::FACTS.needs.has(Property::SPANS.and(Property::ASKS)));
/// assert!(!OnRequest::<false>::FACTS.needs.has(Property::SPANS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct OnRequest<const SPANS: bool> {
    asked: Option<u32>,
    /// The number of a question that waits for the application.
    waits: Option<u32>,
}

/// Returns the newer of two questions: they overtake each other, and the newest covers the others.
fn newer(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if b.wrapping_sub(a) as i32 > 0 { b } else { a }),
        _ => one.or(other),
    }
}

impl<const SPANS: bool> OnRequest<SPANS> {
    /// Creates the policy, before any inquiry.
    pub const fn new() -> Self {
        OnRequest { asked: None, waits: None }
    }
}

impl<const SPANS: bool> Acknowledgement for OnRequest<SPANS> {
    fn on_inquiry(&mut self, view: &View, question: ReportRequest) {
        let waits = question.patient && view.pending > 0;
        let place = if waits { &mut self.waits } else { &mut self.asked };
        *place = newer(*place, Some(question.number));
    }

    fn on_taken(&mut self, view: &View) {
        if view.pending == 0 && self.waits.is_some() {
            self.asked = newer(self.asked, self.waits.take());
        }
    }

    fn report(&self, _: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool {
        if self.asked.is_none() {
            return false;
        }
        into.clear();
        (into.upto, into.answers) = (receipts.upto(), self.asked);
        if SPANS {
            into.held.extend(receipts.beyond().iter().take(room).cloned());
            into.missing.extend(receipts.missing().take(room));
        }
        true
    }

    fn on_reported(&mut self, _: &View, _: &Report) {
        self.asked = None;
    }

    fn deadline(&self) -> Instant {
        if self.asked.is_some() { Instant::START } else { Instant::END }
    }
}

impl<const SPANS: bool> Component for OnRequest<SPANS> {
    const FACTS: Facts = {
        let asked = Property::ASKS.and(Property::INQUIRIES);
        let gives = Property::REPORTS.and(Property::ANSWERS);
        if SPANS {
            let needs = asked.and(Property::SPANS);
            let (name, does) =
                ("acknowledgement on request, with spans", "says what it has when it is asked");
            Facts { needs, gives, ..Facts::of(name, does) }
        } else {
            let (name, does) =
                ("acknowledgement on request", "says what is missing first when it is asked");
            Facts { needs: asked, gives, ..Facts::of(name, does) }
        }
    };
}
