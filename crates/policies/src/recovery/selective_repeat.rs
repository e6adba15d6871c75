//! Retransmission of what is missing, and of nothing else.

use stackwright_transport::component;
use stackwright_transport::slots::{Recovery, Suspect, Suspects};
use stackwright_transport::words::{Nanoseconds, Report, View};

use super::is_covered;
use super::reordering::ReorderingWindow;

/// Sends again what an answer does not report as received, though it left before the inquiry, and
/// nothing else (XTP §4, SSCOP's STAT). A gap that is reported without an inquiry is filled at
/// once, the first time (USTAT).
///
/// Two tolerances are for paths on which packets overtake each other. An inquiry that overtakes
/// data makes them look lost: with `inquiries(1)`, they are lost when one inquiry more was
/// answered. And where the receiver reports by itself, a packet is lost when `reordering` packets
/// that left after it have arrived (*packet reordering threshold*), before any inquiry, or one
/// has, and a quarter of the shortest round trip has passed since (RACK, RFC 8985 §6): so what was
/// sent again and is lost again is found, though few packets follow it. Once a packet was late, time
/// alone counts, and what a report misses only if it left more than a round trip and that window
/// ago; and the window widens as that of [`RackTlp`](super::RackTlp).
///
/// Choose it wherever packets have room for spans.
///
/// ```
/// use stackwright_policies::recovery::SelectiveRepeat;
/// use stackwright_transport::slots::Recovery;
/// let recovery = SelectiveRepeat::new().reordering(Some(3));
/// assert_eq!(recovery.tolerance(), Some(3));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SelectiveRepeat {
    inquiries: u32,
    reordering: Option<u64>,
    window: ReorderingWindow,
}

impl SelectiveRepeat {
    /// Creates the policy, in which the first answer counts.
    pub const fn new() -> Self {
        SelectiveRepeat { inquiries: 0, reordering: None, window: ReorderingWindow::new() }
    }

    /// Sets how many inquiries more must have been answered.
    #[must_use]
    pub const fn inquiries(self, inquiries: u32) -> Self {
        SelectiveRepeat { inquiries, ..self }
    }

    /// Sets the packet reordering threshold: how many packets may overtake one that is not lost;
    /// `None`: any number.
    #[must_use]
    pub const fn reordering(self, reordering: Option<u64>) -> Self {
        SelectiveRepeat { reordering, ..self }
    }
}

impl Recovery for SelectiveRepeat {
    fn suspects(&self, view: &View, report: &Report) -> Suspects {
        match report.answers {
            Some(_) => Suspects::Within(report.upto..view.sent_upto),
            None => Suspects::Missing,
        }
    }

    #[inline]
    fn is_lost(&self, view: &View, suspect: &Suspect, report: &Report) -> bool {
        // Once a packet was late, one that a report misses may be late, too.
        let may_be_late = self.window.has_seen()
            && self.lag(view).is_some_and(|lag| {
                view.now.nanoseconds_since(suspect.sent_at) < view.rtt.smoothed + lag
            });
        !may_be_late
            && match report.answers {
                Some(answer) => is_covered(suspect.stamp, self.inquiries, answer),
                None => suspect.times == 1,
            }
    }

    fn on_lost(&mut self, view: &View) {
        self.window.on_lost(view);
    }

    fn on_reordered(&mut self, view: &View, was_lost: bool, by: Nanoseconds) {
        self.window.on_reordered(view, was_lost, by);
    }

    fn tolerance(&self) -> Option<u64> {
        let seen = self.window.has_seen();
        self.reordering.map(|threshold| if seen { u64::MAX } else { threshold })
    }

    fn lag(&self, view: &View) -> Option<Nanoseconds> {
        self.reordering?;
        self.window.length(view)
    }
}

component! {
    SelectiveRepeat: "recovery by selective repeat", "sends again what an answer misses",
    needs: Property::REPORTS.and(Property::ASKS).and(Property::SPANS), gives: Property::REPEATS,
}

#[cfg(test)]
mod tests {
    use stackwright_contract::Instant;
    use stackwright_transport::words::{Estimate, MILLISECOND, SECOND};

    use super::*;

    #[test]
    fn where_packets_were_late_time_alone_counts_and_more_of_it() {
        let (smoothed, least) = (200 * MILLISECOND, 100 * MILLISECOND);
        let rtt = Estimate { smoothed, variation: 0, least, timeout: SECOND };
        let view = View { rtt, ..View::START };
        let mut recovery = SelectiveRepeat::new().reordering(Some(3));
        assert_eq!((recovery.tolerance(), recovery.lag(&view)), (Some(3), Some(least / 4)));
        recovery.on_reordered(&view, true, 0);
        recovery.on_reordered(&view, true, 0);
        assert_eq!((recovery.tolerance(), recovery.lag(&view)), (Some(u64::MAX), Some(least / 2)));
        let suspect = Suspect { span: 0..1, times: 1, stamp: 0, sent_at: Instant::START };
        let lost = |recovery: &SelectiveRepeat, after| {
            let view = View { now: Instant::START.later(after), ..view };
            [None, Some(7)].map(|answers| {
                recovery.is_lost(&view, &suspect, &Report { answers, ..Report::default() })
            })
        };
        assert_eq!(lost(&SelectiveRepeat::new(), smoothed), [true; 2]);
        assert_eq!(lost(&recovery, smoothed), [false; 2]);
        assert_eq!(lost(&recovery, smoothed + least / 2), [true; 2]);
        let never = SelectiveRepeat::new();
        assert_eq!((never.tolerance(), never.lag(&view)), (None, None));
    }
}
