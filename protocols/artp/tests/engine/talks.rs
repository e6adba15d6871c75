//! What is promised is kept on a bad link.

use core::num::NonZeroU32;

use stackwright_artp::Config;
use stackwright_contract::services::Quality;
use stackwright_trial::{Promise, Talk, Trial};

use crate::setting::{bad, config, end, seeds};

#[test]
fn each_datagram_arrives_once_on_a_bad_link() {
    for seed in seeds(300) {
        let mut trial = Trial::new(|side| end(&config(), side), &bad(seed), seed);
        let outcome = trial.talk(&Talk::default(), seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn who_does_not_take_for_a_while_loses_nothing() {
    let config = Config { window: 32, ..config() };
    for seed in seeds(300) {
        let mut trial = Trial::new(|side| end(&config, side), &bad(seed), seed);
        let takes = |packets: u64| !(30..200).contains(&packets);
        let outcome = trial.talk(&Talk::default(), seed, |end, packets| end.takes = takes(packets));
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn a_datagram_may_have_more_fragments_than_the_window() {
    let config = Config { window: 32, longest: 1 << 17, ..config() };
    let talk = Talk { there: 20, back: 5, longest: 100_000, ..Talk::default() };
    for seed in seeds(50) {
        let mut trial = Trial::new(|side| end(&config, side), &bad(seed), seed);
        let outcome = trial.talk(&talk, seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn what_expires_before_a_shut_window_comes_to_an_end() {
    let config = Config { window: 4, expires: true, ..config() };
    let quality = Quality { lifetime: NonZeroU32::new(20_000), ..Quality::default() };
    let talk = Talk { quality, promise: Promise::AtMostOnce, ..Talk::default() };
    for seed in seeds(300) {
        let mut trial = Trial::new(|side| end(&config, side), &bad(seed), seed);
        let takes = |packets: u64| !(10..40).contains(&packets);
        let outcome = trial.talk(&talk, seed, |end, packets| end.takes = takes(packets));
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}
