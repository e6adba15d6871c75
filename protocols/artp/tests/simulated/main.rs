//! ARTP between stations: over datagrams that are lost, doubled and late.

mod scene;

use stackwright_artp::{Config, boxed_layer, layer};
use stackwright_contract::services::Ended;
use stackwright_simulator::Conditions;

use scene::{Scene, Talker, any_conditions, stacked};

#[test]
fn everything_arrives_once() {
    for seed in 0..100 {
        let mut scene = stacked(seed, any_conditions(seed), 40, layer);
        assert!(scene.ends(), "seed {seed}: it comes to an end");
        let (mut heard, ended) = scene.outcome();
        heard.sort_unstable();
        assert_eq!((heard, ended), (Vec::from_iter(0..40), Some(Ended::Finished)), "seed {seed}");
    }
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    for seed in 0..50 {
        let mut one = stacked(seed, any_conditions(seed), 20, layer);
        let mut other = stacked(seed, any_conditions(seed), 20, boxed_layer);
        assert!(one.ends() && other.ends(), "seed {seed}");
        assert_eq!(one.trace(), other.trace(), "seed {seed}");
    }
}

#[test]
fn nobody_there_is_said() {
    let mut scene = stacked(1, Conditions { loss: 1.0.into(), ..Conditions::IDEAL }, 1, layer);
    assert!(scene.ends());
    assert_eq!(scene.outcome(), (vec![], Some(Ended::Unreachable)));
    assert_eq!(scene.client_layer().associations(), 0);
}

#[test]
fn what_is_too_long_for_the_peer_ends_the_session() {
    let longest = 1 << 16;
    let mut scene = Scene::new(1, Conditions::IDEAL, Talker::with_one_of(longest + 1), |config, seed| {
        layer(Config { longest, ..config }, seed)
    });
    assert!(scene.ends());
    assert_eq!(scene.outcome(), (vec![], Some(Ended::TooLong)));
}
