//! When a link is down.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Conditions, Link, Outages, Passes};

use crate::link::{Probe, arrivals, at, millis};

fn seconds(seconds: u64) -> Instant {
    at(seconds * 1_000_000_000)
}

/// A pass of two seconds every ten, from the third on.
const PASSES: Outages = Outages::Passes(Passes {
    period: Duration::from_secs(10),
    length: Duration::from_secs(2),
    first: Duration::from_secs(3),
});

#[test]
fn what_leaves_during_a_span_is_lost_and_nothing_else() {
    let outages = Outages::Spans(vec![seconds(2)..seconds(3), seconds(5)..seconds(7)]);
    let mut link = Link::new(Conditions { outages, ..Conditions::IDEAL }, 0);
    let arrived = arrivals(&mut link, 100, 10, millis(100));
    let numbers: Vec<_> = arrived.iter().map(|(_, probe)| probe.number).collect();
    let up = (0..100).filter(|number| !(20..30).contains(number) && !(50..70).contains(number));
    assert_eq!(numbers, Vec::from_iter(up));
    assert_eq!(link.counts().in_outage, 30);
}

#[test]
fn the_time_when_it_begins_to_leave_counts() {
    let outages = Outages::Spans(vec![seconds(1)..seconds(2)]);
    let mut link = Link::new(Conditions { rate: Some(100), outages, ..Conditions::IDEAL }, 0);
    // Each takes half a second: two leave before, two during, and the rest after the outage.
    let numbers: Vec<_> =
        arrivals(&mut link, 6, 50, Duration::ZERO).iter().map(|(_, probe)| probe.number).collect();
    assert_eq!(numbers, [0, 1, 4, 5]);
}

#[test]
fn a_pass_comes_round() {
    let up: Vec<u64> = (0..30).filter(|second| !PASSES.is_down(seconds(*second))).collect();
    assert_eq!(up, [3, 4, 13, 14, 23, 24]);
}

#[test]
fn the_next_change_is_told() {
    let changes = |outages: &Outages| -> Vec<u64> {
        let next = |time: &Instant| outages.next_change(*time);
        let changes = std::iter::successors(outages.next_change(Instant::START), next);
        changes.take(5).map(|time| time.nanoseconds() / 1_000_000_000).collect()
    };
    assert_eq!(changes(&PASSES), [3, 5, 13, 15, 23]);
    // What touches and what overlaps is one outage.
    let spans = [(5, 6), (1, 2), (6, 8), (7, 9)].map(|(from, to)| seconds(from)..seconds(to));
    assert_eq!(changes(&Outages::Spans(spans.into())), [1, 2, 5, 9]);
    assert_eq!(changes(&Outages::None), Vec::<u64>::new());
    let (period, first) = (Duration::from_secs(1), Duration::ZERO);
    let always = Passes { period, length: period, first };
    assert_eq!(changes(&Outages::Passes(always)), Vec::<u64>::new());
    let never = Passes { period, length: Duration::ZERO, first };
    assert_eq!(changes(&Outages::Passes(never)), Vec::<u64>::new());
    assert!(Outages::Passes(never).is_down(seconds(5)));
}

#[test]
fn a_stream_waits_until_the_link_is_up() {
    let mut link = Link::new(Conditions { outages: PASSES, ..Conditions::IDEAL }, 0);
    assert_eq!(link.carry_surely(at(0), 10), Some(seconds(3)));
    assert_eq!(link.carry_surely(seconds(4), 10), Some(seconds(4)));
    assert_eq!(link.carry_surely(seconds(6), 10), Some(seconds(13)));
    assert_eq!(link.carry(seconds(6), Probe::new(0, 10)), Carried::Lost);
    link.set_conditions(Conditions {
        outages: Outages::Spans(vec![seconds(20)..Instant::END]),
        ..Conditions::IDEAL
    });
    assert_eq!(link.carry_surely(seconds(21), 10).map(|time| time >= Instant::END), Some(true));
}
