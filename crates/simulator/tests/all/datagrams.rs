//! Datagrams over a bad link: each arrives at most as often and as whole as the link lets it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::ask::{FrameTime, Longest};
use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, Ended, MessageProperties,
};
use stackwright_contract::{Address, CallSign, Duration, Handle, Participant, PathLimits};
use stackwright_simulator::{
    AdapterAddress, Conditions, Heard, Queue, SimulatedDatagrams, StationId, World,
};
use stackwright_wire::{Message, SingleBuffer};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const AMPLE: Credit = Credit { octets: 1 << 20, messages: 10_000 };
const COUNT: u32 = 2000;

type Station = StationId<SimulatedDatagrams<SingleBuffer>, Heard<Told<SingleBuffer>>>;

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn two(conditions: Conditions, credit: Credit) -> (World<SingleBuffer>, Station, Station) {
    let mut world = World::new(7);
    world.network_mut().set_conditions(conditions);
    let here = world.add(HERE, SimulatedDatagrams::new(HERE, AMPLE), Heard::default());
    let there = world.add(THERE, SimulatedDatagrams::new(THERE, AMPLE), Heard::default());
    let remote = SocketAddr::new(THERE, 53).into();
    world.ask(there, Ask::Listen { listener: name(0), local: remote });
    world.ask(there, Ask::Await { listener: name(0), association: name(1), credit });
    world.ask(here, Ask::Open { association: name(0), remote, credit: AMPLE, local: None });
    (world, here, there)
}

/// Sends numbers, and gives what arrives of them.
fn sent(conditions: Conditions) -> Vec<[u8; 4]> {
    let (mut world, here, there) = two(conditions, AMPLE);
    for number in 0..COUNT {
        let message = SingleBuffer::with_headroom(0, &number.to_be_bytes());
        world.ask(
            here,
            Ask::Send {
                association: name(0),
                batch: message.into(),
                properties: MessageProperties::default(),
            },
        );
    }
    world.run_for(Duration::from_secs(10));
    assert_eq!(world.network().in_flight(), 0);
    let delivered = |told: &Told<SingleBuffer>| match told {
        Told::Delivered { batch: messages, .. } => {
            Some(messages.as_octets().octets().try_into().expect("a number"))
        }
        _ => None,
    };
    world.application(there).0.iter().filter_map(delivered).collect()
}

fn numbers() -> Vec<[u8; 4]> {
    (0..COUNT).map(u32::to_be_bytes).collect()
}

#[test]
fn an_ideal_link_carries_all_in_order() {
    assert_eq!(sent(Conditions::IDEAL), numbers());
}

#[test]
fn some_are_lost() {
    let arrived = sent(Conditions { loss: 0.25.into(), ..Conditions::IDEAL });
    assert!((1300..1700).contains(&arrived.len()));
    assert!(arrived.is_sorted());
}

#[test]
fn some_come_twice() {
    let mut arrived = sent(Conditions { duplicate: 0.25, ..Conditions::IDEAL });
    assert!((2300..2700).contains(&arrived.len()));
    arrived.dedup();
    assert_eq!(arrived, numbers());
}

#[test]
fn some_overtake_others() {
    let jitter = Duration::from_millis(10);
    let mut arrived = sent(Conditions { jitter, ..Conditions::IDEAL });
    assert!(!arrived.is_sorted());
    arrived.sort_unstable();
    assert_eq!(arrived, numbers());
}

#[test]
fn some_are_altered_by_one_bit() {
    let arrived = sent(Conditions { corrupt: 0.25, ..Conditions::IDEAL });
    let altered: Vec<_> =
        arrived.iter().zip(numbers()).filter(|(arrived, number)| *arrived != number).collect();
    assert!((300..700).contains(&altered.len()));
    for (arrived, number) in altered {
        assert_eq!((u32::from_be_bytes(*arrived) ^ u32::from_be_bytes(number)).count_ones(), 1);
    }
}

#[test]
fn bits_are_altered_at_a_rate() {
    let arrived = sent(Conditions { bit_errors: 0.01, ..Conditions::IDEAL });
    let differs = |(arrived, number): (&[u8; 4], [u8; 4])| {
        (u32::from_be_bytes(*arrived) ^ u32::from_be_bytes(number)).count_ones()
    };
    let altered: u32 = arrived.iter().zip(numbers()).map(differs).sum();
    // Of 64 000 bits 640, with a deviation of 25: no error is spent on headers, which nobody could
    // alter.
    assert!((515..765).contains(&altered), "{altered}");
}

