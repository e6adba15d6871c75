//! Retransmission of what is missing, and of all that followed.

use stackwright_transport::component;
use stackwright_transport::slots::{Recovery, Suspect, Suspects};
use stackwright_transport::words::{Report, View};

use super::is_covered;

/// Sends again, from the first missing number on, all that left before the inquiry and that its
/// answer does not acknowledge (XTP §4). A gap that is reported without an inquiry makes all that
/// follows leave again, the first time (FASTNAK).
///
/// Choose it with a receiver that reports no spans; else
/// [`SelectiveRepeat`](super::SelectiveRepeat) sends less.
///
/// ```
/// use stackwright_policies::recovery::GoBackN;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!GoBackN::FACTS.needs.has(Property::SPANS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GoBackN;

impl Recovery for GoBackN {
    fn suspects(&self, view: &View, report: &Report) -> Suspects {
        match (report.answers, report.missing.first()) {
            (Some(_), _) => Suspects::Within(report.upto..view.sent_upto),
            (None, Some(hole)) => Suspects::Within(hole.start..view.sent_upto),
            (None, None) => Suspects::None,
        }
    }

    fn is_lost(&self, _: &View, suspect: &Suspect, report: &Report) -> bool {
        match report.answers {
            Some(answer) => is_covered(suspect.stamp, 0, answer),
            None => suspect.times == 1,
        }
    }
}

component! {
    GoBackN: "recovery by go-back-N", "sends again all from the first missing number on",
    needs: Property::REPORTS.and(Property::ASKS), gives: Property::REPEATS,
}
