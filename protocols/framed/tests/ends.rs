//! Ends of an association of messages that stands on a stream.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, Ended, MessageProperties,
    StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Duration, Handle};
use stackwright_framed::Framed;
use stackwright_simulator::{Conditions, Habits, Heard, SimulatedStreams, StationId, World};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = Over<Framed<M>, SimulatedStreams<M>>;
type Station = StationId<Stack, Heard<Told<M>>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const NAME: Handle = Handle { index: 1, generation: 0 };

/// Two stations with an association between them, each with this credit upward.
fn joined(credit: Credit) -> (World<M>, [Station; 2]) {
    let mut world = World::new(1);
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let stations = [HERE, THERE].map(|address| {
        let streams = SimulatedStreams::with_habits(address, Habits::default());
        world.add(address, Over::new(Framed::default(), streams), Heard::default())
    });
    let local = SocketAddr::new(THERE, 7).into();
    world.ask(stations[1], Ask::Listen { listener: LISTENER, local });
    world.ask(stations[1], Ask::Await { listener: LISTENER, association: NAME, credit });
    world.ask(stations[0], Ask::Open { association: NAME, remote: local, local: None, credit });
    world.run_for(Duration::from_secs(1));
    (world, stations)
}

fn send(world: &mut World<M>, station: Station, octets: &[u8]) {
    let batch = M::with_headroom(64, octets).into();
    world.ask(
        station,
        Ask::Send { association: NAME, batch, properties: MessageProperties::default() },
    );
}

/// How many messages were delivered since the last call, and how the association has ended.
fn told(world: &mut World<M>, station: Station) -> (usize, Option<Ended>) {
    let heard = std::mem::take(&mut world.application_mut(station).0);
    let delivered = heard.iter().filter(|told| matches!(told, Told::Delivered { .. })).count();
    let ended = heard.iter().find_map(|told| match told {
        Told::Ended { name: NAME, why } => Some(*why),
        _ => None,
    });
    (delivered, ended)
}

#[test]
fn what_was_sent_before_the_end_is_delivered_when_there_is_credit_for_it() {
    let (mut world, [here, there]) = joined(Credit { octets: 1000, messages: 2 });
    for _ in 0..5 {
        send(&mut world, here, b"message");
    }
    world.ask(here, Ask::Close { name: NAME });
    world.run_for(Duration::from_secs(1));
    assert_eq!((told(&mut world, here), told(&mut world, there)), ((0, None), (2, None)));
    world.ask(
        there,
        Ask::Credit { association: NAME, credit: Credit { octets: 1000, messages: 3 } },
    );
    world.run_for(Duration::from_secs(1));
    assert_eq!(told(&mut world, there), (3, Some(Ended::Finished)));
    assert_eq!(told(&mut world, here), (0, Some(Ended::Finished)));
}

#[test]
fn what_arrives_after_a_close_is_discarded() {
    let (mut world, [here, there]) = joined(Credit { octets: 1000, messages: 2 });
    // More than the stream holds is on its way while it is closed.
    for _ in 0..3 {
        send(&mut world, there, &[1; 60_000]);
    }
    world.ask(here, Ask::Close { name: NAME });
    for _ in 0..40 {
        send(&mut world, there, &[1; 20_000]);
    }
    world.ask(here, Ask::Close { name: NAME });
    world.run_for(Duration::from_secs(5));
    assert_eq!(told(&mut world, here), (0, Some(Ended::Finished)));
    assert_eq!(told(&mut world, there), (0, Some(Ended::Finished)));
}

#[test]
fn an_abort_says_its_code() {
    let (mut world, [here, there]) = joined(Credit { octets: 1000, messages: 2 });
    world.ask(here, Ask::Finish { association: NAME });
    world.run_for(Duration::from_secs(1));
    assert_eq!(told(&mut world, there), (0, None), "messages have no half close");
    world.ask(here, Ask::Abort { association: NAME, code: 7 });
    world.run_for(Duration::from_secs(1));
    assert_eq!(told(&mut world, here), (0, Some(Ended::Aborted)));
    assert_eq!(told(&mut world, there), (0, Some(Ended::Reset(7))));
}

#[test]
fn an_end_in_the_middle_of_a_message_is_a_reset() {
    let credit = Credit { octets: 1000, messages: 2 };
    for (octets, delivered, ended) in [
        (&b"\0\x03one"[..], 1, Ended::Finished),
        (b"\0\x03one\0\x03tw", 1, Ended::Reset(0)),
        (b"\0", 0, Ended::Reset(0)),
    ] {
        let mut world = World::<M>::new(1);
        let streams = |address| SimulatedStreams::with_habits(address, Habits::default());
        let here: Station =
            world.add(HERE, Over::new(Framed::default(), streams(HERE)), Heard::default());
        let there = world.add(THERE, streams(THERE), Heard::<StreamsIndication<M>>::default());
        let local = SocketAddr::new(HERE, 7).into();
        world.ask(here, Ask::Listen { listener: LISTENER, local });
        world.ask(here, Ask::Await { listener: LISTENER, association: NAME, credit });
        let credit = Credit::of_octets(1000);
        let (remote, local) = (local, None);
        world.ask(there, StreamsRequest::Open { association: NAME, remote, local, credit });
        world.run_for(Duration::from_secs(1));
        let batch = M::with_headroom(64, octets).into();
        let properties = Default::default();
        world.ask(there, StreamsRequest::Send { association: NAME, batch, properties });
        world.ask(there, StreamsRequest::Finish { association: NAME });
        world.run_for(Duration::from_secs(1));
        assert_eq!(told(&mut world, here), (delivered, Some(ended)), "{octets:?}");
    }
}
