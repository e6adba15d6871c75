//! Tables that are full, names that are over: refused with a last word, and nobody else is touched.

use std::net::{IpAddr, SocketAddr};

use stackwright_base::{Below, Hooks, Layer, MessageOf, Origin, Place, generate};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Facts, Handle, Participant};
use stackwright_simulator::{Heard, SimulatedDatagrams, StationId, World};
use stackwright_wire::{Header, Message, SingleBuffer};

generate! { Small { message: SingleBuffer, events: Absent, map: OpenAddressing } }

/// Channels, of which there are 256 with each peer.
#[derive(Default)]
struct Channels(u8);

/// The number of a channel.
#[derive(Header)]
struct Label {
    /// The same on both sides.
    channel: u8,
}

impl Hooks for Channels {
    type Features = Small;
    type Provides = Datagrams<MessageOf<Self>>;
    type Uses = Datagrams<MessageOf<Self>>;
    type Header = Label;
    type Key = u8;
    type PassiveKey = ();
    type Association = u8;
    type Timer = ();
    const FACTS: Facts = Facts { header_room: 1, ..Facts::named("channels") };

    fn open(
        &mut self,
        _cx: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<u8>, Ended> {
        self.0 = self.0.wrapping_add(1);
        Below::with(local, remote, self.0)
    }

    fn key(label: &Label) -> u8 {
        label.channel
    }

    fn create(
        &mut self,
        _cx: &Context,
        _name: Handle,
        key: &u8,
        _remote: Participant,
        _origin: Origin,
        _: Credit,
    ) -> u8 {
        *key
    }

    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<Self>,
        _quality: MessageProperties,
    ) {
        let channel = *at.association();
        at.forward(&Label { channel }, message);
    }
}

type Stack = Over<Layer<Channels>, SimulatedDatagrams<SingleBuffer>>;
type Station = StationId<Stack, Heard<DatagramsIndication<SingleBuffer>>>;

const ROOM: Credit = Credit { octets: 1000, messages: 4 };

fn station(world: &mut World<SingleBuffer>, address: [u8; 4]) -> Station {
    let address = IpAddr::from(address);
    let adapter = SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 4096 });
    world.add(address, Over::new(Layer::new(Channels::default(), 1), adapter), Heard::default())
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn peer() -> Participant {
    SocketAddr::from(([10, 0, 0, 2], 7)).into()
}

