//! Contexts that share a link: the more urgent one has it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};
use stackwright_transport::words::SECOND;
use stackwright_wire::Message;
use stackwright_xtp::services::Connection;
use stackwright_xtp::{Config, Layer, layer};

use crate::rates::RATE;
use crate::rates::narrow::Narrow;
use crate::rates::scene::{M, MESSAGE, SINK, SOURCE};

type Stack = Over<Layer<M, Connection>, Over<Narrow, SimulatedDatagrams<M>>>;

const LISTENER: Handle = Handle { index: 1000, generation: 0 };

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// Says all that there is room for, with the priority and the number of each association.
struct Side {
    /// By association, whose peer's name is the first octet of each message.
    priorities: Vec<u8>,
    room: BTreeMap<Handle, Credit>,
    /// By association of the peer: how many messages arrived.
    heard: Vec<u64>,
    /// The properties of the last.
    properties: MessageProperties,
}

impl Application<Stack> for Side {
    fn hear(&mut self, _: &Context, told: DatagramsIndication<M>, asks: &mut Asks<Stack>) {
        match told {
            DatagramsIndication::Opened { association, credit, .. }
            | DatagramsIndication::Credit { association, credit } => {
                let Some(priority) = self.priorities.get(association.index as usize) else {
                    return;
                };
                let room = self.room.entry(association).or_default();
                *room += credit;
                while room.octets >= MESSAGE && room.messages > 0 {
                    *room -= Credit { octets: MESSAGE, messages: 1 };
                    let batch = M::with_headroom(128, &[association.index as u8; MESSAGE]).into();
                    let number = Some(association.index + 7);
                    let properties =
                        MessageProperties { priority: *priority, number, ..Default::default() };
                    asks.push_back(DatagramsRequest::Send { association, batch, properties });
                }
            }
            DatagramsIndication::Delivered { association, batch, properties } => {
                let credit = batch.cost();
                let mut first = [0];
                batch.into_single().split_to(1).copy_to(&mut first);
                self.heard.resize(self.heard.len().max(usize::from(first[0]) + 1), 0);
                self.heard[usize::from(first[0])] += 1;
                if first[0] == 0 {
                    self.properties = properties;
                }
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            _ => {}
        }
    }
}

/// The messages of each context that arrive within 60 s, by its priority; and what came with the
/// last of the first.
fn shares(priorities: &[u8]) -> (Vec<u64>, MessageProperties) {
    let mut world = World::new(1);
    world
        .network_mut()
        .set_conditions(Conditions { delay: Duration::from_millis(5), ..Conditions::IDEAL });
    let mut station = |address, priorities: &[u8]| {
        let below = SimulatedDatagrams::new(address, Credit { octets: 1 << 16, messages: 64 });
        let config = Config {
            window: 64 << 10,
            // Half of the window takes 262 ms, and only then is a question asked.
            timeout_least: SECOND,
            ..Config::new([priorities.len() as u8; 16])
        };
        let stack =
            Over::new(layer::<M, Connection>(config, 1), Over::new(Narrow::new(RATE), below));
        let side = Side {
            priorities: priorities.into(),
            room: BTreeMap::new(),
            heard: Vec::new(),
            properties: MessageProperties::default(),
        };
        world.add(address, stack, side)
    };
    let (source, sink) = (station(SOURCE, priorities), station(SINK, &[]));
    let local = SocketAddr::from((SINK, 7)).into();
    let credit = Credit { octets: 1 << 20, messages: 1024 };
    world.ask(sink, DatagramsRequest::Listen { listener: LISTENER, local });
    for index in 0..priorities.len() as u32 {
        let association = name(index);
        world.ask(sink, DatagramsRequest::Await { listener: LISTENER, association, credit });
    }
    for index in 0..priorities.len() as u32 {
        let open =
            DatagramsRequest::Open { association: name(index), remote: local, local: None, credit };
        world.ask(source, open);
    }
    let mut run = |time| {
        let over = world.run_until(|_| false, Duration::from_secs(time));
        assert!(!over, "nothing ends it but time");
        let side = world.application(sink);
        (side.heard.clone(), side.properties)
    };
    let (mut before, _) = run(10);
    let (heard, properties) = run(60);
    before.resize(heard.len(), 0);
    (heard.iter().zip(before).map(|(after, before)| after - before).collect(), properties)
}

#[test]
fn the_urgent_context_has_the_link_while_both_send() {
    for priorities in [[10, 200], [200, 10], [128, 129], [0, 128]] {
        let (shares, _) = shares(&priorities);
        let urgent = usize::from(priorities[1] < priorities[0]);
        let all: u64 = shares.iter().sum();
        let link = 60 * u64::from(RATE) / (MESSAGE as u64 + 32 + 8);
        assert!(all > link * 9 / 10, "{priorities:?}: {shares:?} of {link}");
        let part = shares[urgent] as f64 / all as f64;
        assert!(part >= 0.95, "{priorities:?}: {shares:?}");
    }
}

#[test]
fn contexts_that_are_as_urgent_share_the_link() {
    let (shares, _) = shares(&[128, 128]);
    let part = shares[0] as f64 / (shares[0] + shares[1]) as f64;
    assert!((0.3..0.7).contains(&part), "{shares:?}");
}

/// The number of a message (BTAG) and the priority of its association (SORT) reach the peer.
#[test]
fn a_message_bears_its_number_and_the_priority_of_its_context() {
    for priority in [5, 128, 255] {
        let (_, properties) = shares(&[priority]);
        assert_eq!((properties.priority, properties.number), (priority, Some(7)));
    }
}
