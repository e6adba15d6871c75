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
    /// A question that waits for the application.
    waits: Option<ReportRequest>,
}

/// Returns whether the question is newer than `other`. Questions overtake each other, and the
/// newest covers the others.
fn is_newer(number: u32, other: Option<u32>) -> bool {
    other.is_none_or(|other| number.wrapping_sub(other) as i32 > 0)
}

impl<const SPANS: bool> OnRequest<SPANS> {
    /// Creates the policy, before any inquiry.
    pub const fn new() -> Self {
        OnRequest { asked: None, waits: None }
    }

    fn ask(&mut self, number: u32) {
        if is_newer(number, self.asked) {
            self.asked = Some(number);
        }
    }
}

impl<const SPANS: bool> Acknowledgement for OnRequest<SPANS> {
    fn on_inquiry(&mut self, view: &View, question: ReportRequest) {
        if question.at_once || view.pending == 0 {
            self.ask(question.number);
        }
        let waits = question.when_taken && view.pending > 0;
        if waits && is_newer(question.number, self.waits.map(|waits| waits.number)) {
            self.waits = Some(question);
        }
    }

    fn on_taken(&mut self, view: &View) {
        if view.pending == 0
            && let Some(question) = self.waits.take()
        {
            self.ask(question.number);
        }
    }

    fn on_room(&mut self, _: &View, _: &Receipts) {
        if let Some(question) = self.waits.filter(|question| question.at_once) {
            self.ask(question.number);
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

    /// XTP's DREQ.
    fn patient(number: u32) -> ReportRequest {
        ReportRequest { number, at_once: false, when_taken: true }
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
        policy.on_inquiry(&holds, patient(1));
        policy.on_taken(&holds);
        assert_eq!(answer(&mut policy), None, "the application has not taken all");
        policy.on_inquiry(&holds, 2.into());
        assert_eq!(answer(&mut policy), Some(2), "this one waits for nobody");
        policy.on_taken(&View::START);
        assert_eq!(answer(&mut policy), Some(1));
        policy.on_taken(&View::START);
        assert_eq!(answer(&mut policy), None, "once");
        policy.on_inquiry(&View::START, patient(3));
        assert_eq!(answer(&mut policy), Some(3), "there is nothing to wait for");
    }

    #[test]
    fn a_question_of_both_kinds_is_answered_at_once_when_there_is_room_and_when_all_is_taken() {
        let mut policy = OnRequest::<false>::new();
        let holds = View { pending: 5, ..View::START };
        policy.on_inquiry(&holds, ReportRequest { when_taken: true, ..1.into() });
        assert_eq!(answer(&mut policy), Some(1));
        policy.on_room(&holds, &Receipts::default());
        assert_eq!(answer(&mut policy), Some(1), "there is room for more");
        policy.on_taken(&View::START);
        assert_eq!(answer(&mut policy), Some(1), "and all is taken");
        policy.on_room(&View::START, &Receipts::default());
        assert_eq!(answer(&mut policy), None, "which was the last of it");
    }

    #[test]
    fn a_patient_question_is_not_answered_because_there_is_room() {
        let mut policy = OnRequest::<false>::new();
        let holds = View { pending: 5, ..View::START };
        policy.on_inquiry(&holds, patient(1));
        policy.on_room(&holds, &Receipts::default());
        assert_eq!(answer(&mut policy), None);
    }

    #[test]
    fn the_newest_question_covers_the_others() {
        let mut policy = OnRequest::<false>::new();
        for number in [u32::MAX, 1, 0] {
            policy.on_inquiry(&View::START, number.into());
        }
        assert_eq!(answer(&mut policy), Some(1));
    }
}
