//! The links of a network: each has conditions, chances, counts and a script of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::ask::{FrameTime, Longest, Peer};
use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, MessageProperties,
};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{
    ChannelConditions, Conditions, Deed, Event, Heard, Network, SimulatedDatagrams, StationId,
    Traffic, World,
};
use stackwright_wire::{Message, SingleBuffer};

const AMPLE: Credit = Credit { octets: 1 << 20, messages: 10_000 };
const COUNT: u32 = 500;

type M = SingleBuffer;
type Station = StationId<SimulatedDatagrams<M>, Heard<Told<M>>>;

/// The first listens, the others open to it.
const ADDRESSES: [IpAddr; 3] = [address(0), address(1), address(2)];

const fn address(number: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, number))
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

struct Scene {
    world: World<M>,
    stations: [Station; 3],
}

impl Scene {
    fn new(prepare: impl FnOnce(&mut Network<M>)) -> Self {
        let mut world = World::new(5);
        prepare(world.network_mut());
        let stations = ADDRESSES.map(|address| {
            world.add(address, SimulatedDatagrams::new(address, AMPLE), Heard::default())
        });
        let remote = SocketAddr::new(ADDRESSES[0], 53).into();
        world.ask(stations[0], Ask::Listen { listener: name(0), local: remote });
        for (index, station) in [(1, stations[1]), (2, stations[2])] {
            world.ask(
                stations[0],
                Ask::Await { listener: name(0), association: name(index), credit: AMPLE },
            );
            world.ask(
                station,
                Ask::Open { association: name(0), remote, credit: AMPLE, local: None },
            );
        }
        Scene { world, stations }
    }

    /// Sends numbers from one of the stations.
    fn send(&mut self, from: usize) {
        for number in 0..COUNT {
            let message = SingleBuffer::with_headroom(0, &number.to_be_bytes());
            self.world.ask(
                self.stations[from],
                Ask::Send {
                    association: name(0),
                    batch: message.into(),
                    properties: MessageProperties::default(),
                },
            );
        }
        self.world.run_for(Duration::from_secs(10));
    }

    /// Which numbers arrived from one of the stations: from the one whose first arrived as the
    /// `nth`.
    fn arrived(&self, nth: u32) -> Vec<u32> {
        let number = |told: &Told<M>| match told {
            Told::Delivered { association, batch: messages, .. } if association.index == nth => {
                Some(u32::from_be_bytes(
                    messages.as_octets().octets().try_into().expect("a number"),
                ))
            }
            _ => None,
        };
        self.world.application(self.stations[0]).0.iter().filter_map(number).collect()
    }
}

fn lossy(network: &mut Network<M>) {
    network.set_conditions(Conditions { loss: 0.3.into(), ..Conditions::IDEAL });
}

#[test]
fn the_chances_of_a_link_are_its_own() {
    let mut alone = Scene::new(lossy);
    alone.send(2);
    let mut behind = Scene::new(lossy);
    behind.send(1);
    behind.send(2);
    assert_eq!(alone.arrived(1), behind.arrived(2), "whatever else was sent before");
    assert_ne!(behind.arrived(1), behind.arrived(2), "and not those of another");
}

#[test]
fn a_link_that_was_set_on_its_own_stays_as_it_is() {
    let mut scene = Scene::new(|network| {
        network.set_link(ADDRESSES[1], ADDRESSES[0], Conditions::IDEAL);
        lossy(network);
    });
    scene.send(1);
    scene.send(2);
    assert_eq!(scene.arrived(1).len(), COUNT as usize);
    assert!(scene.arrived(2).len() < COUNT as usize);
    // From now on, and not from the beginning again.
    scene.world.network_mut().set_conditions(Conditions::IDEAL);
    scene.send(2);
    let counts = scene.world.network().counts(ADDRESSES[2], ADDRESSES[0]);
    assert_eq!(
        (counts.offered, counts.lost),
        (u64::from(2 * COUNT), 2 * u64::from(COUNT) - counts.delivered)
    );
    assert_eq!(scene.arrived(2).len() as u64, counts.delivered);
}

#[test]
fn a_script_for_one_link_leaves_the_others_to_chance() {
    let mut drawn = Scene::new(lossy);
    drawn.send(1);
    drawn.send(2);
    let events = vec![Event { nth: 7, deed: Deed::Lose }];
    let mut scripted = Scene::new(|network| {
        lossy(network);
        network.script(ADDRESSES[1], ADDRESSES[0], events);
    });
    scripted.send(1);
    scripted.send(2);
    assert!(scripted.arrived(1).into_iter().eq((0..COUNT).filter(|number| *number != 7)));
    assert_eq!(scripted.arrived(2), drawn.arrived(2));
}