#[test]
fn a_narrow_link_drops_what_cannot_wait() {
    let narrow = Conditions { rate: Some(32_000), queue: Queue::octets(3200), ..Conditions::IDEAL };
    assert_eq!(sent(narrow).len(), 101, "one is on the way, and a hundred wait");
}

#[test]
fn who_has_no_room_misses_it() {
    let (mut world, here, there) = two(Conditions::IDEAL, Credit { octets: 10, messages: 2 });
    for length in [4, 7, 6, 1] {
        let message = SingleBuffer::with_headroom(0, &vec![0; length]);
        world.ask(
            here,
            Ask::Send {
                association: name(0),
                batch: message.into(),
                properties: MessageProperties::default(),
            },
        );
    }
    world.run_for(Duration::from_secs(1));
    let lengths = |told: &Told<SingleBuffer>| match told {
        Told::Delivered { batch: messages, .. } => Some(messages.octets()),
        _ => None,
    };
    assert_eq!(world.application(there).0.iter().filter_map(lengths).collect::<Vec<_>>(), [4, 6]);
    assert_eq!(world.context(there).dropped_count(), 2);
}

#[test]
fn an_answer_finds_its_way_back_and_every_name_ends() {
    let (mut world, here, there) = two(Conditions::IDEAL, AMPLE);
    let hello = |name| Ask::Send {
        association: name,
        batch: SingleBuffer::with_headroom(0, b"hello").into(),
        properties: MessageProperties::default(),
    };
    world.ask(here, hello(name(0)));
    world.run_for(Duration::from_secs(1));
    world.ask(there, hello(name(1)));
    world.run_for(Duration::from_secs(1));
    assert!(
        matches!(world.application(here).0.last(), Some(Told::Delivered { association, .. }) if *association == name(0))
    );
    world.ask(there, Ask::Await { listener: name(0), association: name(2), credit: AMPLE });
    world.ask(there, Ask::Close { name: name(1) });
    world.ask(there, Ask::Close { name: name(0) });
    let ended = |told: &Told<SingleBuffer>| match told {
        Told::Ended { name, .. } => Some(name.index),
        _ => None,
    };
    assert_eq!(world.application(there).0.iter().filter_map(ended).collect::<Vec<_>>(), [1, 2, 0]);
}

#[test]
#[should_panic(expected = "a Send keeps within the room")]
fn a_send_beyond_the_room_is_a_bug() {
    let mut world = World::new(1);
    let tight = Credit { octets: 4, messages: 1 };
    let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));
    let station: Station =
        world.add(other, SimulatedDatagrams::new(other, tight), Heard::default());
    world.ask(
        station,
        Ask::Open {
            association: name(0),
            remote: SocketAddr::new(HERE, 1).into(),
            credit: AMPLE,
            local: None,
        },
    );
    world.ask(
        station,
        Ask::Send {
            association: name(0),
            batch: SingleBuffer::with_headroom(0, b"12345").into(),
            properties: MessageProperties::default(),
        },
    );
}

/// A radio refuses what is of another kind, somebody else's, or taken.
#[test]
fn what_is_no_station_of_the_radio_is_refused() {
    let [here, there]: [CallSign; 2] =
        ["OE1XYZ-7", "DB0AAB"].map(|call| call.parse().expect("a call sign"));
    let station = |call, pid, route| Address::Station { call, pid, route }.into();
    let address = AdapterAddress::from(here);
    let open =
        |remote, local, index| Ask::Open { association: name(index), remote, local, credit: AMPLE };
    let listen = |local, index| Ask::Listen { listener: name(index), local };
    let internet: Participant = SocketAddr::from(([10, 0, 0, 1], 7)).into();
    let far = station(there, 0xf0, 3);
    let asked = [
        (open(internet, None, 0), Some(Ended::Unreachable)),
        (open(far, Some(station(there, 0xf0, 0)), 1), Some(Ended::Unavailable)),
        (open(far, Some(station(here, 0xcc, 0)), 2), Some(Ended::Unavailable)),
        (open(far, Some(station(here, 0xf0, 0)), 3), None),
        (open(far, None, 4), Some(Ended::Unavailable)),
        (open(station(there, 0xcc, 0), None, 5), None),
        (listen(station(there, 0xf0, 0), 6), Some(Ended::Unavailable)),
        (listen(internet, 7), Some(Ended::Unavailable)),
        (listen(station(here, 0xf0, 0), 8), None),
    ];
    let mut world = World::<SingleBuffer>::new(1);
    let heard = Heard::<Told<SingleBuffer>>::default();
    let radio = world.add(address.on_network(), SimulatedDatagrams::new(address, AMPLE), heard);
    for (request, expected) in asked {
        world.ask(radio, request);
        world.run_for(Duration::from_secs(1));
        let last = world.application_mut(radio).0.pop().expect("an answer");
        let ended = if let Told::Ended { why, .. } = last { Some(why) } else { None };
        assert_eq!(ended, expected, "{last:?}");
    }
}

