//! Several uppers on one lower, one upper on several lowers: as stacks, and as graphs with the same
//! traces.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::graph::{Builder, Graph};
use stackwright_compose::{JoinedLowers, Over, Split, fork, join};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
    StreamsRequest,
};
use stackwright_contract::{Both, Context, Duration, Either, Handle, Participant, Protocol};
use stackwright_simulator::{
    Application, Asks, Heard, Lanes, Segments, SimulatedDatagrams, SimulatedStreams, World,
};
use stackwright_wire::{Message, SingleBuffer};

use crate::graph::echoes::client::{Client, NAME};
use crate::graph::echoes::habits;
use crate::graph::echoes::protocol::{Echo, EchoIndication, EchoRequest, Echoing};

type M = SingleBuffer;
type Woven<T> = Graph<M, Segments<M>, T>;

const HERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

fn at(address: IpAddr, port: u16) -> Participant {
    SocketAddr::new(address, port).into()
}

fn caller(world: &mut World<M>, dice: &Context, nth: u8, remote: Participant) {
    let address = IpAddr::V4(Ipv4Addr::new(10, 0, 1, nth));
    let payload = (0..dice.random(3000)).map(|_| dice.random(256) as u8).collect();
    let credit = 1 + dice.random(4000) as usize;
    let streams = SimulatedStreams::with_habits(address, habits(dice));
    let caller = world.add(address, streams, Client::new(payload, credit));
    world.ask(
        caller,
        StreamsRequest::Open {
            association: NAME,
            remote,
            local: None,
            credit: Credit::of_octets(credit),
        },
    );
}

type TwoEchoes = Both<Echoing, Echoing>;

/// Two echoes on one address, each with a port of its own; they give the same names.
fn forked<P>(seed: u64, stack: impl FnOnce([Echo<M>; 2], SimulatedStreams<M>) -> P) -> u64
where
    P: Protocol<Provides = TwoEchoes, Uses: Lanes<M>> + 'static,
{
    let dice = Context::new(seed);
    let mut world = World::new(seed);
    world.keep_trace();
    let echoes = [0; 2].map(|_| Echo::new(1 + dice.random(4000) as usize));
    let streams = SimulatedStreams::with_habits(HERE[0], habits(&dice));
    let heard = Heard::<Either<EchoIndication, EchoIndication>>::default();
    let station = world.add(HERE[0], stack(echoes, streams), heard);
    world.ask(station, Either::Left(EchoRequest::Begin { local: at(HERE[0], 7) }));
    world.ask(station, Either::Right(EchoRequest::Begin { local: at(HERE[0], 8) }));
    caller(&mut world, &dice, 1, at(HERE[0], 7));
    caller(&mut world, &dice, 2, at(HERE[0], 8));
    caller(&mut world, &dice, 3, at(HERE[0], 8));
    world.run_for(Duration::from_secs(100_000));
    world.ask(station, Either::Left(EchoRequest::Stop));
    world.ask(station, Either::Right(EchoRequest::Stop));
    world.run_for(Duration::from_secs(10));
    let ended = |why: &EchoIndication| *why == EchoIndication::Ended(Ended::Finished);
    let heard = &world.application(station).0;
    let left =
        heard.iter().filter(|word| matches!(word, Either::Left(word) if ended(word))).count();
    let right =
        heard.iter().filter(|word| matches!(word, Either::Right(word) if ended(word))).count();
    assert_eq!((left, right), (1, 2), "seed {seed}");
    world.trace().hash()
}

#[test]
fn two_uppers_share_a_lower() {
    for seed in 0..300 {
        let expected = forked(seed, |[one, other], streams| fork(one, other, streams));
        let woven = forked(seed, |[one, other], streams| -> Woven<TwoEchoes> {
            let builder = Builder::new().top("one").top("other").protocol("streams", streams);
            let builder = builder
                .protocol("one", one)
                .over("streams")
                .protocol("other", other)
                .over("streams");
            let graph = builder.build().expect("both fit");
            assert!(Woven::<TwoEchoes>::draw(&graph).contains("streams (fork)"));
            graph
        });
        assert_eq!(expected, woven, "seed {seed}");
    }
}

