//! Two thousand seeds: sizes, windows, pieces, order, slow readers, aborts, all by chance.

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Datagrams, Ended, StreamsRequest};
use stackwright_contract::{Duration, Protocol};
use stackwright_ordered::Ordered;
use stackwright_simulator::{Conditions, Lanes, SimulatedDatagrams, seeds};
use stackwright_stop_and_wait::{Rules, StopAndWait};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

use crate::talker::{
    AGES, LISTENER, Scene, Seed, Stack, any_config, any_order, any_tightness, shuffled,
};

/// Waits for all that is under way. Then nothing is left on either side.
fn settle<M, L>(scene: &mut Scene<M, Over<Ordered<M>, L>>)
where
    M: Message,
    L: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static,
{
    scene.ask(0, StreamsRequest::Close { name: LISTENER });
    scene.world.run_for(AGES);
    assert!(scene.talker(0).unlistened, "the listener has its last word, too");
    for station in scene.stations {
        let ordered = &scene.world.stack(station).upper;
        assert_eq!((ordered.associations(), ordered.names()), (0, 0), "nothing is left");
    }
}

fn shuffled_once<M: Message>(seed: u64) -> [Option<Ended>; 2] {
    let _said = Seed(seed);
    let mut random = Rng::with_seed(seed);
    let tightness = any_tightness(&mut random);
    let configs = [0, 1].map(|_| any_config(&mut random, tightness));
    let conditions = any_order(&mut random);
    let mishap =
        (random.u8(..3) == 0).then(|| (random.usize(..400) >> random.u8(..8), random.usize(..2)));
    let mut scene =
        Scene::<M, Stack<M>>::new(seed, conditions, tightness, random, |side, address| {
            let (config, credit) = configs[side];
            Over::new(Ordered::new(config), shuffled(address, credit))
        });
    scene.run(mishap, |stacks| {
        for (stack, (config, _)) in stacks.iter().zip(&configs) {
            assert!(
                stack.upper.held().all(|held| held <= config.window),
                "no more than was granted"
            );
        }
    });
    scene.judge(mishap.is_some());
    let ended = [0, 1].map(|side| scene.talker(side).ended);
    settle(&mut scene);
    ended
}

#[test]
fn in_any_order_all_arrives_or_the_end_is_said() {
    let mut aborted = 0;
    for seed in seeds(2000) {
        let ended = if seed % 2 == 0 {
            shuffled_once::<SingleBuffer>(seed)
        } else {
            shuffled_once::<BufferTree>(seed)
        };
        aborted += usize::from(ended.contains(&Some(Ended::Aborted)));
    }
    assert!(aborted > 100 || std::env::var_os("SEED").is_some(), "{aborted} were aborted");
}

#[test]
fn who_closes_is_heard_to_the_end() {
    let mut finished = 0;
    for seed in seeds(300) {
        let _said = Seed(seed);
        let mut random = Rng::with_seed(seed);
        let tightness = any_tightness(&mut random);
        let configs = [0, 1].map(|_| any_config(&mut random, tightness));
        let conditions = any_order(&mut random);
        let (when, side) = (random.usize(..200), random.usize(..2));
        let stack = |side, address| {
            let (config, credit): (_, _) = configs[side];
            Over::new(Ordered::new(config), shuffled(address, credit))
        };
        let mut scene =
            Scene::<_, Stack<BufferTree>>::new(seed, conditions, tightness, random, stack);
        let mut closed = false;
        for step in 0.. {
            closed = closed || step >= when && scene.close(side);
            if !closed {
                scene.say(side);
                scene.read(side);
            }
            scene.say(1 - side);
            scene.read(1 - side);
            if !scene.world.step() && closed {
                break;
            }
        }
        let [one, other] = [side, 1 - side].map(|side| scene.talker(side).clone());
        if one.ended == Some(Ended::Finished) && other.ended == Some(Ended::Finished) {
            finished += 1;
            assert!(other.finished, "it is told of the end");
            assert_eq!(one.sent, other.heard, "all of it");
        } else {
            assert_eq!(one.ended, Some(Ended::Expired), "{one:?} {other:?}");
        }
        settle(&mut scene);
    }
    assert!(finished > 200 || std::env::var_os("SEED").is_some(), "{finished}");
}

#[test]
fn over_stop_and_wait_on_a_link_that_loses() {
    type Lossy =
        Over<Ordered<BufferTree>, Over<StopAndWait<BufferTree>, SimulatedDatagrams<BufferTree>>>;
    for seed in seeds(200) {
        let _said = Seed(seed);
        let mut random = Rng::with_seed(seed);
        let tightness = any_tightness(&mut random);
        let configs = [0, 1].map(|_| any_config(&mut random, tightness));
        let conditions = Conditions {
            delay: Duration::from_millis(random.u64(1..20)),
            jitter: Duration::from_millis(random.u64(0..30)),
            loss: (random.f64() * 0.3).into(),
            duplicate: random.f64() * 0.2,
            ..Conditions::IDEAL
        };
        let mut scene =
            Scene::<_, Lossy>::new(seed, conditions, tightness, random, |side, address| {
                let (config, _) = configs[side];
                let credit = Credit { octets: 65_000, messages: 8 };
                let lower = Over::new(
                    StopAndWait::new(Rules::default(), seed),
                    SimulatedDatagrams::new(address, credit),
                );
                Over::new(Ordered::new(config), lower)
            });
        scene.run(None, |_| ());
        scene.judge(false);
        settle(&mut scene);
    }
}
