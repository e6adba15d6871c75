//! A queue that marks what it would drop, and ways where marks do not come through.

use stackwright_artp::Congestion::{self, Bbr, Cubic, Document, NewReno};
use stackwright_contract::Duration;
use stackwright_simulator::{Counts, Discipline, EcnTreatment, LinkStep};

use stackwright_conformance::{Bottleneck, MBIT, Mishap, Path as Way};

const ALL: [Congestion; 4] = [Document, NewReno, Cubic, Bbr];

/// A way whose queue is ample, and kept short by CoDel.
fn way(mishap: Option<Mishap>) -> Way {
    let way = Way::new(20 * MBIT, 40, 0.0).queue(8.0);
    Way { discipline: Discipline::CODEL, mishap, ..way }
}

/// What one flow gets, after 30 seconds to begin; and what the way does meanwhile.
fn run(congestion: Congestion, mishap: Option<Mishap>) -> (f64, Counts, Counts) {
    let mut bottleneck = Bottleneck::new(&way(mishap), &[(congestion, 0)], 1);
    bottleneck.run(30);
    let before = bottleneck.counts();
    (bottleneck.run(30)[0], before, bottleneck.counts())
}

#[test]
fn a_queue_that_marks_loses_nothing_and_nobody_is_slower_for_it() {
    for congestion in ALL {
        let (unmarked, _, drops) = run(congestion, Some(Mishap::TakenOffBefore));
        let (marked, _, marks) = run(congestion, None);
        assert_eq!((marks.dropped_by_codel, marks.dropped_at_tail), (0, 0), "{congestion:?}");
        assert!(
            marked > unmarked - 0.02,
            "{congestion:?}: {marked}, and {unmarked} where all is dropped"
        );
        if congestion != Bbr {
            assert!(
                marks.marked > 0 && drops.dropped_by_codel > 0,
                "{congestion:?}: {marks:?}, {drops:?}"
            );
        }
    }
}

#[test]
fn marks_are_heeded_as_losses_are() {
    for congestion in [Document, NewReno, Cubic] {
        let waits = |mishap| {
            let mut bottleneck =
                Bottleneck::new(&way(mishap), &[(congestion, 0), (congestion, 0)], 1);
            bottleneck.run(30);
            bottleneck.waited();
            let got = bottleneck.run(30);
            (bottleneck.waited(), got[0] / got[1])
        };
        let ((marked, _), (dropped, _)) = (waits(None), waits(Some(Mishap::TakenOffBefore)));
        assert!(
            marked < 1.25 * dropped + 0.1,
            "{congestion:?}: {marked} round trips, and {dropped} with drops"
        );
    }
}

/// Else a sender would hear of no congestion where the queue marks instead of dropping.
#[test]
fn where_marks_are_taken_off_nothing_can_be_marked_any_more() {
    for congestion in ALL {
        for mishap in [Mishap::TakenOffBefore, Mishap::Treated(EcnTreatment::Bleach)] {
            let (got, before, after) = run(congestion, Some(mishap));
            assert_eq!(after.marked, before.marked, "{congestion:?}, {mishap:?}");
            assert!(got > 0.5, "{congestion:?}, {mishap:?}: {got}");
        }
    }
}

#[test]
fn where_nothing_passes_that_could_be_marked_it_leaves_as_ever() {
    for congestion in ALL {
        let (got, _, after) = run(congestion, Some(Mishap::Dropped));
        assert!(got > 0.5 && after.marked == 0, "{congestion:?}: {got}");
    }
}

/// RFC 9000 §13.4.2: from the beginning, or from some time on.
#[test]
fn where_routers_mangle_the_field_nobody_is_slower_for_it() {
    use EcnTreatment::{Bleach, Mark, MarkAll, Swap};
    let way = |mishap| Way { mishap, ..Way::new(5 * MBIT, 40, 0.0) };
    for congestion in ALL {
        let run = |mishap, steps: &[LinkStep]| {
            let mut bottleneck = Bottleneck::new(&way(mishap), &[(congestion, 0)], 1);
            bottleneck.step(steps);
            bottleneck.run(20)[0]
        };
        // Nothing is marked by a queue that drops at its tail.
        let plain = run(Some(Mishap::TakenOffBefore), &[]);
        for treatment in [Bleach, Mark, MarkAll, Swap] {
            let always = run(Some(Mishap::Treated(treatment)), &[]);
            assert!(always > 0.97 * plain, "{congestion:?}, {treatment:?}: {always} of {plain}");
            let begins = |seconds, ecn| {
                let at = Duration::from_secs(seconds);
                LinkStep { at, rate: None, mtu: None, ecn: Some(ecn), loss: None }
            };
            let later = run(None, &[begins(5, treatment), begins(15, EcnTreatment::Keep)]);
            assert!(later > 0.9 * plain, "{congestion:?}, {treatment:?} later: {later} of {plain}");
        }
    }
}
