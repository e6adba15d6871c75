//! Rate, framing, MTU and a queue that drops at its tail.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Conditions, Link, Queue};

use crate::link::{Probe, arrivals, at, millis};

fn last(arrivals: &[(Instant, Probe)]) -> Instant {
    arrivals.last().expect("something arrived").0
}

#[test]
fn the_rate_is_exact_to_the_octet() {
    for (rate, octets, overhead) in
        [(1_250_000, 1500, 38), (150, 329, 4), (3, 1, 0), (999_983, 61, 7)]
    {
        let conditions = Conditions { rate: Some(rate), overhead, ..Conditions::IDEAL };
        let mut link = Link::new(conditions, 0);
        let count = 10_000;
        let arrived = arrivals(&mut link, count, octets, Duration::ZERO);
        let sent = u128::from(count) * (octets + overhead) as u128;
        let nanoseconds = u128::from(last(&arrived).nanoseconds());
        // Only the last packet is cut to a whole nanosecond: nothing adds up.
        assert_eq!(
            nanoseconds,
            sent * 1_000_000_000 / u128::from(rate),
            "{rate} octets per second"
        );
    }
}

#[test]
fn an_idle_link_does_not_save_up() {
    let mut link = Link::new(Conditions { rate: Some(1000), ..Conditions::IDEAL }, 0);
    let sparse = arrivals(&mut link, 10, 100, millis(250));
    for (number, (time, _)) in sparse.iter().enumerate() {
        assert_eq!(time.since(at(0)), millis(250 * number as u64 + 100));
    }
}

#[test]
fn without_a_rate_all_arrive_after_the_delay() {
    let mut link = Link::new(Conditions { delay: millis(20), ..Conditions::IDEAL }, 0);
    for (number, (time, _)) in arrivals(&mut link, 100, 1 << 20, millis(1)).iter().enumerate() {
        assert_eq!(time.since(at(0)), millis(number as u64 + 20));
    }
}

#[test]
fn what_is_longer_than_the_mtu_is_dropped_and_takes_no_time() {
    let mut link =
        Link::new(Conditions { rate: Some(1000), mtu: Some(100), ..Conditions::IDEAL }, 0);
    assert_eq!(link.carry(at(0), Probe::new(0, 101)), Carried::Lost);
    assert_eq!(
        link.carry(at(0), Probe::new(1, 100)),
        Carried::Once(at(100_000_000), Probe::new(1, 100))
    );
    assert_eq!((link.counts().offered, link.counts().too_long, link.counts().delivered), (2, 1, 1));
}

#[test]
fn a_queue_holds_what_it_says() {
    let octets = Queue::octets(1000);
    let packets = Queue::packets(10);
    for queue in [octets, packets] {
        let mut link = Link::new(Conditions { rate: Some(1000), queue, ..Conditions::IDEAL }, 0);
        // At once: one is on the way, and ten wait.
        assert_eq!(arrivals(&mut link, 50, 100, Duration::ZERO).len(), 11);
        assert_eq!(link.counts().dropped_at_tail, 39);
        // As one leaves, there is a place: but for one only.
        for (after, arrives) in [(99, false), (100, true), (101, false), (200, true)] {
            let carried = link.carry(at(after * 1_000_000), Probe::new(after, 100));
            assert_eq!(!matches!(carried, Carried::Lost), arrives, "after {after} ms");
        }
    }
}

#[test]
fn a_queue_of_nothing_lets_pass_what_need_not_wait() {
    let queue = Queue::octets(0);
    let mut link = Link::new(Conditions { rate: Some(1000), queue, ..Conditions::IDEAL }, 0);
    assert_eq!(arrivals(&mut link, 10, 100, millis(50)).len(), 5);
}

#[test]
fn changed_conditions_hold_for_what_comes_after() {
    let mut link = Link::new(Conditions { rate: Some(1000), ..Conditions::IDEAL }, 0);
    assert_eq!(last(&arrivals(&mut link, 1, 100, millis(0))), at(100_000_000));
    link.set_conditions(Conditions { rate: Some(10_000), delay: millis(5), ..Conditions::IDEAL });
    // It waits for the one before, and is ten times as fast.
    assert_eq!(last(&arrivals(&mut link, 1, 100, millis(0))), at(115_000_000));
}
