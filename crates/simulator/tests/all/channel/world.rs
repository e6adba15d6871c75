//! A channel between stations of a world.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, MessageProperties, StreamsRequest,
};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{
    ChannelConditions, Heard, Profile, SimulatedDatagrams, SimulatedStreams, StationId, World,
};
use stackwright_wire::{Message, SingleBuffer};

use crate::channel::{millis, plain};

type Station = StationId<SimulatedDatagrams<SingleBuffer>, Heard<Told<SingleBuffer>>>;

const AMPLE: Credit = Credit { octets: 1 << 20, messages: 10_000 };
/// What the headers of a simulated datagram occupy, in octets.
const HEADERS: usize = 28;

fn address(number: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, number))
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// Three stations of which the first listens and the others have opened; the first two are on a
/// channel.
fn three(conditions: ChannelConditions, seed: u64) -> (World<SingleBuffer>, [Station; 3]) {
    let mut world = World::new(seed);
    world.keep_trace();
    world.network_mut().share(&[address(0), address(1)], conditions);
    let stations = [0, 1, 2].map(|number| {
        let stack = SimulatedDatagrams::new(address(number), AMPLE);
        world.add(address(number), stack, Heard::default())
    });
    let remote = SocketAddr::new(address(0), 53).into();
    world.ask(stations[0], Ask::Listen { listener: name(0), local: remote });
    for (index, station) in [(1, stations[1]), (2, stations[2])] {
        world.ask(
            stations[0],
            Ask::Await { listener: name(0), association: name(index), credit: AMPLE },
        );
        world.ask(station, Ask::Open { association: name(0), remote, credit: AMPLE, local: None });
    }
    (world, stations)
}

fn send(world: &mut World<SingleBuffer>, from: Station, association: Handle, octets: usize) {
    let message = SingleBuffer::with_headroom(0, &vec![7; octets]);
    world.ask(
        from,
        Ask::Send { association, batch: message.into(), properties: MessageProperties::default() },
    );
}

fn delivered(world: &World<SingleBuffer>, station: Station) -> usize {
    let is = |told: &&Told<SingleBuffer>| matches!(told, Told::Delivered { .. });
    world.application(station).0.iter().filter(is).count()
}

#[test]
fn datagrams_between_its_stations_travel_on_it_and_others_do_not() {
    let (mut world, [server, on, off]) =
        three(ChannelConditions { key_up: millis(500), ..plain() }, 1);
    send(&mut world, off, name(0), 100 - HEADERS);
    assert!(
        world.run_until(|world| delivered(world, server) == 1, Duration::ZERO),
        "over an ideal link"
    );
    send(&mut world, on, name(0), 100 - HEADERS);
    assert_eq!(world.network().in_flight(), 100 - HEADERS);
    assert!(!world.run_until(|world| delivered(world, server) == 2, millis(599)));
    assert!(
        world.run_until(|world| delivered(world, server) == 2, millis(1)),
        "key-up and 100 octets later"
    );
    assert_eq!(world.network().in_flight(), 0);
    let counts = world.network().channel_counts(address(1)).expect("it is on a channel");
    assert_eq!((counts.sent, counts.delivered, counts.octets), (1, 1, 100));
    assert_eq!(world.network().channel_counts(address(2)), None);
    assert_eq!(world.network().counts(address(2), address(0)).delivered, 1);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let Some(Profile::Channel(conditions)) = Profile::named("packet-radio-1200") else {
            panic!("a radio is a shared channel")
        };
        let (mut world, [server, on, _]) = three(conditions, seed);
        for _ in 0..10 {
            send(&mut world, on, name(0), 50);
            world.run_for(Duration::from_secs(1));
        }
        if delivered(&world, server) > 0 {
            send(&mut world, server, name(1), 50);
        }
        world.run_for(Duration::from_secs(60));
        assert_eq!(world.network().in_flight(), 0);
        assert_eq!((delivered(&world, server), delivered(&world, on)), (10, 1));
        world.trace().hash()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
#[should_panic(expected = "put a transport over datagrams there")]
fn a_simulated_stream_on_a_channel_is_a_bug() {
    let mut world = World::<SingleBuffer>::new(1);
    world.network_mut().share(&[address(0), address(1)], plain());
    let stations = [0, 1].map(|number| {
        let stack = SimulatedStreams::new(address(number));
        world.add(address(number), stack, Heard::default())
    });
    let remote = SocketAddr::new(address(0), 21).into();
    world.ask(
        stations[1],
        StreamsRequest::Open {
            association: name(0),
            remote,
            local: None,
            credit: Credit::of_octets(100),
        },
    );
    world.run_for(Duration::from_secs(1));
}

#[test]
#[should_panic(expected = "on a channel already")]
fn a_station_has_one_radio() {
    let mut world = World::<SingleBuffer>::new(1);
    world.network_mut().share(&[address(0), address(1)], plain());
    world.network_mut().share(&[address(1), address(2)], plain());
}
