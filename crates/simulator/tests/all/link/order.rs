//! Jitter, and who overtakes whom.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Conditions, Link, Reorder};

use crate::link::{Probe, arrivals, is_plausible, millis};

const COUNT: u64 = 10_000;

fn numbers(mut arrived: Vec<(Instant, Probe)>) -> Vec<u64> {
    arrived.sort_by_key(|(time, _)| *time);
    arrived.into_iter().map(|(_, probe)| probe.number).collect()
}

#[test]
fn jitter_is_spread_evenly_between_nothing_and_its_most() {
    let conditions = Conditions { delay: millis(10), jitter: millis(8), ..Conditions::IDEAL };
    let arrived = arrivals(&mut Link::new(conditions, 3), COUNT, 100, millis(1));
    let late = |(time, probe): &(Instant, Probe)| {
        time.since(Instant::START) - millis(probe.number) - millis(10)
    };
    let late: Vec<Duration> = arrived.iter().map(late).collect();
    assert!(late.iter().all(|late| *late <= millis(8)));
    for eighth in 0..8 {
        let range = millis(eighth)..millis(eighth + 1);
        let within = late.iter().filter(|late| range.contains(late)).count() as u64;
        assert!(is_plausible(within, COUNT, 1.0 / 8.0), "{within} within {range:?}");
    }
}

#[test]
fn jitter_reorders_unless_the_link_keeps_the_order() {
    let jittery = Conditions { jitter: millis(8), ..Conditions::IDEAL };
    let free = numbers(arrivals(&mut Link::new(jittery.clone(), 4), COUNT, 100, millis(1)));
    assert!(!free.is_sorted());
    let kept = Conditions { keeps_order: true, duplicate: 0.1, ..jittery };
    let kept = arrivals(&mut Link::new(kept, 4), COUNT, 100, millis(1));
    assert!(
        kept.is_sorted_by_key(|(time, _)| *time),
        "a later one never arrives before an earlier one"
    );
    assert!(numbers(kept).is_sorted());
}

#[test]
fn who_is_held_back_is_overtaken_by_those_of_that_time() {
    for keeps_order in [false, true] {
        let reorder = Reorder { probability: 0.01, by: Duration::from_micros(3500) };
        let conditions = Conditions { reorder, keeps_order, ..Conditions::IDEAL };
        let mut link = Link::new(conditions, 5);
        let arrived = arrivals(&mut link, COUNT, 100, millis(1));
        let held =
            |(time, probe): &&(Instant, Probe)| time.since(Instant::START) != millis(probe.number);
        let held: Vec<u64> = arrived.iter().filter(held).map(|(_, probe)| probe.number).collect();
        assert!(is_plausible(held.len() as u64, COUNT, 0.01), "{}", held.len());
        assert_eq!(link.counts().held_back, held.len() as u64);
        let order = numbers(arrived);
        for number in held.into_iter().filter(|number| *number < COUNT - 3) {
            let place = order.iter().position(|other| *other == number).expect("nothing is lost");
            let overtook = order[..place].iter().filter(|other| **other > number).count();
            // Three, of which each may be held back itself.
            assert!((1..=3).contains(&overtook), "{overtook} overtook {number}");
        }
    }
}
