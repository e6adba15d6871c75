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

#[cfg(test)]
mod tests {
    use super::*;

    fn question(number: u32, patient: bool) -> ReportRequest {
        ReportRequest { number, patient }
    }

    /// Returns what it answers now, and tells it that this has left.
    fn answer(policy: &mut OnRequest<false>) -> Option<u32> {
        let (receipts, mut report) = (Receipts::default(), Report::default());
        let is_due = policy.report(&View::START, &receipts, 8, &mut report);
        assert_eq!(is_due, policy.deadline() == Instant::START);
        policy.on_reported(&View::START, &report);
        report.answers.filter(|_| is_due)
    }

    #[test]
    fn a_patient_question_is_answered_when_all_is_taken() {
        let mut policy = OnRequest::<false>::new();
        let holds = View { pending: 5, ..View::START };
        policy.on_inquiry(&holds, question(1, true));
        policy.on_taken(&holds);
        assert_eq!(answer(&mut policy), None, "the application has not taken all");
        policy.on_inquiry(&holds, question(2, false));
        assert_eq!(answer(&mut policy), Some(2), "this one waits for nobody");
        policy.on_taken(&View::START);
        assert_eq!(answer(&mut policy), Some(1));
        policy.on_taken(&View::START);
        assert_eq!(answer(&mut policy), None, "once");
        policy.on_inquiry(&View::START, question(3, true));
        assert_eq!(answer(&mut policy), Some(3), "there is nothing to wait for");
    }

    #[test]
    fn the_newest_question_covers_the_others() {
        let mut policy = OnRequest::<false>::new();
        for number in [u32::MAX, 1, 0] {
            policy.on_inquiry(&View::START, question(number, false));
        }
        assert_eq!(answer(&mut policy), Some(1));
    }
}
