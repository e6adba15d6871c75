//! The generated stop-and-wait sends, delivers and times out as the one that is written by hand:
//! octet for octet, and at the same times.

use std::net::IpAddr;

use stackwright_compose::Over;
use stackwright_compose::graph::{Builder, Graph};
use stackwright_contract::services::{Datagrams, Ended};
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{
    Conditions, Deed, Event, Network, Segments, SimulatedDatagrams, Traffic,
};
use stackwright_stop_and_wait::{Rules, StopAndWait};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

use crate::adapter::{Adapter, Roles, roles};
use crate::talker::{CLIENT, ROOM, SERVER, Scene, any_conditions};

type M = SingleBuffer;
type ByHand<M> = Over<StopAndWait<M>, SimulatedDatagrams<M>>;
type Generated<M> = Over<Adapter<M>, Over<Roles<M>, SimulatedDatagrams<M>>>;

fn by_hand(address: IpAddr, seed: u64) -> ByHand<M> {
    let upper = StopAndWait::new(Rules::default(), seed);
    Over::new(upper, SimulatedDatagrams::new(address, ROOM))
}

fn generated<M: Message>(address: IpAddr, _seed: u64) -> Generated<M> {
    let lower = SimulatedDatagrams::new(address, ROOM);
    Over::new(Adapter::default(), Over::new(roles(), lower))
}

/// What a run showed: what arrived, how and when it ended, each packet with its time.
#[derive(PartialEq, Debug)]
struct Shown {
    heard: Vec<u32>,
    ended: Option<Ended>,
    at: Instant,
    packets: [Traffic; 2],
    /// A hash of all words between stacks and network. None where something was dropped: what comes
    /// once all is over is dropped by the layer or by the one below.
    trace: Option<u64>,
    dropped: usize,
}

fn shown<P>(mut scene: Scene<M, P>) -> Shown
where
    P: stackwright_contract::Protocol<
            Provides = Datagrams<M>,
            Uses: stackwright_simulator::Lanes<M>,
        > + 'static,
{
    assert!(scene.ends(), "it comes to an end");
    let trace = scene.world.trace();
    let dropped = trace.lines().iter().filter(|line| line.what.contains(" dropped: ")).count();
    let hash = (dropped == 0).then(|| trace.hash());
    drop(trace);
    let [server, client] = [SERVER, CLIENT].map(IpAddr::from);
    let (heard, ended) = scene.outcome();
    let (heard, at) = (heard.to_vec(), scene.world.now());
    let network = scene.world.network();
    let packets = [network.traffic(client, server), network.traffic(server, client)];
    Shown { heard, ended, at, packets, trace: hash, dropped }
}

fn same(seed: u64, messages: u32, prepare: impl Fn(&mut Network<M>)) -> Shown {
    let prepare = |network: &mut Network<M>| {
        network.keep_traffic();
        prepare(network);
    };
    let expected = shown(Scene::with(seed, prepare, messages, by_hand));
    let found = shown(Scene::with(seed, prepare, messages, generated));
    assert_eq!(found, expected, "seed {seed}");
    found
}

#[test]
fn each_packet_may_be_lost_doubled_or_late() {
    let [server, client] = [SERVER, CLIENT].map(IpAddr::from);
    let late = Duration::from_millis(450);
    let deeds = [
        Deed::Lose,
        Deed::Duplicate { by: Duration::from_millis(3) },
        Deed::Delay { by: late },
        Deed::HoldBack { by: late },
    ];
    for (from, to) in [(client, server), (server, client)] {
        for nth in 0..60 {
            for deed in deeds {
                let events = vec![Event { nth, deed }];
                let delay = Duration::from_millis(10);
                let found = same(1, 30, |network| {
                    network.set_conditions(Conditions { delay, ..Conditions::IDEAL });
                    network.script(from, to, events.clone());
                });
                assert_eq!(found.heard, Vec::from_iter(0..30), "packet {nth}");
            }
        }
    }
}

#[test]
fn a_thousand_bad_links_show_no_difference() {
    let mut compared = 0;
    for seed in 0..1000 {
        let found = same(seed, 20, |network| network.set_conditions(any_conditions(seed)));
        assert_eq!((found.heard, found.ended), (Vec::from_iter(0..20), Some(Ended::Finished)));
        compared += usize::from(found.trace.is_some());
    }
    assert!(compared > 900, "{compared} of 1000 runs dropped nothing");
}

#[test]
fn both_give_up_after_thirty_tries() {
    let found = same(1, 3, |network| {
        network.set_conditions(Conditions { loss: 1.0.into(), ..Conditions::IDEAL });
    });
    assert_eq!((found.heard, found.ended), (vec![], Some(Ended::Expired)));
}

#[test]
fn nothing_is_left_when_all_is_over() {
    let mut scene = Scene::<M, _>::with(7, |_| {}, 20, generated);
    assert!(scene.ends());
    let roles = &scene.world.stack(scene.client).lower.upper;
    assert_eq!((roles.associations(), roles.held()), (0, 0));
}

#[test]
fn a_graph_does_what_the_stack_does() {
    type Tree = BufferTree;
    type Woven = Graph<Tree, Segments<Tree>, Datagrams<Tree>>;
    let woven = |address: IpAddr, seed: u64| -> Woven {
        let whole = generated::<Tree>(address, seed);
        Builder::new().protocol("generated", whole).top("generated").build().expect("it fits")
    };
    for seed in 0..100 {
        let prepare = |network: &mut Network<Tree>| network.set_conditions(any_conditions(seed));
        let mut stack = Scene::with(seed, prepare, 20, generated::<Tree>);
        let mut graph = Scene::with(seed, prepare, 20, woven);
        assert!(stack.ends() && graph.ends(), "seed {seed}");
        assert_eq!(stack.outcome(), graph.outcome(), "seed {seed}");
        assert_eq!(stack.world.now(), graph.world.now(), "seed {seed}");
    }
}