fn ended(world: &World<SingleBuffer>, station: Station) -> Vec<(u32, Ended)> {
    let words = world.application(station).0.iter();
    let ends = words.filter_map(|word| match word {
        DatagramsIndication::Ended { name, why } => Some((name.index, *why)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn one_association_too_many_is_refused_and_a_freed_key_is_given_again() {
    let mut world = World::new(1);
    let here = station(&mut world, [10, 0, 0, 1]);
    let open = |index| DatagramsRequest::Open {
        association: name(index),
        remote: peer(),
        credit: ROOM,
        local: None,
    };
    for index in 0..257 {
        world.ask(here, open(index));
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(
        ended(&world, here),
        [(256, Ended::Unavailable)],
        "256 have a key, the next one finds it taken"
    );
    assert_eq!(world.stack(here).upper.associations(), 256);
    // The second one leaves, and its key comes round again.
    world.ask(here, DatagramsRequest::Close { name: name(1) });
    world.ask(
        here,
        DatagramsRequest::Open {
            association: Handle { index: 256, generation: 1 },
            remote: peer(),
            local: None,
            credit: ROOM,
        },
    );
    assert_eq!(ended(&world, here), [(256, Ended::Unavailable), (1, Ended::Finished)]);
    assert_eq!(world.stack(here).upper.associations(), 256);
    assert_eq!(world.stack(here).upper.names(), 1, "all of them share one association below");
}

/// The same, of which one too many stands on another association below.
#[derive(Default)]
struct Spread(Channels);

impl Hooks for Spread {
    type Features = Small;
    type Provides = Datagrams<MessageOf<Self>>;
    type Uses = Datagrams<MessageOf<Self>>;
    type Header = Label;
    type Key = u8;
    type PassiveKey = ();
    type Association = u8;
    type Timer = ();
    const FACTS: Facts = Channels::FACTS;
    const SPREADS: bool = true;

    fn open(
        &mut self,
        _cx: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<u8>, Ended> {
        Below::with(local, remote, 7)
    }

    fn free_key(&mut self, key: u8, is_taken: impl Fn(&u8) -> bool) -> Option<u8> {
        (0..=u8::MAX).map(|step| key.wrapping_add(step)).find(|key| !is_taken(key))
    }

    fn key(label: &Label) -> u8 {
        label.channel
    }

    fn create(
        &mut self,
        cx: &Context,
        name: Handle,
        key: &u8,
        remote: Participant,
        origin: Origin,
        credit: Credit,
    ) -> u8 {
        self.0.create(cx, name, key, remote, origin, credit)
    }

    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<Self>,
        _quality: MessageProperties,
    ) {
        let channel = *at.association();
        at.forward(&Label { channel }, message);
    }
}

#[test]
fn where_a_protocol_spreads_one_too_many_stands_on_another_association_below() {
    let mut world = World::<SingleBuffer>::new(1);
    let address = IpAddr::from([10, 0, 0, 1]);
    let adapter = SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 4096 });
    let stack = Over::new(Layer::new(Spread::default(), 1), adapter);
    let here = world.add(address, stack, Heard::<DatagramsIndication<SingleBuffer>>::default());
    for index in 0..600 {
        let association = name(index);
        let open =
            DatagramsRequest::Open { association, remote: peer(), credit: ROOM, local: None };
        world.ask(here, open);
    }
    world.run_for(Duration::from_secs(1));
    let words = &world.application(here).0;
    let opened = words.iter().filter_map(|word| match word {
        DatagramsIndication::Opened { association, local, .. } => Some((association, *local)),
        _ => None,
    });
    let mut ports = std::collections::BTreeMap::<_, u32>::new();
    for (_, local) in opened {
        *ports.entry(local).or_default() += 1;
    }
    assert_eq!(ports.values().copied().collect::<Vec<_>>(), [256, 256, 88]);
    for index in 0..600 {
        world.ask(here, DatagramsRequest::Close { name: name(index) });
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.stack(here).upper.names(), 0, "nothing is left below");
}

#[test]
fn strangers_without_a_name_take_nothing() {
    let mut world = World::new(1);
    let here = station(&mut world, [10, 0, 0, 2]);
    world.ask(here, DatagramsRequest::Listen { listener: name(0), local: peer() });
    world.ask(
        here,
        DatagramsRequest::Await { listener: name(0), association: name(1), credit: ROOM },
    );
    let strangers: Vec<Station> =
        (10..60).map(|last| station(&mut world, [10, 0, 0, last])).collect();
    for stranger in &strangers {
        world.ask(
            *stranger,
            DatagramsRequest::Open {
                association: name(0),
                remote: peer(),
                credit: ROOM,
                local: None,
            },
        );
        for _ in 0..3 {
            let message = SingleBuffer::with_headroom(8, b"let me in");
            world.ask(
                *stranger,
                DatagramsRequest::Send {
                    association: name(0),
                    batch: message.into(),
                    properties: MessageProperties::default(),
                },
            );
        }
    }
    world.run_for(Duration::from_secs(10));
    assert_eq!(world.stack(here).upper.associations(), 1, "one was awaited, one came in");
    assert_eq!(
        world.stack(here).upper.names(),
        2,
        "the listener and him: nobody else left anything behind"
    );
    let delivered = world.application(here).0.iter();
    let delivered =
        delivered.filter(|word| matches!(word, DatagramsIndication::Delivered { .. })).count();
    assert_eq!(delivered, 3);
}

#[test]
fn a_name_that_is_over_is_told_from_the_next_one_of_its_index() {
    let mut world = World::new(1);
    let here = station(&mut world, [10, 0, 0, 1]);
    let second = Handle { index: 0, generation: 1 };
    world.ask(
        here,
        DatagramsRequest::Open { association: name(0), remote: peer(), credit: ROOM, local: None },
    );
    world.ask(here, DatagramsRequest::Close { name: name(0) });
    world.ask(
        here,
        DatagramsRequest::Open { association: second, remote: peer(), credit: ROOM, local: None },
    );
    let before = world.context(here).dropped_count();
    for late in [
        DatagramsRequest::Send {
            association: name(0),
            batch: SingleBuffer::with_headroom(8, b"late").into(),
            properties: MessageProperties::default(),
        },
        DatagramsRequest::Close { name: name(0) },
    ] {
        world.ask(here, late);
    }
    assert_eq!(world.context(here).dropped_count(), before + 2);
    assert_eq!(world.stack(here).upper.associations(), 1, "the new one lives");
}
