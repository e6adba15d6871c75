//! An echo over simulated streams, under every habit and fault, and the promises of `Streams` on
//! it.

mod client;
mod protocol;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use client::{Client, NAME};
use protocol::{Echo, EchoIndication, EchoRequest};
use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Ended, StreamsRequest};
use stackwright_contract::{Context, Duration};
use stackwright_simulator::{
    Chunks, Conditions, Fault, Habits, Heard, Network, Pace, SimulatedStreams, StationId, Which,
    World,
};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

const ECHO: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

type Server<M> = StationId<Over<Echo<M>, SimulatedStreams<M>>, Heard<EchoIndication>>;
type Caller<M> = StationId<SimulatedStreams<M>, Client>;

/// A world made from a seed: an echo, and one to three who call it.
struct Scene<M: Message> {
    world: World<M>,
    server: Server<M>,
    callers: Vec<Caller<M>>,
    habits: [Habits; 2],
    window: usize,
}

fn habits(dice: &Context) -> Habits {
    let chunks = match dice.random(5) {
        0 => Chunks::Large,
        1 => Chunks::Single,
        2 => Chunks::Fixed(1 + dice.random(1500) as usize),
        3 => Chunks::Uniform { most: 1 + dice.random(3000) as usize },
        _ => Chunks::Mixed,
    };
    let slow = Pace {
        octets: 1 + dice.random(2000) as usize,
        rest: Duration::from_millis(dice.random(50)),
    };
    Habits {
        credit: 1 + dice.random(1 << dice.random(14)) as usize,
        buffer: 1 + dice.random(1 << dice.random(14)) as usize,
        chunks,
        pace: (dice.random(4) == 0).then_some(slow),
        ..Habits::default()
    }
}

fn conditions(dice: &Context) -> Conditions {
    Conditions {
        delay: Duration::from_micros(dice.random(50_000)),
        jitter: Duration::from_micros(dice.random(20_000)),
        rate: (dice.random(3) == 0).then(|| 10_000 + dice.random(1_000_000)),
        loss: [0.0, 0.0, 0.01, 0.3][dice.random(4) as usize].into(),
        duplicate: 0.1,
        corrupt: 0.01,
        ..Conditions::IDEAL
    }
}

impl<M: Message> Scene<M> {
    fn new(seed: u64, fault: Option<(Which, Fault)>) -> Self {
        Scene::with(seed, |network| {
            if let Some((which, fault)) = fault {
                network.fail(which, fault);
            }
        })
    }

    /// A network to which something is done before anybody is there.
    fn with(seed: u64, prepare: impl FnOnce(&mut Network<M>)) -> Self {
        let dice = Context::new(seed);
        let mut world = World::new(seed);
        world.keep_trace();
        world.network_mut().set_conditions(conditions(&dice));
        prepare(world.network_mut());
        let habits = [habits(&dice), habits(&dice)];
        let window = 1 + dice.random(5000) as usize;
        let streams = SimulatedStreams::with_habits(ECHO, habits[0]);
        let server = world.add(ECHO, Over::new(Echo::new(window), streams), Heard::default());
        let local = SocketAddr::new(ECHO, 7).into();
        world.ask(server, EchoRequest::Begin { local });
        let callers = (0..1 + dice.random(3))
            .map(|nth| {
                let address = IpAddr::V4(Ipv4Addr::new(10, 0, 1, nth as u8));
                let length = dice.random(1 << dice.random(13));
                let payload = (0..length).map(|_| dice.random(256) as u8).collect();
                let credit = 1 + dice.random(4000) as usize;
                let streams = SimulatedStreams::with_habits(address, habits[1]);
                let caller = world.add(address, streams, Client::new(payload, credit));
                let open = StreamsRequest::Open {
                    association: NAME,
                    remote: local,
                    local: None,
                    credit: Credit::of_octets(credit),
                };
                world.ask(caller, open);
                caller
            })
            .collect();
        Scene { world, server, callers, habits, window }
    }

    fn run(&mut self) {
        let Scene { world, server, callers, .. } = self;
        let all_over = |world: &World<M>| {
            callers.iter().all(|caller| !world.application(*caller).ended.is_empty())
        };
        assert!(world.run_until(all_over, Duration::from_secs(100_000)), "all of them end");
        world.ask(*server, EchoRequest::Stop);
        world.run_for(Duration::from_secs(1000));
        assert_eq!(world.stack(*server).upper.living(), 0, "every name has its last word");
        assert_eq!(world.network().in_flight(), 0);
        self.check_memory();
    }

