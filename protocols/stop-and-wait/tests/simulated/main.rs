//! Stop-and-wait over a link that loses, doubles and reorders: everything arrives once, in order,
//! or the end is said.

mod channel;
mod graphs;
mod replay;
mod talker;

use stackwright_compose::Over;
use stackwright_contract::services::Ended;
use stackwright_simulator::{Conditions, SimulatedDatagrams};
use stackwright_stop_and_wait::StopAndWait;
use stackwright_wire::{BufferTree, Message, SingleBuffer};
use talker::{Scene, any_conditions, layers};

type Stack<M> = Over<StopAndWait<M>, SimulatedDatagrams<M>>;

fn stacked<M: Message>(seed: u64, conditions: Conditions, messages: u32) -> Scene<M, Stack<M>> {
    Scene::new(seed, conditions, messages, |address, seed| {
        let (upper, lower) = layers(address, seed);
        Over::new(upper, lower)
    })
}

fn arrives_whole<M: Message>(seed: u64) {
    let mut scene = stacked::<M>(seed, any_conditions(seed), 20);
    assert!(scene.ends(), "seed {seed}: it comes to an end");
    assert_eq!(scene.outcome(), (&Vec::from_iter(0..20)[..], Some(Ended::Finished)), "seed {seed}");
}

#[test]
fn everything_arrives_once_and_in_order() {
    for seed in 0..200 {
        arrives_whole::<SingleBuffer>(seed);
        arrives_whole::<BufferTree>(seed);
    }
}

#[test]
fn nobody_there_is_said() {
    let mut scene =
        stacked::<SingleBuffer>(1, Conditions { loss: 1.0.into(), ..Conditions::IDEAL }, 1);
    assert!(scene.ends());
    assert_eq!(scene.outcome(), (&[][..], Some(Ended::Expired)));
    let stack = scene.world.stack(scene.client);
    assert_eq!((stack.upper.associations(), stack.upper.names()), (0, 0));
}
