//! The same two layers as a graph: the same run, word for word; and modules that come and go while
//! data flows.

use stackwright_compose::filter::Counter;
use stackwright_compose::graph::modules::Delay;
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_contract::Duration;
use stackwright_contract::services::{Datagrams, Ended};
use stackwright_simulator::{Conditions, Segments};
use stackwright_wire::BufferTree;

use crate::stacked;
use crate::talker::{Scene, any_conditions, layers};

type M = BufferTree;
type Woven = Graph<M, Segments<M>, Datagrams<M>>;

fn woven(seed: u64, conditions: Conditions, messages: u32) -> Scene<M, Woven> {
    Scene::new(seed, conditions, messages, |address, seed| {
        let (upper, lower) = layers(address, seed);
        let builder =
            Builder::new().protocol("stop-and-wait", upper).over("udp").protocol("udp", lower);
        builder.top("stop-and-wait").build().expect("it fits")
    })
}

#[test]
fn a_graph_has_the_trace_of_the_static_stack() {
    for seed in 0..1000 {
        let mut expected = stacked::<M>(seed, any_conditions(seed), 20);
        let mut woven = woven(seed, any_conditions(seed), 20);
        assert_eq!(expected.ends(), woven.ends(), "seed {seed}");
        assert_eq!(expected.outcome(), woven.outcome(), "seed {seed}");
        assert_eq!(expected.world.trace().hash(), woven.world.trace().hash(), "seed {seed}");
    }
}

#[test]
fn modules_come_and_go_at_every_tenth_message() {
    const MESSAGES: u32 = 200;
    for seed in 0..100 {
        let mut scene = woven(seed, any_conditions(seed), MESSAGES);
        let (mut pushed, mut popped, mut last) = (0, 0, 0);
        while scene.outcome().1.is_none() {
            let heard = scene.outcome().0.len();
            if heard / 10 > last {
                last = heard / 10;
                let graph = scene.world.stack_mut(scene.server);
                if graph.has("module") {
                    graph.pop("module").expect("it is a module");
                    popped += 1;
                } else if last % 4 == 1 {
                    graph
                        .push("stop-and-wait", "udp", "module", Inserted(Counter::default()))
                        .expect("it fits");
                    pushed += 1;
                } else {
                    let delay = Delay::new(Duration::from_millis(30));
                    graph.push("stop-and-wait", "udp", "module", delay).expect("it fits");
                    pushed += 1;
                }
            }
            assert!(scene.world.step(), "seed {seed}: it comes to an end");
        }
        assert_eq!(
            scene.outcome(),
            (&Vec::from_iter(0..MESSAGES)[..], Some(Ended::Finished)),
            "seed {seed}"
        );
        assert!(pushed >= 8 && popped >= 8, "seed {seed}: pushed {pushed}, popped {popped}");
    }
}
