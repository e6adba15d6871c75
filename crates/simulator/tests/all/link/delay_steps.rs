//! A delay that changes in the middle of a run.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Conditions, DelayStep, Link, StepLength, SteppedDelay};

use crate::link::{Probe, arrivals, at, millis};

fn step(at: u64, delay: SteppedDelay, lasts: StepLength) -> DelayStep {
    DelayStep { at: millis(at), delay, lasts }
}

/// How many milliseconds each of so many packets is under way, of which one leaves each
/// millisecond.
fn delays(delay_steps: Vec<DelayStep>, keeps_order: bool) -> Vec<u128> {
    let delay_steps = delay_steps.into();
    let conditions = Conditions { delay: millis(5), delay_steps, keeps_order, ..Conditions::IDEAL };
    let mut link = Link::new(conditions, 0);
    let under_way = |(nth, (time, _)): (usize, &(Instant, Probe))| {
        time.since(at(nth as u64 * 1_000_000)).as_millis()
    };
    arrivals(&mut link, 20, 10, millis(1)).iter().enumerate().map(under_way).collect()
}

fn expected(changed: std::ops::Range<usize>, delay: u128) -> Vec<u128> {
    (0..20).map(|nth| if changed.contains(&nth) { delay } else { 5 }).collect()
}

#[test]
fn a_step_lasts_for_a_time_or_some_packets_or_for_ever() {
    let (more, exactly) = (SteppedDelay::Added(millis(40)), SteppedDelay::Exactly(millis(2)));
    for (lasts, changed) in [
        (StepLength::Time(millis(3)), 7..10),
        (StepLength::Packets(6), 7..13),
        (StepLength::Forever, 7..20),
    ] {
        assert_eq!(delays(vec![step(7, more, lasts)], false), expected(changed.clone(), 45));
        assert_eq!(delays(vec![step(7, exactly, lasts)], false), expected(changed, 2));
    }
}

#[test]
fn steps_add_up_in_their_order() {
    let steps = vec![
        step(0, SteppedDelay::Exactly(millis(1)), StepLength::Forever),
        step(0, SteppedDelay::Added(millis(2)), StepLength::Packets(10)),
        step(15, SteppedDelay::Exactly(millis(9)), StepLength::Forever),
    ];
    let expected = [[3; 10].as_slice(), &[1; 5], &[9; 5]].concat();
    assert_eq!(delays(steps, false), expected);
}

/// As on a path that is routed anew, unless the link keeps the order.
#[test]
fn what_leaves_after_a_step_overtakes() {
    let steps = || vec![step(5, SteppedDelay::Added(millis(10)), StepLength::Packets(1))];
    assert_eq!(delays(steps(), false), expected(5..6, 15));
    let in_order: Vec<u128> =
        (0..20).map(|nth| if (5..15).contains(&nth) { 20 - nth } else { 5 }).collect();
    assert_eq!(delays(steps(), true), in_order);
}

#[test]
fn a_stream_has_the_delay_of_a_step_too() {
    let delay_steps =
        vec![step(1000, SteppedDelay::Added(millis(10)), StepLength::Packets(1))].into();
    let conditions = Conditions { delay: millis(5), delay_steps, ..Conditions::IDEAL };
    let mut link = Link::new(conditions.clone(), 0);
    let mut arrival = |milliseconds: u64| {
        let sent = at(milliseconds * 1_000_000);
        link.carry_surely(sent, 10).map(|time| time.since(sent))
    };
    assert_eq!([999, 1000, 1001].map(&mut arrival), [5, 15, 5].map(|time| Some(millis(time))));
    // What stays as it was is not begun again.
    link.set_conditions(conditions);
    assert_eq!(link.carry_surely(at(2_000_000_000), 10), Some(at(2_005_000_000)));
    let another = step(0, SteppedDelay::Added(Duration::from_secs(1)), StepLength::Packets(1));
    link.set_conditions(Conditions { delay_steps: vec![another].into(), ..Conditions::IDEAL });
    assert_eq!(link.carry_surely(at(3_000_000_000), 10), Some(at(4_000_000_000)));
}
