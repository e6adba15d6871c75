//! ARTP between stations: over datagrams that are lost, doubled and late.
//!
//! `SEEDS=n` runs a crowd with n times as many seeds.

mod buffer;
mod crowd;
mod ends;
mod monitor;
mod moves;
mod scene;

use stackwright_artp::{Cipher, Config, Protection, Sealing, Secret, boxed_layer, layer};
use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::Conditions;
use stackwright_wire::BufferTree;

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

/// Above all the one that confirms: who asked says all that he has, hears that it arrived, and
/// leaves. Nothing but his farewell then shows the other that he hears.
#[test]
fn a_short_session_is_heard_whole_and_ends_whichever_of_its_packets_are_lost() {
    let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
    // Of the first four: one of these at most is a farewell, and there are three.
    for lost in 0..1 << 9_u32 {
        let packet = if lost >> 8 == 0 { 1200 } else { 1472 };
        let lost = [lost as u8 & 15, lost as u8 >> 4];
        let mut scene = stacked(1, conditions.clone(), 2, |config, seed| {
            layer(Config { packet, ..config }, seed)
        });
        scene.lose(lost);
        assert!(scene.ends(), "{lost:?}: it comes to an end");
        let (mut heard, ended) = scene.outcome();
        heard.sort_unstable();
        assert_eq!((heard, ended), (vec![0, 1], Some(Ended::Finished)), "{lost:?}");
        assert_eq!(scene.server_ended(), Some(Ended::Finished), "{lost:?}");
        assert_eq!(
            scene.client_layer().associations() + scene.server_layer().associations(),
            0,
            "{lost:?}"
        );
    }
}

#[test]
fn where_the_way_silently_drops_what_is_longer_than_the_least_everything_arrives() {
    for seed in 0..30 {
        // With the headers of UDP and IPv4.
        let narrow = Conditions { mtu: Some(1228), ..any_conditions(seed) };
        let long = |config, seed| layer(Config { packet: 1472, ..config }, seed);
        let mut scene = stacked(seed, narrow, 40, long);
        assert!(scene.ends(), "seed {seed}: it comes to an end");
        let (mut heard, ended) = scene.outcome();
        heard.sort_unstable();
        assert_eq!((heard, ended), (Vec::from_iter(0..40), Some(Ended::Finished)), "seed {seed}");
    }
}

/// It opens, because what opens a session is short.
#[test]
fn where_the_path_passes_less_than_the_base_everything_arrives() {
    for seed in 0..30 {
        for mtu in [600, 300] {
            let narrow = Conditions { mtu: Some(mtu), loss: 0.05.into(), ..any_conditions(seed) };
            let mut scene = stacked(seed, narrow, 40, layer);
            assert!(scene.ends(), "seed {seed}, {mtu}: it comes to an end");
            let (mut heard, ended) = scene.outcome();
            heard.sort_unstable();
            let all = (Vec::from_iter(0..40), Some(Ended::Finished));
            assert_eq!((heard, ended), all, "seed {seed}, {mtu}");
        }
    }
}

#[test]
fn where_the_path_falls_below_the_base_while_data_flow_everything_arrives() {
    for seed in 0..30 {
        let wide = Conditions { loss: 0.05.into(), ..any_conditions(seed) };
        let narrow = Conditions { mtu: Some(600), ..wide.clone() };
        let mut scene = Scene::new(seed, wide, Talker::with(40, 20_000), layer);
        scene.becomes(10, narrow);
        assert!(scene.ends(), "seed {seed}: it comes to an end");
        let (mut heard, ended) = scene.outcome();
        heard.sort_unstable();
        assert_eq!((heard, ended), (Vec::from_iter(0..40), Some(Ended::Finished)), "seed {seed}");
    }
}

