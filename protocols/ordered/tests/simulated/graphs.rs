//! The same layers as a graph: the same run, word for word.

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::services::Streams;
use stackwright_ordered::Ordered;
use stackwright_simulator::{Segments, SimulatedDatagrams, seeds};
use stackwright_wire::BufferTree;

use crate::talker::{
    AGES, Scene, Seed, Sound, Stack, any_config, any_order, any_tightness, shuffled,
};

type M = BufferTree;
type Woven = Graph<M, Segments<M>, Streams<M>>;

#[test]
fn a_graph_has_the_trace_of_the_static_stack() {
    for seed in seeds(200) {
        let _said = Seed(seed);
        let mut random = Rng::with_seed(seed);
        let tightness = any_tightness(&mut random);
        let (config, credit) = any_config(&mut random, tightness);
        let conditions = any_order(&mut random);
        let mishap = (random.u8(..3) == 0).then(|| (random.usize(..100), random.usize(..2)));
        let mut expected = Scene::<M, Stack<M>>::new(
            seed,
            conditions.clone(),
            tightness,
            random.clone(),
            |_, address| Over::new(Ordered::new(config), shuffled(address, credit)),
        );
        let mut woven =
            Scene::<M, Woven>::new(seed, conditions, tightness, random, |_, address| {
                let builder =
                    Builder::new().protocol("ordered", Ordered::new(config)).over("sound");
                let builder = builder.protocol("sound", Sound::<M>::default()).over("udp");
                let builder = builder.protocol("udp", SimulatedDatagrams::checked(address, credit));
                builder.top("ordered").build().expect("it fits")
            });
        expected.run(mishap, |_| ());
        woven.run(mishap, |_| ());
        expected.world.run_for(AGES);
        woven.world.run_for(AGES);
        for side in [0, 1] {
            assert_eq!(expected.talker(side), woven.talker(side));
        }
        assert_eq!(expected.world.trace().hash(), woven.world.trace().hash());
    }
}
