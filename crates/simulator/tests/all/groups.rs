//! Datagrams to a group: each member gets a copy, with a fate of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, Ended, MessageProperties,
};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{Conditions, Heard, SimulatedDatagrams, StationId, World};
use stackwright_wire::{Message, SingleBuffer};

const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 0, 0, 1));
const AMPLE: Credit = Credit { octets: 1 << 20, messages: 10_000 };
const PORT: u16 = 7;

type Station = StationId<SimulatedDatagrams<SingleBuffer>, Heard<Told<SingleBuffer>>>;

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn address(nth: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, nth))
}

/// Makes a sender, which opens, and `members` that listen at the group.
fn group(conditions: Conditions, members: u8) -> (World<SingleBuffer>, Vec<Station>) {
    let mut world = World::new(7);
    world.network_mut().set_conditions(conditions);
    world.network_mut().keep_traffic();
    let addresses: Vec<IpAddr> = (0..=members).map(address).collect();
    world.network_mut().group(GROUP, &addresses);
    let remote = SocketAddr::new(GROUP, PORT).into();
    let mut stations = Vec::new();
    for address in addresses {
        let adapter = SimulatedDatagrams::new(address, AMPLE);
        stations.push(world.add(address, adapter, Heard::default()));
    }
    for station in &stations[1..] {
        world.ask(*station, Ask::Listen { listener: name(0), local: remote });
        for index in 1..3 {
            let (listener, association) = (name(0), name(index));
            world.ask(*station, Ask::Await { listener, association, credit: AMPLE });
        }
    }
    world.ask(stations[0], Ask::Open { association: name(0), remote, credit: AMPLE, local: None });
    (world, stations)
}

fn send(world: &mut World<SingleBuffer>, station: Station, association: Handle, number: u32) {
    let batch = SingleBuffer::with_headroom(0, &number.to_be_bytes()).into();
    let properties = MessageProperties::default();
    world.ask(station, Ask::Send { association, batch, properties });
}

fn heard(world: &World<SingleBuffer>, station: Station) -> Vec<u32> {
    let number = |told: &Told<SingleBuffer>| match told {
        Told::Delivered { batch, .. } => {
            Some(u32::from_be_bytes(batch.as_octets().octets().try_into().expect("a number")))
        }
        _ => None,
    };
    world.application(station).0.iter().filter_map(number).collect()
}

#[test]
fn what_is_sent_to_a_group_reaches_every_other_member() {
    let (mut world, stations) = group(Conditions::IDEAL, 5);
    (0..10).for_each(|number| send(&mut world, stations[0], name(0), number));
    world.run_for(Duration::from_secs(1));
    assert!(heard(&world, stations[0]).is_empty(), "not its sender");
    for station in &stations[1..] {
        assert_eq!(heard(&world, *station), (0..10).collect::<Vec<_>>());
    }
    assert_eq!(world.network().traffic(address(0), GROUP).packets, 10);
    assert_eq!(world.network().traffic(address(0), address(3)).packets, 10);
}

#[test]
fn a_group_is_one_peer_no_matter_which_member_sends() {
    let (mut world, stations) = group(Conditions::IDEAL, 3);
    send(&mut world, stations[0], name(0), 0);
    world.run_for(Duration::from_secs(1));
    // Each answers on its only association, which was opened by what the first one sent.
    for (number, station) in (1..).zip(&stations[1..]) {
        send(&mut world, *station, name(1), number);
    }
    world.run_for(Duration::from_secs(1));
    for (own, station) in (0..).zip(&stations) {
        let others: Vec<u32> = (0..4).filter(|number| *number != own).collect();
        assert_eq!(heard(&world, *station), others);
        let group = SocketAddr::new(GROUP, PORT).into();
        let opened = |told: &&Told<SingleBuffer>| match told {
            Told::Opened { remote, .. } => *remote == group,
            _ => false,
        };
        assert_eq!(world.application(*station).0.iter().filter(opened).count(), 1);
    }
}

#[test]
fn each_member_loses_other_datagrams() {
    let (mut world, stations) = group(Conditions { loss: 0.5.into(), ..Conditions::IDEAL }, 3);
    (0..400).for_each(|number| send(&mut world, stations[0], name(0), number));
    world.run_for(Duration::from_secs(1));
    let heard: Vec<_> = stations[1..].iter().map(|station| heard(&world, *station)).collect();
    for (nth, one) in heard.iter().enumerate() {
        assert!((150..250).contains(&one.len()), "{}", one.len());
        assert!(heard[..nth].iter().all(|other| other != one));
    }
}

#[test]
fn a_station_has_one_association_with_a_group() {
    let (mut world, stations) = group(Conditions::IDEAL, 1);
    let remote = SocketAddr::new(GROUP, PORT).into();
    world.ask(stations[0], Ask::Open { association: name(9), remote, credit: AMPLE, local: None });
    let is_it = |told: &Told<SingleBuffer>| match told {
        Told::Ended { name: over, why } => (*over, *why) == (name(9), Ended::Unavailable),
        _ => false,
    };
    assert!(world.application(stations[0]).0.iter().any(is_it));
}

#[test]
fn who_names_its_own_address_is_told_who_sends() {
    let (mut world, stations) = group(Conditions::IDEAL, 3);
    let remote = SocketAddr::new(GROUP, PORT).into();
    let (association, local) = (name(9), Some(SocketAddr::new(address(1), 70).into()));
    world.ask(stations[1], Ask::Open { association, remote, credit: AMPLE, local });
    send(&mut world, stations[0], name(0), 7);
    world.run_for(Duration::from_secs(1));
    send(&mut world, stations[2], name(1), 8);
    world.run_for(Duration::from_secs(1));
    assert_eq!(heard(&world, stations[1]), [7, 8]);
    let opened = |told: &Told<SingleBuffer>| match told {
        Told::Opened { association, remote, .. } if *association != name(9) => remote.internet(),
        _ => None,
    };
    let senders: Vec<_> = world.application(stations[1]).0.iter().filter_map(opened).collect();
    assert_eq!(senders, [0, 2].map(|nth| SocketAddr::new(address(nth), PORT)));
    // What it sends reaches the others, for whom the group is one peer.
    send(&mut world, stations[1], name(9), 9);
    world.run_for(Duration::from_secs(1));
    assert_eq!(heard(&world, stations[3]), [7, 8, 9]);
}