#[test]
fn in_a_replay_links_that_the_log_does_not_name_have_no_chances_either() {
    let mut scene = Scene::new(|network| {
        lossy(network);
        network.replay(&[(ADDRESSES[1], ADDRESSES[0], Event { nth: 3, deed: Deed::Lose })]);
    });
    scene.send(1);
    scene.send(2);
    assert_eq!(scene.arrived(1).len(), COUNT as usize - 1);
    assert_eq!(scene.arrived(2).len(), COUNT as usize);
}

#[test]
fn a_log_says_what_happened_on_which_link() {
    let mut scene = Scene::new(|network| {
        lossy(network);
        network.keep_log();
    });
    scene.send(1);
    let arrived = scene.arrived(1);
    let lost = (0..COUNT).filter(|number| !arrived.contains(number));
    let expected = lost.map(|number| {
        let event = Event { nth: u64::from(number), deed: Deed::Lose };
        (ADDRESSES[1], ADDRESSES[0], event)
    });
    assert_eq!(scene.world.network().log(), expected.collect::<Vec<_>>());
}

/// A frame takes what the link between the two needs for the longest one; without a bound of either
/// its rate or its frames, that is not known.
#[test]
fn a_stack_is_told_how_long_a_frame_takes() {
    let bounded =
        |rate, mtu| Conditions { rate: Some(rate), overhead: 20, mtu, ..Conditions::IDEAL };
    let mut scene = Scene::new(|network| {
        network.set_link(ADDRESSES[1], ADDRESSES[0], bounded(150, Some(280)));
        network.set_link(ADDRESSES[2], ADDRESSES[0], bounded(150, None));
    });
    let frame_time = |scene: &Scene, station: usize| {
        scene.world.question(scene.stations[station], name(0), FrameTime)
    };
    assert_eq!(frame_time(&scene, 1), Some(Duration::from_secs(2)), "300 octets at 1200 bit/s");
    assert_eq!(frame_time(&scene, 2), None, "frames of any length");
    let conditions =
        ChannelConditions { mtu: Some(100), overhead: 50, ..ChannelConditions::ideal(300) };
    scene.world.network_mut().share(&[ADDRESSES[0], ADDRESSES[2]], conditions);
    assert_eq!(frame_time(&scene, 2), Some(Duration::from_millis(500)));
    let [station, _, other] = scene.stations;
    assert_eq!(scene.world.question(other, name(0), Longest), Some(65_507));
    let peer = scene.world.question(other, name(0), Peer).and_then(|peer| peer.internet());
    assert_eq!(peer, Some(SocketAddr::new(ADDRESSES[0], 53)));
    assert_eq!(scene.world.question(station, name(0), Peer), None, "a listener has no peer");
}

#[test]
fn what_two_addresses_send_each_other_is_counted_on_a_link_that_others_share() {
    let mut scene = Scene::new(|network| {
        lossy(network);
        for address in &ADDRESSES[1..] {
            network.place(*address, ADDRESSES[1]);
        }
        network.keep_traffic();
    });
    scene.send(1);
    scene.send(1);
    scene.send(2);
    let network = scene.world.network();
    let traffic = |from: usize, to: usize| network.traffic(ADDRESSES[from], ADDRESSES[to]);
    // Numbers of four octets, and the headers of IPv4 and UDP.
    let expected = |packets| Traffic { packets, octets: packets * 32 };
    assert_eq!(traffic(1, 0), expected(2 * u64::from(COUNT)));
    assert_eq!(traffic(2, 0), expected(u64::from(COUNT)));
    assert_eq!(traffic(0, 1), Traffic::default());
    let link = network.counts(ADDRESSES[1], ADDRESSES[0]);
    assert_eq!((link.offered, link.octets_offered), (3 * u64::from(COUNT), 96 * u64::from(COUNT)));
    assert!(link.octets < link.octets_offered, "some were lost");
}

/// Whether a trace is kept, too, and in whichever order they were asked for.
#[test]
fn what_a_station_drops_is_counted_by_reason() {
    let prepared: [fn(&mut World<M>); 3] = [
        |world| world.keep_drops(),
        |world| {
            world.keep_drops();
            world.keep_trace();
        },
        |world| {
            world.keep_trace();
            world.keep_drops();
        },
    ];
    for prepare in prepared {
        let mut scene = Scene::new(|_| {});
        prepare(&mut scene.world);
        // More than there is room for.
        (0..21).for_each(|_| scene.send(1));
        let drops = scene.world.drops(scene.stations[0]);
        let reason = "a datagram for which there is no room";
        let expected = 21 * u64::from(COUNT) - AMPLE.messages as u64;
        assert_eq!((drops.of(reason), drops.of("another reason")), (expected, 0));
        assert_eq!(drops.iter().count(), 1);
        assert_eq!(scene.world.drops(scene.stations[1]).iter().count(), 0);
    }
}