/// An echo on two addresses, which listens at the second.
fn joined<P>(
    seed: u64,
    interface: u16,
    stack: impl FnOnce(Echo<M>, [SimulatedStreams<M>; 2]) -> P,
) -> (u64, Vec<EchoIndication>)
where
    P: Protocol<Provides = Echoing, Uses: Lanes<M>> + 'static,
{
    let dice = Context::new(seed);
    let mut world = World::new(seed);
    world.keep_trace();
    let streams = HERE.map(|address| SimulatedStreams::with_habits(address, habits(&dice)));
    let echo = Echo::new(1 + dice.random(4000) as usize);
    let station = world.add_at(&HERE, stack(echo, streams), Heard::default());
    world.ask(station, EchoRequest::Begin { local: at(HERE[1], 7).through(interface) });
    caller(&mut world, &dice, 1, at(HERE[1], 7));
    world.run_for(Duration::from_secs(100_000));
    if interface < 2 {
        world.ask(station, EchoRequest::Stop);
    }
    world.run_for(Duration::from_secs(10));
    let hash = world.trace().hash();
    (hash, std::mem::take(&mut world.application_mut(station).0))
}

fn joined_graph(echo: Echo<M>, [one, other]: [SimulatedStreams<M>; 2]) -> Woven<Echoing> {
    let builder = Builder::new().top("echo").protocol("echo", echo).over_joined(&["one", "other"]);
    builder.protocol("one", one).protocol("other", other).build().expect("both fit")
}

#[test]
fn an_upper_chooses_its_lower() {
    for seed in 0..300 {
        let expected = joined(seed, 1, |echo, [one, other]| join(echo, one, other));
        let began = EchoIndication::Began { local: at(HERE[1], 7).through(1) };
        let ended =
            [EchoIndication::Ended(Ended::Finished), EchoIndication::Ended(Ended::Unlistened)];
        assert_eq!(expected.1[0], began);
        assert_eq!(expected.1[1], ended[0]);
        assert!(expected.1[2..].iter().all(|word| *word == ended[1]));
        assert_eq!(joined(seed, 1, joined_graph), expected, "seed {seed}");
    }
}

#[test]
fn nobody_is_asked_through_a_number_that_no_lower_has() {
    let unreachable = [EchoIndication::Ended(Ended::Unreachable)];
    assert_eq!(joined(1, 2, |echo, [one, other]| join(echo, one, other)).1, unreachable);
    assert_eq!(joined(1, 2, joined_graph).1, unreachable);
}

const ROOM: Credit = Credit { octets: 10_000, messages: 10 };

/// Answers every message with itself, and ends its side when it hears an end.
struct Mirror;

impl<P> Application<P> for Mirror
where
    P: Protocol<Provides = Datagrams<M>>,
{
    fn hear(&mut self, _cx: &Context, told: DatagramsIndication<M>, asks: &mut Asks<P>) {
        match told {
            DatagramsIndication::Listening { listener, .. } => {
                for index in 1..5 {
                    let association = Handle { index, generation: 0 };
                    asks.push_back(DatagramsRequest::Await { listener, association, credit: ROOM });
                }
            }
            DatagramsIndication::Delivered { association, batch: messages, properties } => {
                asks.push_back(DatagramsRequest::Send { association, batch: messages, properties });
            }
            _ => {}
        }
    }
}

