//! ECN: what routers signal about congestion by marks, as both ends count them, and the validation
//! that the path passes them (RFC 3168, RFC 9000 §13.4). A mechanism, and not a policy.

use stackwright_contract::services::Ecn;

use crate::words::{EcnCounts, View};

/// The number of ECN-capable packets that are sent before it is known whether the path passes them
/// (RFC 9000 §A.4).
const TRIES: u8 = 10;

/// The number of acknowledged units after which ECN is validated again.
const JUDGED: u32 = 32;

/// How many round trips in a row all that arrives may be marked. A queue that marks everything is
/// shorter after one, or the window as small as it gets: more are no sign of congestion.
const ALL_MARKED_MOST: u8 = 3;

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
    /// The path is being tested: so many tests may still leave, and so many arrived with a mark. As
    /// long as none arrives without, a router may mark everything (§13.4.2): nobody is told.
    Testing { left: u8, marked: u32 },
    /// The path passes ECN.
    Capable {
        /// The number of units that may have left before, and are still to be acknowledged.
        before: u32,
        /// The number of other units that were acknowledged, and that of ECN-capable packets that
        /// arrived, since the last validation.
        units: u32,
        arrived: u32,
        /// Since when all that arrives is marked.
        all: Option<AllMarked>,
    },
    /// The path does not pass ECN, or no longer does.
    Failed,
}

/// Round trips in which all that arrived was marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AllMarked {
    /// This one is over when all before this number is settled.
    upto: u64,
    rounds: u8,
    /// The window before the first mark.
    window: u64,
}

/// What a report says about marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// None is new.
    Nothing,
    /// So many packets newly met congestion.
    Marked(u32),
    /// Marks are none of congestion; before the first of them, the window was so many octets.
    Refuted(u64),
}