#[test]
fn where_the_way_becomes_narrow_while_data_flow_and_says_nothing_everything_arrives() {
    for seed in 0..30 {
        let wide = Conditions { mtu: Some(9000), ..any_conditions(seed) };
        let narrow = Conditions { mtu: Some(1300), ..wide.clone() };
        // With the headers of UDP and IPv4.
        let long = |config, seed| layer(Config { packet: 8972, ..config }, seed);
        let mut scene = Scene::new(seed, wide.clone(), Talker::with(40, 20_000), long);
        let boxed = |config, seed| boxed_layer(Config { packet: 8972, ..config }, seed);
        let mut other = Scene::new(seed, wide, Talker::with(40, 20_000), boxed);
        scene.becomes(10, narrow.clone());
        other.becomes(10, narrow);
        assert!(scene.ends() && other.ends(), "seed {seed}: it comes to an end");
        assert_eq!(scene.trace(), other.trace(), "seed {seed}");
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
fn the_path_is_reported_with_what_went_wrong_on_it() {
    let delay = Duration::from_millis(10);
    let clean = Conditions { delay, ..Conditions::IDEAL };
    let mut scene = stacked(1, clean.clone(), 40, layer);
    scene.becomes(30, clean.clone());
    let [client, server] = scene.paths();
    let least = client.least.expect("it was measured");
    assert!(least >= Duration::from_millis(20) && least < Duration::from_millis(80), "{client:?}");
    assert!(client.round_trip.is_some_and(|round_trip| round_trip >= least), "{client:?}");
    assert!(client.in_flight > 0 && client.window.is_some_and(|window| window > 0), "{client:?}");
    assert_eq!(
        (client.lost, client.retransmitted, client.timeouts, server.duplicates),
        (0, 0, 0, 0)
    );

    let lossy = Conditions { loss: 0.2.into(), duplicate: 0.2, ..clean };
    let mut scene = stacked(1, lossy.clone(), 40, layer);
    scene.becomes(30, lossy);
    let [client, server] = scene.paths();
    assert!(client.lost > 0 && client.retransmitted > 0, "{client:?}");
    assert!(server.duplicates > 0, "{server:?}");
}

#[test]
fn nobody_there_is_said() {
    let mut scene = stacked(1, Conditions { loss: 1.0.into(), ..Conditions::IDEAL }, 1, layer);
    assert!(scene.ends());
    assert_eq!(scene.outcome(), (vec![], Some(Ended::Unreachable)));
    assert_eq!(scene.client_layer().associations(), 0);
}

#[test]
fn what_is_too_long_for_the_peer_ends_the_session_for_both() {
    let longest = 1 << 16;
    let mut scene =
        Scene::new(1, Conditions::IDEAL, Talker::with_one_of(longest + 1), |config, seed| {
            layer(Config { longest, ..config }, seed)
        });
    assert!(scene.ends());
    let why = Some(Ended::TooLong { longest: longest as u32 });
    assert_eq!((scene.outcome(), scene.server_ended()), ((vec![], why), why));
}

/// What `layer` makes, with datagrams that are sealed with this secret.
fn sealed<P>(layer: fn(Config, u64) -> P, secret: u8) -> impl Fn(Config, u64) -> P {
    let protection =
        Protection::Sealed(Sealing::new(Cipher::ChaCha20Poly1305, Secret([secret; 32])));
    move |config, seed| layer(Config { protection, ..config }, seed)
}

#[test]
fn everything_arrives_once_where_it_is_sealed() {
    for seed in 0..20 {
        let mut scene = stacked(seed, any_conditions(seed), 40, sealed(layer, 1));
        let mut other = stacked(seed, any_conditions(seed), 40, sealed(boxed_layer, 1));
        assert!(scene.ends() && other.ends(), "seed {seed}: it comes to an end");
        assert_eq!(scene.trace(), other.trace(), "seed {seed}");
        let (mut heard, ended) = scene.outcome();
        heard.sort_unstable();
        assert_eq!((heard, ended), (Vec::from_iter(0..40), Some(Ended::Finished)), "seed {seed}");
    }
}

#[test]
fn another_secret_delivers_nothing_and_both_are_told() {
    // The server's secret is the other one: it is made first.
    let made = std::cell::Cell::new(0);
    let mut scene = stacked(1, Conditions::IDEAL, 40, |config, seed| {
        made.set(made.get() + 1);
        sealed(layer, made.get())(config, seed)
    });
    assert!(scene.ends());
    let (heard, ended) = scene.outcome();
    assert_eq!((heard, ended), (vec![], Some(Ended::Forged)));
    assert_eq!(scene.server_ended(), Some(Ended::Forged));
}

#[test]
#[should_panic(expected = "a secret that was drawn")]
fn nothing_is_sealed_with_salts_that_everybody_knows() {
    sealed(layer::<BufferTree>, 1)(Config::new([0; 16]), 1);
}
