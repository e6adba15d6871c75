//! Rate, MTU and the treatment of ECN that change in the middle of a run.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Conditions, EcnTreatment, Link, LinkStep, Queue};

use crate::link::{Probe, arrivals, at, millis};

const NOTHING: LinkStep =
    LinkStep { at: Duration::ZERO, rate: None, mtu: None, ecn: None, loss: None };

/// A packet that waits has the rate of the time at which it begins to leave.
#[test]
fn a_rate_changes_for_what_has_not_begun_to_leave() {
    let faster = |at, rate| LinkStep { at: millis(at), rate: Some(rate), ..NOTHING };
    let steps = vec![faster(200, 10_000), faster(240, 1000)].into();
    let conditions = Conditions { rate: Some(1000), steps, ..Conditions::IDEAL };
    let mut link = Link::new(conditions, 0);
    let arrived = arrivals(&mut link, 8, 100, Duration::ZERO);
    let times = arrived.iter().map(|(time, _)| time.nanoseconds() / 1_000_000);
    assert_eq!(times.collect::<Vec<_>>(), [100, 200, 210, 220, 230, 240, 340, 440]);
}

#[test]
fn a_queue_of_a_link_that_became_fast_empties() {
    let steps = vec![LinkStep { at: millis(500), rate: Some(1_000_000), ..NOTHING }].into();
    let (rate, queue) = (Some(1000), Queue::packets(5));
    let mut link = Link::new(Conditions { rate, queue, steps, ..Conditions::IDEAL }, 0);
    // Ten packets of 100 ms each, one every 50 ms, and then faster than before.
    let numbers =
        |came: Vec<(Instant, Probe)>| came.iter().map(|(_, probe)| probe.number).collect();
    let early: Vec<u64> = numbers(arrivals(&mut link, 100, 100, millis(10)));
    assert!(early.len() < 70 && early.ends_with(&[97, 98, 99]), "{early:?}");
}

#[test]
fn a_path_becomes_narrow_and_wide_again() {
    let mtu = |at, mtu| LinkStep { at: millis(at), mtu: Some(mtu), ..NOTHING };
    let steps = vec![mtu(3, 500), mtu(7, 1500)].into();
    let mut link = Link::new(Conditions { mtu: Some(1500), steps, ..Conditions::IDEAL }, 0);
    let numbers: Vec<u64> =
        arrivals(&mut link, 10, 501, millis(1)).iter().map(|(_, probe)| probe.number).collect();
    assert_eq!((numbers, link.counts().too_long), (vec![0, 1, 2, 7, 8, 9], 4));
}

#[test]
fn ecn_is_mangled_for_a_while() {
    let treated = |at, ecn| LinkStep { at: millis(at), ecn: Some(ecn), ..NOTHING };
    let steps = vec![treated(2, EcnTreatment::Mark), treated(4, EcnTreatment::Keep)].into();
    let mut link = Link::new(Conditions { steps, ..Conditions::IDEAL }, 0);
    let came = [1, 2, 3, 4].map(|milliseconds| {
        let probe = Probe { ecn: 0b10, ..Probe::new(0, 10) };
        match link.carry(at(milliseconds * 1_000_000), probe) {
            Carried::Once(_, probe) => probe.ecn,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(came, [0b10, 0b11, 0b11, 0b10]);
}

/// What a step says takes the place of the link's own loss, for datagrams and for streams.
#[test]
fn packets_are_lost_for_a_while() {
    let lost = |at, loss| LinkStep { at: millis(at), loss: Some(loss), ..NOTHING };
    let steps = vec![lost(3, 1.0), lost(7, 0.0)].into();
    let mut link = Link::new(Conditions { steps, ..Conditions::IDEAL }, 0);
    let numbers: Vec<u64> =
        arrivals(&mut link, 10, 100, millis(1)).iter().map(|(_, probe)| probe.number).collect();
    assert_eq!((numbers, link.counts().lost), (vec![0, 1, 2, 7, 8, 9], 4));
    let steps = vec![lost(3, 1.0), lost(7, 0.0)].into();
    let mut link = Link::new(Conditions { steps, loss: 1.0.into(), ..Conditions::IDEAL }, 0);
    let came =
        |link: &mut Link, milliseconds: u64| link.carry_surely(at(milliseconds * 1_000_000), 100);
    assert_eq!(came(&mut link, 1), None, "the link's own loss");
    assert_eq!(came(&mut link, 4), None, "that of the step");
    assert!(came(&mut link, 8).is_some());
}
