//! ECN: what routers signal about congestion by marks, as both ends count them, and the validation
//! that the path passes them (RFC 3168, RFC 9000 §13.4). A mechanism, and not a policy.

use stackwright_contract::services::Ecn;

use crate::words::{EcnCounts, View};

/// The number of ECN-capable packets that are sent before it is known whether the path passes them
/// (RFC 9000 §A.4).
const TRIES: u8 = 10;

/// The number of acknowledged units after which ECN is validated again.
const JUDGED: u32 = 32;

/// The ECN state of one association.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The counts of what was received.
    received: EcnCounts,
    /// The peer's counts, as it reported last.
    heard: EcnCounts,
    state: State,
}

/// Whether packets that leave may be ECN-capable. A sender of acknowledgements alone never learns
/// whether the path passes them: after the tries, none of its packets are ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The path is being tested.
    Testing { left: u8 },
    /// The tests are sent; there is no feedback yet.
    Unknown,
    /// The path passes ECN.
    Capable {
        /// The number of units that may have left before, and are still to be acknowledged.
        before: u32,
        /// The number of other units that were acknowledged, and that of ECN-capable packets that
        /// arrived, since the last validation.
        units: u32,
        arrived: u32,
    },
    /// The path does not pass ECN, or no longer does.
    Failed,
}

impl Default for State {
    fn default() -> Self {
        State::Testing { left: TRIES }
    }
}

impl Marks {
    /// Counts packets that arrived with this codepoint.
    #[inline]
    pub(crate) fn on_received(&mut self, ecn: Ecn, packets: u32) {
        let EcnCounts { capable, experienced } = &mut self.received;
        if ecn != Ecn::NotEct {
            *capable = capable.wrapping_add(packets);
        }
        if ecn == Ecn::Ce {
            *experienced = experienced.wrapping_add(packets);
        }
    }

    /// Returns the counts to report.
    #[inline]
    pub(crate) fn received(&self) -> EcnCounts {
        self.received
    }

    /// Returns the codepoint for what leaves now.
    #[inline]
    pub(crate) fn bear(&mut self) -> Ecn {
        match &mut self.state {
            State::Capable { .. } => Ecn::Ect,
            State::Testing { left: 0 } => {
                self.state = State::Unknown;
                Ecn::NotEct
            }
            State::Testing { left } => {
                *left -= 1;
                Ecn::Ect
            }
            State::Unknown | State::Failed => Ecn::NotEct,
        }
    }

    /// Handles the counts that the peer reports with `acknowledged` newly acknowledged units. The
    /// view is of before. Returns how many packets newly met congestion.
    #[inline]
    pub(crate) fn heed(&mut self, view: &View, said: Option<EcnCounts>, acknowledged: u64) -> u32 {
        let (more, marked) = said.map_or((0, 0), |said| self.hear(said));
        match &mut self.state {
            State::Testing { .. } | State::Unknown if more > 0 => {
                let before = view.sent_upto - view.settled_upto; // more where octets are numbered
                let before = u32::try_from(before).unwrap_or(u32::MAX);
                self.state = State::Capable { before, units: 0, arrived: 0 };
            }
            State::Capable { before, units, arrived } => {
                *arrived = arrived.saturating_add(more);
                let acknowledged = u32::try_from(acknowledged).unwrap_or(u32::MAX);
                *units = units.saturating_add(acknowledged.saturating_sub(*before));
                *before = before.saturating_sub(acknowledged);
                if *units >= JUDGED {
                    // A path that now removes ECT from packets would remove CE too. A part of it
                    // may: then most marks still come through.
                    let passes = *arrived >= *units / 2;
                    (*units, *arrived) = (0, 0);
                    if !passes {
                        self.state = State::Failed;
                    }
                }
            }
            _ => {}
        }
        marked
    }

    /// Returns how many more ECN-capable packets arrived, and how many of them were marked.
    fn hear(&mut self, said: EcnCounts) -> (u32, u32) {
        let more = said.capable.wrapping_sub(self.heard.capable);
        let marked = said.experienced.wrapping_sub(self.heard.experienced);
        // Counts wrap, and a report may be overtaken by a later one.
        if (more as i32) < 0 || marked > more {
            return (0, 0);
        }
        self.heard = said;
        (more, marked)
    }

    /// Records that something of ours seems not to have arrived: the path may drop ECN-capable
    /// packets.
    #[inline]
    pub(crate) fn doubt(&mut self) {
        if let State::Testing { .. } = self.state {
            self.state = State::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state after feedback that the first test packet arrived.
    fn capable() -> Marks {
        let mut marks = Marks::default();
        assert_eq!(marks.bear(), Ecn::Ect);
        assert_eq!(marks.heed(&View { sent_upto: 10, ..View::START }, said(1, 0), 1), 0);
        assert_eq!(marks.heed(&View::START, None, 10), 0);
        marks
    }

    fn said(capable: u32, experienced: u32) -> Option<EcnCounts> {
        Some(EcnCounts { capable, experienced })
    }

    #[test]
    fn marks_are_heard_of_once_however_reports_overtake_each_other() {
        let mut marks = capable();
        assert_eq!(marks.heed(&View::START, said(5, 2), 4), 2);
        assert_eq!(marks.heed(&View::START, said(5, 2), 0), 0);
        assert_eq!(marks.heed(&View::START, said(3, 1), 0), 0, "it was sent before");
        assert_eq!(marks.heed(&View::START, said(6, 3), 1), 1);
        assert_eq!(marks.heed(&View::START, None, 0), 0);
    }

    #[test]
    fn counts_wrap() {
        let mut marks = capable();
        marks.heard = EcnCounts { capable: u32::MAX - 1, experienced: u32::MAX };
        assert_eq!(marks.heed(&View::START, said(2, 1), 4), 2);
        marks.received = EcnCounts { capable: u32::MAX, experienced: u32::MAX };
        marks.on_received(Ecn::Ce, 2);
        assert_eq!(Some(marks.received()), said(1, 1));
    }

    /// A peer that reports more marks than packets is not believed.
    #[test]
    fn more_marks_than_packets_are_none() {
        assert_eq!(capable().heed(&View::START, said(2, 5), 1), 0);
    }

    #[test]
    fn after_some_tries_nothing_can_be_marked_until_it_is_heard_that_it_passes() {
        let mut marks = Marks::default();
        let bears = |marks: &mut Marks| (0..100).filter(|_| marks.bear() == Ecn::Ect).count();
        assert_eq!(bears(&mut marks), usize::from(TRIES));
        marks.heed(&View::START, said(0, 0), 100);
        assert_eq!(bears(&mut marks), 0);
        marks.heed(&View::START, said(1, 0), 1);
        assert_eq!(bears(&mut marks), 100);
        marks.doubt();
        assert_eq!(bears(&mut marks), 100, "it passed before: that was something else");
        let mut doubted = Marks::default();
        doubted.doubt();
        assert_eq!(bears(&mut doubted), 0);
    }

    #[test]
    fn where_marks_are_taken_off_from_some_time_on_nothing_can_be_marked_any_more() {
        for (each, expected) in [(0, Ecn::NotEct), (1, Ecn::NotEct), (2, Ecn::Ect), (4, Ecn::Ect)] {
            let mut marks = capable();
            assert_eq!(marks.bear(), Ecn::Ect, "what left before that was known says nothing");
            (1..100).for_each(|nth| {
                assert_eq!(marks.heed(&View::START, said(1 + nth * each, 0), 4), 0)
            });
            assert_eq!(marks.bear(), expected, "{each} of 4");
        }
    }
}