/// What was told of paths: with `Opened`, and by `Changed`.
fn paths(world: &World<SingleBuffer>, station: Station) -> Vec<PathLimits> {
    let path = |told: &Told<SingleBuffer>| match told {
        Told::Opened { path, .. } | Told::Changed { path, .. } => Some(*path),
        _ => None,
    };
    world.application(station).0.iter().filter_map(path).collect()
}

#[test]
fn the_adapter_of_a_link_tells_what_the_path_takes_and_when_that_changes() {
    let link = |mtu, rate| Conditions { mtu, rate, ..Conditions::IDEAL };
    let mut world = World::new(7);
    world.network_mut().set_conditions(link(Some(1028), Some(1_028_000)));
    let adapter = |address| SimulatedDatagrams::new(address, AMPLE).telling_paths();
    let here: Station = world.add(HERE, adapter(HERE), Heard::default());
    let there: Station = world.add(THERE, adapter(THERE), Heard::default());
    let remote = SocketAddr::new(THERE, 53).into();
    world.ask(there, Ask::Listen { listener: name(0), local: remote });
    for index in [1, 2] {
        world.ask(there, Ask::Await { listener: name(0), association: name(index), credit: AMPLE });
        world.ask(here, Ask::Open { association: name(index), remote, credit: AMPLE, local: None });
        world.run_for(Duration::from_secs(1));
    }
    let [unknown, narrow, narrower] = [(65_507, 0), (1000, 1000), (500, 514)]
        .map(|(longest, frame_time)| PathLimits { longest, frame_time, ..PathLimits::UNBOUNDED });
    // The second association knows what the first has learnt.
    assert_eq!(paths(&world, here), [unknown, narrow, narrow]);
    assert_eq!(world.question(here, name(2), Longest), Some(1000));
    assert_eq!(world.question(here, name(2), FrameTime), Some(Duration::from_millis(1)));

    world.network_mut().set_link(HERE, THERE, link(Some(528), Some(1_028_000)));
    world.run_for(Duration::from_secs(1));
    assert_eq!(paths(&world, here)[3..], [narrower; 2], "both are told");
    assert_eq!(world.question(here, name(1), Longest), Some(500));
    // The way back is another, and what changes nothing is not told.
    world.network_mut().set_link(THERE, HERE, link(Some(528), Some(1_028_000)));
    world.run_for(Duration::from_secs(1));
    assert_eq!(paths(&world, here).len(), 5);
    // What is longer vanishes, and is counted; what is as long passes.
    for length in [501, 500] {
        let batch = SingleBuffer::with_headroom(0, &vec![0; length]).into();
        let properties = MessageProperties::default();
        world.ask(here, Ask::Send { association: name(1), batch, properties });
    }
    world.run_for(Duration::from_secs(1));
    let counts = world.network().counts(HERE, THERE);
    assert_eq!((counts.too_long, counts.delivered), (1, 1));
    assert_eq!(paths(&world, there), [unknown, narrower], "an arrival asks, too");
}

#[test]
fn who_asks_nothing_is_told_what_udp_takes() {
    let narrow = Conditions { mtu: Some(100), ..Conditions::IDEAL };
    let (mut world, here, _) = two(narrow.clone(), AMPLE);
    world.network_mut().set_conditions(Conditions { mtu: Some(50), ..narrow });
    world.run_for(Duration::from_secs(1));
    assert_eq!(paths(&world, here), [PathLimits::of_longest(65_507)]);
    assert_eq!(world.question(here, name(0), Longest), Some(65_507));
}