fn mirror(world: &mut World<M>, address: IpAddr) -> Participant {
    let station = world.add(address, SimulatedDatagrams::new(address, ROOM), Mirror);
    let listener = Handle { index: 0, generation: 0 };
    world.ask(station, DatagramsRequest::Listen { listener, local: at(address, 9) });
    at(address, 9)
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn datagram(octet: u8) -> M {
    M::with_headroom(0, &[octet; 4])
}

/// Two who give the same names on one datagram service hear each what is theirs.
fn led_by_name<P>(stack: P) -> World<M>
where
    P: Protocol<Provides = Both<Datagrams<M>, Datagrams<M>>, Uses: Lanes<M>> + 'static,
{
    type Told = DatagramsIndication<M>;
    let mut world = World::new(5);
    world.keep_trace();
    let remote = mirror(&mut world, HERE[1]);
    let station = world.add(HERE[0], stack, Heard::<Either<Told, Told>>::default());
    let open =
        || DatagramsRequest::Open { association: name(0), remote, credit: ROOM, local: None };
    let send = |octet| DatagramsRequest::Send {
        association: name(0),
        batch: datagram(octet).into(),
        properties: MessageProperties::default(),
    };
    world.ask(station, Either::Left(open()));
    world.ask(station, Either::Right(open()));
    world.run_for(Duration::from_secs(1));
    for octet in 0..5 {
        world.ask(station, Either::Left(send(octet)));
        world.ask(station, Either::Right(send(100 + octet)));
        world.run_for(Duration::from_secs(1));
    }
    world.ask(station, Either::Left(DatagramsRequest::Close { name: name(0) }));
    // A word for a name that has ended is dropped.
    world.ask(station, Either::Left(send(77)));
    world.ask(station, Either::Right(DatagramsRequest::Close { name: name(0) }));
    world.run_for(Duration::from_secs(1));
    let (mut left, mut right, mut ends) = (Vec::new(), Vec::new(), 0);
    for word in &mut world.application_mut(station).0 {
        let (heard, word) = match word {
            Either::Left(word) => (&mut left, word),
            Either::Right(word) => (&mut right, word),
        };
        match word {
            Told::Delivered { association, batch, .. } => {
                assert_eq!(*association, name(0));
                let message = batch.single_mut();
                heard.push(message.front(1).expect("four octets")[0]);
            }
            Told::Ended { .. } => ends += 1,
            _ => {}
        }
    }
    assert_eq!((left, right, ends), ((0..5).collect(), (100..105).collect(), 2));
    world
}

#[test]
fn datagrams_are_led_by_name() {
    let stack =
        || Over::new(Split::<Datagrams<M>>::new(), SimulatedDatagrams::<M>::new(HERE[0], ROOM));
    let expected = led_by_name(stack()).trace().hash();
    let graph: Woven<Both<Datagrams<M>, Datagrams<M>>> = Builder::new()
        .protocol("udp", SimulatedDatagrams::<M>::new(HERE[0], ROOM))
        .protocol("split", Split::<Datagrams<M>>::new())
        .over("udp")
        .top("split")
        .build()
        .expect("they fit");
    assert_eq!(led_by_name(graph).trace().hash(), expected);
}

#[test]
fn datagrams_go_the_way_that_was_chosen() {
    let mut world = World::<M>::new(6);
    let remote = mirror(&mut world, IpAddr::V4(Ipv4Addr::new(10, 0, 9, 9)));
    let [one, other] = HERE.map(|address| SimulatedDatagrams::<M>::new(address, ROOM));
    let station = world.add_at(&HERE, JoinedLowers::new(one, other), Heard::default());
    for interface in [0, 1, 7] {
        let remote = remote.through(interface);
        world.ask(
            station,
            DatagramsRequest::Open {
                association: name(interface.into()),
                remote,
                credit: ROOM,
                local: None,
            },
        );
    }
    for index in [0, 1] {
        world.ask(
            station,
            DatagramsRequest::Send {
                association: name(index),
                batch: datagram(index as u8).into(),
                properties: MessageProperties::default(),
            },
        );
    }
    world.run_for(Duration::from_secs(1));
    let mut ways = Vec::new();
    for word in &world.application(station).0 {
        match word {
            DatagramsIndication::Opened { association, local, remote: from, .. } => {
                assert_eq!(*from, remote.through(association.index as u16));
                ways.push((
                    association.index,
                    local.interface(),
                    local.internet().map(|local| local.ip()),
                ));
            }
            DatagramsIndication::Ended { name: ended, why } => {
                assert_eq!((*ended, *why), (name(7), Ended::Unreachable));
            }
            _ => {}
        }
    }
    assert_eq!(ways, [(0, Some(0), Some(HERE[0])), (1, Some(1), Some(HERE[1]))]);
    let delivered =
        |word: &&DatagramsIndication<M>| matches!(word, DatagramsIndication::Delivered { .. });
    assert_eq!(world.application(station).0.iter().filter(delivered).count(), 2);
}
