//! Duplicates, altered packets, and what the same seed means.

use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, GilbertElliott, Link, Loss, Reorder};

use crate::link::{arrivals, is_plausible, millis};

const COUNT: u64 = 100_000;

#[test]
fn duplicates_are_as_frequent_as_they_should_be() {
    let mut link = Link::new(Conditions { duplicate: 0.05, corrupt: 1.0, ..Conditions::IDEAL }, 1);
    let arrived = arrivals(&mut link, COUNT, 100, Duration::ZERO);
    let twins = arrived.len() as u64 - COUNT;
    assert!(is_plausible(twins, COUNT, 0.05), "{twins}");
    assert_eq!(link.counts().duplicated, twins);
    // A copy is taken before the packet is altered.
    assert_eq!(arrived.iter().filter(|(_, probe)| probe.altered.is_empty()).count() as u64, twins);
}

#[test]
fn of_a_corrupt_packet_one_bit_is_altered() {
    let mut link = Link::new(Conditions { corrupt: 0.2, ..Conditions::IDEAL }, 2);
    let arrived = arrivals(&mut link, COUNT, 100, Duration::ZERO);
    let altered = arrived.iter().filter(|(_, probe)| probe.altered.len() == 1).count() as u64;
    assert!(is_plausible(altered, COUNT, 0.2), "{altered}");
    assert_eq!(link.counts().altered, altered);
    assert!(arrived.iter().all(|(_, probe)| probe.altered.len() <= 1));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let loss = GilbertElliott { p: 0.1, r: 0.3, good: 0.01, bad: 0.5 };
    let conditions = Conditions {
        rate: Some(100_000),
        jitter: millis(30),
        loss: Loss::GilbertElliott(loss),
        duplicate: 0.1,
        corrupt: 0.1,
        bit_errors: 1e-3,
        reorder: Reorder { probability: 0.1, by: millis(7) },
        ..Conditions::IDEAL
    };
    let run = |seed| arrivals(&mut Link::new(conditions.clone(), seed), 2000, 100, millis(2));
    assert_eq!(run(11), run(11));
    assert_ne!(run(11), run(12));
}
