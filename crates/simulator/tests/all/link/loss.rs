//! Which packets are lost.

use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, GilbertElliott, Link, Loss};

use crate::link::{arrivals, at, is_plausible, millis};

/// For each of so many packets, whether it was lost.
fn lost(loss: Loss, seed: u64, count: u64) -> Vec<bool> {
    let mut link = Link::new(Conditions { loss, ..Conditions::IDEAL }, seed);
    let arrived = arrivals(&mut link, count, 100, Duration::ZERO);
    let mut lost = vec![true; count as usize];
    for (_, probe) in arrived {
        lost[probe.number as usize] = false;
    }
    assert_eq!(link.counts().lost, lost.iter().filter(|lost| **lost).count() as u64);
    lost
}

fn count(lost: &[bool]) -> u64 {
    lost.iter().filter(|lost| **lost).count() as u64
}

#[test]
fn independent_losses_are_as_frequent_as_they_should_be() {
    for (seed, probability) in [0.001, 0.01, 0.1, 0.5, 0.9].into_iter().enumerate() {
        let lost = lost(Loss::Bernoulli(probability), seed as u64, 100_000);
        assert!(
            is_plausible(count(&lost), 100_000, probability),
            "{} of {probability}",
            count(&lost)
        );
        // The one after a lost one is no worse off.
        let after: Vec<_> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!(is_plausible(count(&after), after.len() as u64, probability));
    }
    assert_eq!(count(&lost(Loss::Bernoulli(1.0), 1, 1000)), 1000);
    assert_eq!(Loss::from(0.0), Loss::None);
}

#[test]
fn bursts_are_as_long_and_as_frequent_as_they_should_be() {
    // Where all are lost in the bad state and none in the good one, a burst is a stay in the bad
    // state.
    let model = GilbertElliott { p: 0.01, r: 0.2, good: 0.0, bad: 1.0 };
    for seed in 0..5 {
        let lost = lost(Loss::GilbertElliott(model), seed, 200_000);
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as u64;
        // Each packet in the good state may be the last before a burst, and each in the bad state
        // the last of one.
        assert!(is_plausible(bursts, 200_000 - count(&lost), model.p), "{bursts} bursts");
        assert!(is_plausible(bursts, count(&lost), model.r), "bursts of {}", count(&lost) / bursts);
        let share = count(&lost) as f64 / 200_000.0;
        assert!((share / model.share() - 1.0).abs() < 0.1, "{share} are lost");
    }
}

#[test]
fn in_each_state_its_own_share_is_lost() {
    let never_bad = GilbertElliott { p: 0.0, r: 0.5, good: 0.03, bad: 1.0 };
    assert!(is_plausible(count(&lost(Loss::GilbertElliott(never_bad), 3, 100_000)), 100_000, 0.03));
    let soon_bad = GilbertElliott { p: 1.0, r: 0.0, good: 0.0, bad: 0.3 };
    assert!(is_plausible(count(&lost(Loss::GilbertElliott(soon_bad), 4, 100_000)), 99_999, 0.3));
}

#[test]
fn every_nth_is_the_last_of_each_n() {
    let lost = lost(Loss::Every(10), 5, 1000);
    for (number, lost) in lost.into_iter().enumerate() {
        assert_eq!(lost, number % 10 == 9, "packet {number}");
    }
}

#[test]
fn a_stream_sends_what_was_lost_again() {
    let resent = |loss: Loss| {
        let mut link = Link::new(Conditions { loss, ..Conditions::IDEAL }, 8);
        [0, 1, 2, 3].map(|_| link.carry_surely(at(0), 100).map(|time| time.since(at(0))))
    };
    // Under another number, so that it is lost once.
    let [now, late] = [Some(Duration::ZERO), Some(millis(200))];
    assert_eq!(resent(Loss::Listed([1, 2].into())), [now, late, late, now]);
    assert_eq!(resent(Loss::Every(2)), [now, late, now, late]);
    let always_bad = GilbertElliott { p: 1.0, r: 0.0, good: 0.0, bad: 1.0 };
    assert_eq!(resent(Loss::GilbertElliott(always_bad)), [now, None, None, None]);
    assert_eq!(resent(Loss::Bernoulli(1.0)), [None; 4]);
}

#[test]
fn exactly_the_listed_are_lost() {
    let list = [0, 3, 17, 999];
    let lost = lost(Loss::Listed(list.into()), 6, 1000);
    let which: Vec<_> = (0..1000).filter(|number| lost[*number as usize]).collect();
    assert_eq!(which, list);
}