    /// Nobody held more than there was credit for.
    fn check_memory(&self) {
        let Scene { world, server, callers, habits: [echo, caller], window } = self;
        let count = callers.len();
        let most = world.stack(*server).lower.most_held();
        assert!(most.sending <= count * echo.credit && most.receiving <= count * echo.buffer);
        for station in callers {
            let most = world.stack(*station).most_held();
            assert!(most.sending <= caller.credit && most.receiving <= caller.buffer);
            assert_eq!(world.stack(*station).associations(), 0);
        }
        assert!(world.stack(*server).upper.most_queued <= *window);
        assert!(world.network().most_in_flight() <= count * (echo.buffer + caller.buffer));
    }
}

fn whole<M: Message>(seed: u64) -> u64 {
    let mut scene = Scene::<M>::new(seed, None);
    scene.run();
    for caller in &scene.callers {
        let client = scene.world.application(*caller);
        assert_eq!(client.ended, [Ended::Finished], "seed {seed}");
        assert!(client.finished);
        assert_eq!(
            (client.sent, client.heard),
            (client.payload.len(), client.payload.len()),
            "seed {seed}"
        );
    }
    scene.world.trace().hash()
}

fn cut<M: Message>(seed: u64) {
    let dice = Context::new(!seed);
    let after = dice.random(1 << dice.random(14));
    let mut scene = Scene::<M>::new(seed, Some((Which::Nth(0), Fault::Cut { after })));
    scene.run();
    let first = scene.world.network().associations()[0];
    for caller in &scene.callers {
        let client = scene.world.application(*caller);
        let whole = client.heard == client.payload.len();
        // A caller that has heard everything may be gone before the cut reaches it.
        let cut = first.from.ip() == address(&scene, *caller) && first.octets >= after;
        match client.ended[..] {
            [Ended::Finished] => assert!(whole, "seed {seed}"),
            [Ended::Reset(0)] => assert!(cut, "seed {seed}"),
            ref other => panic!("seed {seed}: {other:?}"),
        }
    }
}

fn address<M: Message>(scene: &Scene<M>, caller: Caller<M>) -> IpAddr {
    let nth = scene.callers.iter().position(|other| *other == caller);
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, nth.expect("one of them") as u8))
}

#[test]
fn what_comes_back_is_what_was_sent() {
    for seed in 0..300 {
        if seed % 2 == 0 {
            whole::<SingleBuffer>(seed)
        } else {
            whole::<BufferTree>(seed)
        };
    }
}

#[test]
fn a_cut_leaves_a_prefix_and_one_last_word() {
    for seed in 0..300 {
        if seed % 2 == 0 {
            cut::<BufferTree>(seed)
        } else {
            cut::<SingleBuffer>(seed)
        };
    }
}

#[test]
fn every_octet_may_be_the_last() {
    let mut scene = Scene::<SingleBuffer>::new(11, None);
    scene.run();
    let all = scene.world.network().associations()[0].octets;
    for after in 0..=all.min(500) {
        Scene::<SingleBuffer>::new(11, Some((Which::Any, Fault::Cut { after }))).run();
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..40 {
        assert_eq!(whole::<SingleBuffer>(seed), whole::<SingleBuffer>(seed));
        // What a message is made of is nobody's business.
        assert_eq!(whole::<SingleBuffer>(seed), whole::<BufferTree>(seed));
    }
    assert_ne!(whole::<SingleBuffer>(1), whole::<SingleBuffer>(2));
}

#[test]
fn the_log_of_a_network_replays_a_run() {
    let mut late = 0;
    for seed in 0..60 {
        let mut first = Scene::<SingleBuffer>::with(seed, Network::keep_log);
        first.run();
        let log = first.world.network().log();
        late += log.len();
        let mut again = Scene::<SingleBuffer>::with(seed, |network| network.replay(&log));
        again.run();
        assert_eq!(again.world.trace().hash(), first.world.trace().hash(), "seed {seed}");
    }
    assert!(late > 1000, "much happened");
}

#[test]
fn a_black_hole_is_silent() {
    let fault = Fault::Blackhole { after: 1 };
    let mut scene = Scene::<SingleBuffer>::new(3, Some((Which::Nth(0), fault)));
    scene.world.run_for(Duration::from_secs(3600));
    let caller = scene.callers[0];
    assert!(scene.world.application(caller).ended.is_empty(), "nobody was told");
    scene.world.ask(caller, StreamsRequest::Abort { association: NAME, code: 0 });
    assert_eq!(scene.world.application(caller).ended, [Ended::Aborted]);
}

#[test]
fn who_is_refused_reaches_nobody() {
    let to = SocketAddr::new(ECHO, 7);
    let mut scene = Scene::<SingleBuffer>::new(4, Some((Which::To(to), Fault::Refuse)));
    scene.run();
    for caller in &scene.callers {
        assert_eq!(scene.world.application(*caller).ended, [Ended::Unreachable]);
    }
}