impl Default for State {
    fn default() -> Self {
        State::Testing { left: TRIES, marked: 0 }
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
            State::Testing { left: 0, .. } | State::Failed => Ecn::NotEct,
            State::Testing { left, .. } => {
                *left -= 1;
                Ecn::Ect
            }
        }
    }

    /// Handles the counts that the peer reports with `acknowledged` newly acknowledged units. The
    /// view is of before, and so is what `window` returns.
    #[inline]
    pub(crate) fn heed(
        &mut self,
        view: &View,
        said: Option<EcnCounts>,
        acknowledged: u64,
        window: impl FnOnce() -> u64,
    ) -> Heard {
        let (more, mut new) = said.map_or((0, 0), |said| self.hear(said));
        match &mut self.state {
            State::Failed => return Heard::Nothing,
            State::Testing { marked, .. } => {
                *marked = marked.saturating_add(new);
                if new == more {
                    return Heard::Nothing;
                }
                new = *marked;
                let before = view.sent_upto - view.settled_upto; // more where octets are numbered
                let before = u32::try_from(before).unwrap_or(u32::MAX);
                self.state = State::Capable { before, units: 0, arrived: 0, all: None };
            }
            State::Capable { before, units, arrived, all } => {
                if more > new {
                    *all = None;
                } else if more > 0 {
                    let marked = all.get_or_insert_with(|| AllMarked {
                        upto: view.sent_upto,
                        rounds: 0,
                        window: window(),
                    });
                    if view.settled_upto >= marked.upto {
                        (marked.upto, marked.rounds) = (view.sent_upto, marked.rounds + 1);
                    }
                    let AllMarked { rounds, window, .. } = *marked;
                    if rounds >= ALL_MARKED_MOST {
                        self.state = State::Failed;
                        return Heard::Refuted(window);
                    }
                }
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
        }
        if new > 0 { Heard::Marked(new) } else { Heard::Nothing }
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
        if let State::Testing { left, .. } = &mut self.state {
            *left = 0;
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
        assert_eq!(heed(&mut marks, &View { sent_upto: 10, ..View::START }, said(1, 0), 1), 0);
        assert_eq!(heed(&mut marks, &View::START, None, 10), 0);
        marks
    }

    /// Returns how many packets newly met congestion.
    fn heed(marks: &mut Marks, view: &View, said: Option<EcnCounts>, acknowledged: u64) -> u32 {
        match marks.heed(view, said, acknowledged, || 77) {
            Heard::Nothing => 0,
            Heard::Marked(packets) => packets,
            Heard::Refuted(_) => panic!("they were no marks"),
        }
    }

    fn said(capable: u32, experienced: u32) -> Option<EcnCounts> {
        Some(EcnCounts { capable, experienced })
    }

    #[test]
    fn marks_are_heard_of_once_however_reports_overtake_each_other() {
        let mut marks = capable();
        assert_eq!(heed(&mut marks, &View::START, said(5, 2), 4), 2);
        assert_eq!(heed(&mut marks, &View::START, said(5, 2), 0), 0);
        assert_eq!(heed(&mut marks, &View::START, said(3, 1), 0), 0, "it was sent before");
        assert_eq!(heed(&mut marks, &View::START, said(6, 3), 1), 1);
        assert_eq!(heed(&mut marks, &View::START, None, 0), 0);
    }

    #[test]
    fn counts_wrap() {
        let mut marks = capable();
        marks.heard = EcnCounts { capable: u32::MAX - 1, experienced: u32::MAX };
        assert_eq!(heed(&mut marks, &View::START, said(2, 1), 4), 2);
        marks.received = EcnCounts { capable: u32::MAX, experienced: u32::MAX };
        marks.on_received(Ecn::Ce, 2);
        assert_eq!(Some(marks.received()), said(1, 1));
    }

    /// A peer that reports more marks than packets is not believed.
    #[test]
    fn more_marks_than_packets_are_none() {
        assert_eq!(heed(&mut capable(), &View::START, said(2, 5), 1), 0);
    }

    #[test]
    fn after_some_tries_nothing_can_be_marked_until_it_is_heard_that_it_passes() {
        let mut marks = Marks::default();
        let bears = |marks: &mut Marks| (0..100).filter(|_| marks.bear() == Ecn::Ect).count();
        assert_eq!(bears(&mut marks), usize::from(TRIES));
        heed(&mut marks, &View::START, said(0, 0), 100);
        assert_eq!(bears(&mut marks), 0);
        heed(&mut marks, &View::START, said(1, 0), 1);
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
                assert_eq!(heed(&mut marks, &View::START, said(1 + nth * each, 0), 4), 0)
            });
            assert_eq!(marks.bear(), expected, "{each} of 4");
        }
    }

    /// Also if they were marked by chance: a queue then drops what it would mark.
    #[test]
    fn where_all_tests_arrive_with_a_mark_nobody_is_told_and_nothing_can_be_marked() {
        let mut marks = Marks::default();
        for nth in 1..=u32::from(TRIES) {
            assert_eq!(marks.bear(), Ecn::Ect);
            assert_eq!(heed(&mut marks, &View::START, said(nth, nth), 1), 0);
        }
        assert_eq!(marks.bear(), Ecn::NotEct);
        // A router marks what is not ECN-capable, too.
        assert_eq!(heed(&mut marks, &View::START, said(100, 100), 90), 0);
        assert_eq!(marks.bear(), Ecn::NotEct);
    }

    #[test]
    fn marks_of_tests_are_told_once_one_arrives_without() {
        let mut marks = Marks::default();
        assert_eq!(heed(&mut marks, &View::START, said(3, 3), 3), 0);
        assert_eq!(heed(&mut marks, &View::START, said(6, 4), 3), 4);
        assert_eq!(heed(&mut marks, &View::START, said(7, 5), 3), 1);
        assert_eq!(marks.bear(), Ecn::Ect);
    }

    /// Ten packets in each round trip.
    #[test]
    fn where_everything_is_marked_for_three_round_trips_marks_are_none() {
        for from in [0, 3, 20] {
            let mut marks = capable();
            let mut refuted = None;
            for nth in 0..200 {
                let view = View { settled_upto: nth, sent_upto: nth + 10, ..View::START };
                let marked = u32::try_from((nth + 1).saturating_sub(from)).unwrap();
                let window = || 1000 - nth;
                match marks.heed(&view, said(2 + nth as u32, marked), 1, window) {
                    Heard::Refuted(window) => refuted = refuted.or(Some((nth, window))),
                    Heard::Marked(packets) => assert!(packets == 1 && nth >= from),
                    Heard::Nothing => assert!(nth < from || refuted.is_some()),
                }
            }
            assert_eq!(refuted, Some((from + 30, 1000 - from)));
            assert_eq!(marks.bear(), Ecn::NotEct);
        }
    }

    #[test]
    fn one_packet_in_three_round_trips_that_is_not_marked_shows_that_marks_are_some() {
        let mut marks = capable();
        let mut told = 0;
        for nth in 0..1000 {
            let view = View { settled_upto: nth, sent_upto: nth + 10, ..View::START };
            let marked = nth as u32 - nth as u32 / 25;
            told += heed(&mut marks, &view, said(1 + nth as u32, marked), 1);
        }
        assert_eq!((told, marks.bear()), (999 - 999 / 25, Ecn::Ect));
    }
}
