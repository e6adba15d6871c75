//! What is missing is sent again, and nothing else.

use stackwright_transport::component;
use stackwright_transport::slots::{Recovery, Suspect, Suspects};
use stackwright_transport::words::{Report, View};

use super::is_covered;

/// What an answer does not say was received, though it left before the question, is lost and sent
/// again, and nothing else (XTP §4, SSCOP's STAT). A hole that is told without a question is filled
/// at once, the first time (USTAT).
///
/// Two tolerances are for ways on which packets overtake each other. A question that overtakes data
/// makes them look lost: with `questions(1)`, they are lost when one question more was answered.
/// And where the receiver reports by itself, a packet is lost when `overtaken` packets that left
/// after it have arrived, before anybody asks.
///
/// Choose it wherever packets have room for spans.
///
/// ```
/// use stackwright_policies::recovery::SelectiveRepeat;
/// use stackwright_transport::slots::Recovery;
/// let recovery = SelectiveRepeat::new().overtaken(Some(3));
/// assert_eq!(recovery.tolerance(), Some(3));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SelectiveRepeat {
    questions: u32,
    overtaken: Option<u64>,
}

impl SelectiveRepeat {
    /// The first answer counts.
    pub const fn new() -> Self {
        SelectiveRepeat { questions: 0, overtaken: None }
    }

    /// So many questions more must have been answered.
    #[must_use]
    pub const fn questions(self, questions: u32) -> Self {
        SelectiveRepeat { questions, ..self }
    }

    /// How many packets may overtake one that is not lost; `None`: any number.
    #[must_use]
    pub const fn overtaken(self, overtaken: Option<u64>) -> Self {
        SelectiveRepeat { overtaken, ..self }
    }
}

impl Recovery for SelectiveRepeat {
    fn suspects(&self, view: &View, report: &Report) -> Suspects {
        match report.answers {
            Some(_) => Suspects::Within(report.upto..view.sent_upto),
            None => Suspects::Missing,
        }
    }

    fn is_lost(&self, suspect: &Suspect, report: &Report) -> bool {
        match report.answers {
            Some(answer) => is_covered(suspect.stamp, self.questions, answer),
            None => suspect.times == 1,
        }
    }

    fn tolerance(&self) -> Option<u64> {
        self.overtaken
    }
}

component! {
    SelectiveRepeat: "recovery by selective repeat", "sends again what an answer misses",
    needs: Property::REPORTS.and(Property::ASKS).and(Property::SPANS), gives: Property::REPEATS,
}
