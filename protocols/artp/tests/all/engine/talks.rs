//! What is promised is kept on a bad link.

use fastrand::Rng;
use stackwright_artp::{Config, Congestion};
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::Conditions;
use stackwright_trial::{Talk, Trial};

use crate::engine::conversation::{Conversation, Ends};
use crate::engine::setting::{any_config, bad, config, end, seeds, worse};

#[test]
fn each_datagram_arrives_once_on_a_bad_link() {
    for seed in seeds(300) {
        let mut trial = Trial::new(|side| end(&config(), side), &bad(seed), seed);
        let outcome = trial.talk(&Talk::default(), seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn each_datagram_arrives_once_whatever_bounds_what_is_on_its_way() {
    for congestion in [Congestion::NewReno, Congestion::Cubic, Congestion::Bbr] {
        for seed in seeds(100) {
            let config = Config { congestion, ..config() };
            let mut trial = Trial::new(|side| end(&config, side), &bad(seed), seed);
            let outcome = trial.talk(&Talk::default(), seed, |_, _| {});
            assert!(outcome.is_ok(), "{congestion:?}, seed {seed}: {outcome:?}");
        }
    }
}

/// The next timeout is as far off as the outage was long; what is lost and what is in flight leave
/// all the same.
#[test]
fn after_an_outage_data_leave_when_anything_is_heard() {
    for congestion in [Congestion::Document, Congestion::Cubic, Congestion::Bbr] {
        for seed in 0..20 {
            let config = Config { congestion, ..config() };
            let way = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
            let mut trial = Trial::new(|side| end(&config, side), &way, seed);
            let wishes = MessageProperties::default();
            trial.ends[0].open(trial.now());
            trial.pass(trial.now() + Duration::from_millis(100));
            // A part of a packet, or many packets.
            trial.ends[0].send(trial.now(), &vec![7; 100 + 3000 * seed as usize], wishes);
            trial.pass(trial.now() + Duration::from_millis(5));
            trial.set_conditions(&Conditions { loss: 1.0.into(), ..way.clone() });
            trial.pass(trial.now() + Duration::from_millis(9000 + 100 * seed));
            trial.set_conditions(&way);
            trial.ends[1].send(trial.now(), &[7; 10], wishes);
            let before = trial.ends[0].association.counts();
            // Behind a report, it is paced.
            trial.pass(trial.now() + Duration::from_millis(15));
            let after = trial.ends[0].association.counts();
            let unacknowledged = !trial.ends[0].association.sending().is_idle();
            assert!(
                !unacknowledged || after.retransmitted > before.retransmitted,
                "{congestion:?}, seed {seed}: {before:?}, {after:?}"
            );
            trial.pass(trial.now() + Duration::from_millis(2000));
            assert!(
                trial.ends[0].association.sending().is_idle(),
                "{congestion:?}, seed {seed}: all has arrived"
            );
        }
    }
}

/// Two ends that have chosen by chance.
fn any_ends(seed: u64, conditions: &Conditions, expires: bool) -> Ends {
    let random = &mut Rng::with_seed(seed ^ 0xc0f1);
    let configs =
        [0, 1].map(|_| Config { expires: expires && random.bool(), ..any_config(random) });
    let ends = Trial::new(|side| end(&configs[side], side), conditions, seed);
    let ends = if random.bool() { ends.in_batches() } else { ends };
    if random.bool() { ends.in_runs() } else { ends }
}

/// Whether packets lie one behind the other is seen by nobody but the processor.
#[test]
fn packets_that_leave_and_come_together_are_those_that_would_one_by_one() {
    for seed in seeds(1000) {
        // Where nothing is late by chance, what left together comes together.
        let conditions = Conditions { jitter: Duration::ZERO, ..worse(seed) };
        let traces = [false, true].map(|runs| {
            let random = &mut Rng::with_seed(seed ^ 0xc0f1);
            let configs =
                [0, 1].map(|_| Config { expires: random.u8(..) < 80, ..any_config(random) });
            let ends = Trial::new(|side| end(&configs[side], side), &conditions, seed).in_batches();
            // A message may go up as it comes only where it comes whole.
            let ends = ends.through_inbox();
            let mut ends = if runs { ends.in_runs() } else { ends };
            let conversation = Conversation { longest: 8000, ..Conversation::default() };
            let held = conversation.hold(&mut ends, seed, |_| Ok(()));
            (held.is_ok(), ends.packets(), ends.trace(), ends.dropped().to_vec())
        });
        assert_eq!(traces[0], traces[1], "seed {seed}");
    }
}

#[test]
fn whatever_was_chosen_and_whatever_goes_wrong_everything_arrives_once_and_whole() {
    for seed in seeds(2000) {
        let mut ends = any_ends(seed, &worse(seed), false);
        if let Err(failure) = Conversation::default().hold(&mut ends, seed, |_| Ok(())) {
            panic!("seed {seed}: {failure}");
        }
    }
}

/// Nothing checks the octets here: what is altered may be delivered, and an end may be told things
/// that are not so.
#[test]
fn without_a_check_nothing_panics_and_nothing_storms() {
    for seed in seeds(300) {
        let conditions = Conditions { corrupt: 0.2, ..worse(seed) };
        let mut ends = any_ends(seed, &conditions, seed % 2 == 0);
        let conversation =
            Conversation { limit: Duration::from_secs(300), ..Conversation::default() };
        if let Err(failure) = conversation.hold(&mut ends, seed, |_| Ok(())) {
            assert!(!failure.contains("storm"), "seed {seed}: {failure}");
        }
    }
}
