//! What the sender of a group and its receivers say to each other over XTP, in a world, is read
//! alike by us, by Wireshark and by a reader that shares no code with ours.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;

use stackwright::compose::Over;
use stackwright::contract::services::{
    Credit, Datagrams, DatagramsIndication as Told, DatagramsRequest as Asked,
};
use stackwright::contract::{Context, Duration, Handle};
use stackwright::transport::words::{MILLISECOND, SECOND};
use stackwright::wire::{BufferTree as M, Message as _};
use stackwright::xtp::multicast::{
    GroupConfig, GroupService, ReliableMulticast, UnacknowledgedMulticast, layer,
};
use stackwright::xtp::{Config, PORT};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, StationId, World};

use crate::over_udp::services::{Stack, read};

const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 0, 0, 1));
const CONTEXT: Handle = Handle { index: 0, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };
const MESSAGE: usize = 3000;

/// The nth member; the first sends.
fn address(nth: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 1 + nth).into()
}

/// One that sends as many messages, and closes; or takes as many, and gives no credit for more.
struct Member {
    messages: usize,
    sends: bool,
    credit: Credit,
}

impl<P: Stack> Application<P> for Member {
    fn hear(&mut self, _: &Context, told: Told<M>, asks: &mut Asks<P>) {
        match told {
            Told::Opened { credit, .. } | Told::Credit { credit, .. } if self.sends => {
                self.credit += credit;
                let each = Credit { octets: MESSAGE, messages: 1 };
                while self.messages > 0 && self.credit.messages > 0 && self.credit.octets >= MESSAGE
                {
                    let batch = M::with_headroom(128, &[7; MESSAGE]).into();
                    let properties = Default::default();
                    asks.push_back(Asked::Send { association: CONTEXT, batch, properties });
                    self.credit -= each;
                    self.messages -= 1;
                    if self.messages == 0 {
                        asks.push_back(Asked::Close { name: CONTEXT });
                    }
                }
            }
            Told::Delivered { association, batch, .. } if self.messages > 0 => {
                self.messages -= 1;
                asks.push_back(Asked::Credit { association, credit: batch.cost() });
            }
            _ => {}
        }
    }
}

fn stack<S: GroupService<Transfer<M> = Datagrams<M>>>(nth: u8) -> impl Stack {
    let usual = GroupConfig::new([nth; 16]);
    let config = GroupConfig {
        members: 2,
        patience: 2 * SECOND,
        rate: NonZeroU64::new(200_000),
        common: Config {
            packet: 600,
            window: 64 << 10,
            timeout_first: 200 * MILLISECOND,
            local: SocketAddr::new(address(nth), PORT),
            ..usual.common
        },
        ..usual
    };
    let credit = Credit { octets: 1 << 20, messages: 2000 };
    Over::new(layer::<M, S>(config, nth.into()), SimulatedDatagrams::new(address(nth), credit))
}

/// Adds a member that takes as many messages.
fn join<P: Stack>(world: &mut World<M>, nth: u8, stack: P, messages: usize) {
    let member = Member { messages, sends: false, credit: Credit::default() };
    let receiver: StationId<P, _> = world.add(address(nth), stack, member);
    let listener = Handle { index: 9, generation: 0 };
    let local = SocketAddr::new(GROUP, PORT).into();
    world.ask(receiver, Asked::Listen { listener, local });
    world.ask(receiver, Asked::Await { listener, association: CONTEXT, credit: ROOM });
}

/// Returns a capture of what left the sender of a group and what reached it: some is lost, one of
/// its receivers comes late, and one takes too little.
fn captured<S: GroupService<Transfer<M> = Datagrams<M>>>(messages: usize) -> Vec<u8> {
    let mut world = World::<M>::new(3);
    let conditions = Conditions { loss: 0.05.into(), ..Conditions::IDEAL };
    world.network_mut().set_conditions(conditions);
    world.network_mut().group(GROUP, &[0, 1, 2, 3].map(address));
    world.keep_packets(&[address(0)]);
    join(&mut world, 1, stack::<S>(1), usize::MAX);
    join(&mut world, 2, stack::<S>(2), 100);
    let sends = Member { messages, sends: true, credit: Credit::default() };
    let sender = world.add(address(0), stack::<S>(0), sends);
    let remote = SocketAddr::new(GROUP, PORT).into();
    let open = Asked::Open { association: CONTEXT, remote, local: None, credit: ROOM };
    world.ask(sender, open);
    world.run_for(Duration::from_secs(1));
    join(&mut world, 3, stack::<S>(3), usize::MAX);
    world.run_for(Duration::from_secs(120));
    world.take_packets()
}

#[test]
fn packets_of_a_group_are_read_alike() {
    let read = read(&captured::<ReliableMulticast>(300));
    let seen: BTreeSet<_> =
        read.iter().map(|packet| (packet["format"].as_str(), packet["return"].as_bool())).collect();
    let of_sender =
        ["FIRST", "DATA", "CNTL", "JCNTL", "DIAG"].map(|kind| (Some(kind), Some(false)));
    let of_receivers = ["TCNTL", "ECNTL", "JCNTL"].map(|kind| (Some(kind), Some(true)));
    let all = BTreeSet::from_iter(of_sender.into_iter().chain(of_receivers));
    assert!(read.is_empty() || seen == all, "{seen:?}");
    let is_multicast = |options: &[serde_json::Value]| options.iter().any(|one| one == "MULTI");
    assert!(
        read.iter().all(|packet| packet["options"].as_array().is_some_and(|all| is_multicast(all)))
    );
    let refused = read.iter().find(|packet| packet["format"] == "DIAG");
    assert!(refused.is_none_or(|packet| packet["code"] == 4 && packet["value"] == 11));
}

#[test]
fn packets_to_a_group_that_nobody_acknowledges_are_read_alike() {
    let read = read(&captured::<UnacknowledgedMulticast>(30));
    assert!(read.iter().all(|packet| packet["format"] == "FIRST" && packet["return"] == false));
    let ends = |packet: &serde_json::Value| packet["options"].to_string().contains("\"END\"");
    assert!(read.is_empty() || read.iter().any(ends));
}
