//! Over a half-duplex channel that both share: they take turns, and what collides is sent again.

use std::net::IpAddr;

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::{ChannelConditions, Network, Profile};
use stackwright_wire::SingleBuffer;

use crate::Stack;
use crate::talker::{CLIENT, SERVER, Scene, layers_with};

type M = SingleBuffer;

fn run(seed: u64, conditions: ChannelConditions) -> Scene<M, Stack<M>> {
    let stations = [SERVER, CLIENT].map(IpAddr::from);
    let prepare = |network: &mut Network<M>| network.share(&stations, conditions);
    let mut scene = Scene::with(seed, prepare, 20, |address, seed| {
        let (upper, lower) = layers_with(Duration::from_secs(3), address, seed);
        Stack::new(upper, lower)
    });
    assert!(scene.ends(), "seed {seed}: it comes to an end");
    scene
}

#[test]
fn everything_arrives_by_radio() {
    for name in ["packet-radio-1200", "packet-radio-9600"] {
        let Some(Profile::Channel(radio)) = Profile::named(name) else {
            panic!("{name} is a shared channel")
        };
        for seed in 0..20 {
            let scene = run(seed, radio.clone());
            assert_eq!(
                scene.outcome(),
                (&Vec::from_iter(0..20)[..], Some(Ended::Finished)),
                "{name}, seed {seed}"
            );
            let counts = scene.world.network().channel_counts(SERVER.into()).expect("it is on it");
            // Twenty messages, each with an acknowledgement, and none without a key-up.
            assert!(
                counts.delivered >= 40 && counts.on_air >= radio.key_up * 40,
                "{name}: {counts:?}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let hasty =
        || ChannelConditions { delay: Duration::from_millis(20), ..ChannelConditions::ideal(1200) };
    for seed in 0..20 {
        let [one, other] = [run(seed, hasty()), run(seed, hasty())];
        assert_eq!(one.world.trace().hash(), other.world.trace().hash(), "seed {seed}");
    }
}
