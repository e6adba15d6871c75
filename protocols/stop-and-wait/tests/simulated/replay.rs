//! What befell the packets of one run, as a script: the same run, or another that is chosen.

use std::net::IpAddr;

use stackwright_contract::services::Ended;
use stackwright_simulator::{Conditions, Deed, Event, Network};
use stackwright_wire::SingleBuffer;

use crate::Stack;
use crate::talker::{CLIENT, SERVER, Scene, any_conditions, layers};

type M = SingleBuffer;

fn run(seed: u64, prepare: impl FnOnce(&mut Network<M>)) -> Scene<M, Stack<M>> {
    let mut scene = Scene::with(seed, prepare, 20, |address, seed| {
        let (upper, lower) = layers(address, seed);
        Stack::new(upper, lower)
    });
    assert!(scene.ends(), "seed {seed}: it comes to an end");
    scene
}

#[test]
fn the_log_of_a_run_replays_it() {
    let mut deeds = 0;
    for seed in 0..100 {
        let first = run(seed, |network| {
            network.set_conditions(any_conditions(seed));
            network.keep_log();
        });
        let log = first.world.network().log();
        deeds += log.len();
        // What is not chance stays: only the delay.
        let delay = any_conditions(seed).delay;
        let again = run(seed, |network| {
            network.set_conditions(Conditions { delay, ..Conditions::IDEAL });
            network.replay(&log);
        });
        assert_eq!(again.world.trace().hash(), first.world.trace().hash(), "seed {seed}");
    }
    assert!(deeds > 1000, "much happened");
}

#[test]
fn any_one_packet_may_be_lost() {
    let [server, client] = [SERVER, CLIENT].map(IpAddr::from);
    for (from, to) in [(client, server), (server, client)] {
        for nth in 0..25 {
            let lost = vec![Event { nth, deed: Deed::Lose }];
            let scene = run(1, |network| network.script(from, to, lost));
            assert_eq!(
                scene.outcome(),
                (&Vec::from_iter(0..20)[..], Some(Ended::Finished)),
                "packet {nth}"
            );
            let counts = scene.world.network().counts(from, to);
            assert_eq!(counts.lost, u64::from(counts.offered > nth), "packet {nth}");
        }
    }
}
