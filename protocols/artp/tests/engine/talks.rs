//! What is promised is kept on a bad link.

use stackwright_trial::{Talk, Trial};

use crate::setting::{bad, config, end, seeds};

#[test]
fn each_datagram_arrives_once_on_a_bad_link() {
    for seed in seeds(300) {
        let mut trial = Trial::new(|side| end(&config(), side), &bad(seed), seed);
        let outcome = trial.talk(&Talk::default(), seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}
