//! Stop-and-wait over a link that loses, doubles and reorders: everything arrives once, in order, or the end is said.

use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{DatagramsIndication, DatagramsRequest, Ended, Room};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{Asks, Conditions, SimulatedDatagrams, StationId, World};
use stackwright_stop_and_wait::{Rules, StopAndWait};
use stackwright_wire::{BufferTree, Leaf, Message, SingleBuffer};

type Stack<M> = Over<StopAndWait<M>, SimulatedDatagrams<M>>;

const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const ROOM: Room = Room { octets: 4096, messages: 4 };

/// Sends numbered messages as room allows, closes behind the last, and keeps what it hears.
#[derive(Default)]
struct Talker {
    to_send: u32,
    sent: u32,
    room: Room,
    heard: Vec<u32>,
    ended: Option<Ended>,
}

impl Talker {
    fn go_on<M: Message>(&mut self, asks: &mut Asks<Stack<M>>) {
        while self.sent < self.to_send && self.room.messages > 0 {
            self.room.messages -= 1;
            let message = M::with_headroom(64, &self.sent.to_be_bytes());
            asks.push_back(DatagramsRequest::Send { association: ASSOCIATION, message });
            self.sent += 1;
            if self.sent == self.to_send {
                asks.push_back(DatagramsRequest::Close { association: ASSOCIATION });
            }
        }
    }
}

impl<M: Message> stackwright_simulator::Application<Stack<M>> for Talker {
    fn hear(&mut self, _cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<Stack<M>>) {
        match indication {
            DatagramsIndication::Opened { room, .. } | DatagramsIndication::Room { room, .. } => {
                self.room.messages += room.messages;
                self.go_on::<M>(asks);
            }
            DatagramsIndication::Delivered { association, message } => {
                let octets = message.leaves().flat_map(|leaf| match leaf {
                    Leaf::Octets(octets) => octets.to_vec(),
                    Leaf::Region(_) => unreachable!("nobody sends files"),
                });
                self.heard
                    .push(u32::from_be_bytes(octets.collect::<Vec<_>>().try_into().expect("four octets")));
                let room = Room { octets: 4, messages: 1 };
                asks.push_back(DatagramsRequest::Receive { association, room });
            }
            DatagramsIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

fn world<M: Message>(
    seed: u64,
    conditions: Conditions,
    messages: u32,
) -> (World<M>, [StationId<Stack<M>, Talker>; 2]) {
    let mut world = World::new(seed);
    world.network_mut().set_conditions(conditions);
    let [server, client] = [SERVER, CLIENT].map(IpAddr::from);
    let stack =
        |address| Over::new(StopAndWait::new(Rules::default(), seed), SimulatedDatagrams::new(address, ROOM));
    let server = world.add(server, stack(server), Talker::default());
    let client = world.add(client, stack(client), Talker { to_send: messages, ..Talker::default() });
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local });
    world.ask(server, DatagramsRequest::Await { listener: LISTENER, association: ASSOCIATION, room: ROOM });
    world.ask(client, DatagramsRequest::Open { association: ASSOCIATION, remote: local, room: ROOM });
    (world, [server, client])
}

fn arrives_whole<M: Message>(seed: u64) {
    let random = &mut fastrand::Rng::with_seed(seed);
    let conditions = Conditions {
        delay: Duration::from_millis(random.u64(1..50)),
        jitter: Duration::from_millis(random.u64(0..100)),
        loss: random.f64() * 0.4,
        duplicate: random.f64() * 0.3,
        ..Conditions::IDEAL
    };
    let (mut world, [server, client]) = world::<M>(seed, conditions, 20);
    let done = world.run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(600));
    assert!(done, "seed {seed}: it comes to an end");
    assert_eq!(world.application(client).ended, Some(Ended::Finished), "seed {seed}");
    assert_eq!(world.application(server).heard, Vec::from_iter(0..20), "seed {seed}");
}

#[test]
fn everything_arrives_once_and_in_order() {
    for seed in 0..200 {
        arrives_whole::<SingleBuffer>(seed);
        arrives_whole::<BufferTree>(seed);
    }
}

#[test]
fn nobody_there_is_said() {
    let (mut world, [_, client]) = world::<SingleBuffer>(1, Conditions { loss: 1.0, ..Conditions::IDEAL }, 1);
    assert!(world.run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(60)));
    assert_eq!(world.application(client).ended, Some(Ended::Expired));
    assert_eq!(world.stack(client).upper.associations(), 0);
}
