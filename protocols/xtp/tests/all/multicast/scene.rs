//! One station that sends to a group, and those that receive.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication as Told, DatagramsRequest as Ask, Ended,
};
use stackwright_contract::{Context, Duration, Handle, Instant, Participant};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, StationId, World};
use stackwright_transport::GroupMembers;
use stackwright_transport::slots::GroupCounts;
use stackwright_transport::words::MILLISECOND;
use stackwright_wire::{BufferTree, Message};
use stackwright_xtp::Config;
use stackwright_xtp::multicast::{GroupConfig, GroupLayer, GroupService, layer};

pub(crate) type M = BufferTree;
pub(crate) type Stack<S> = Over<GroupLayer<M, S>, SimulatedDatagrams<M>>;

pub(crate) const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 0, 0, 1));
pub(crate) const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const CONTEXT: Handle = Handle { index: 0, generation: 0 };
const LISTENER: Handle = Handle { index: 1000, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };

pub(crate) fn receiver_address(nth: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 1, nth as u8).into()
}

/// Returns the octets of the nth message: none is like another.
pub(crate) fn message(nth: u32, octets: usize) -> Vec<u8> {
    nth.to_be_bytes().into_iter().cycle().take(octets).collect()
}

/// Sends messages as there is credit for them, and closes.
pub(crate) struct Sends {
    octets: usize,
    next: u32,
    messages: u32,
    credit: Credit,
    /// Whether it closes when it has sent all.
    pub(crate) closes: bool,
    pub(crate) ended: Option<(Instant, Ended)>,
}

impl Sends {
    fn go_on<S: GroupService>(&mut self, asks: &mut Asks<Stack<S>>)
    where
        S::Transfer<M>: stackwright_contract::services::Transfer,
        Stack<S>: stackwright_contract::Protocol<Provides = Datagrams>,
    {
        while self.next < self.messages
            && self.credit.messages > 0
            && self.credit.octets >= self.octets
        {
            self.credit.octets -= self.octets;
            self.credit.messages -= 1;
            let batch = M::with_headroom(128, &message(self.next, self.octets)).into();
            let properties = Default::default();
            asks.push_back(Ask::Send { association: CONTEXT, batch, properties });
            self.next += 1;
        }
        if self.next == self.messages && std::mem::take(&mut self.closes) {
            asks.push_back(Ask::Close { name: CONTEXT });
        }
    }
}

type Datagrams = stackwright_contract::services::Datagrams<M>;

/// Services of messages.
pub(crate) trait Service: GroupService<Transfer<M> = Datagrams> {}
impl<S: GroupService<Transfer<M> = Datagrams>> Service for S {}

impl<S: Service> Application<Stack<S>> for Sends {
    fn hear(&mut self, cx: &Context, told: Told<M>, asks: &mut Asks<Stack<S>>) {
        match told {
            Told::Opened { credit, .. } | Told::Credit { credit, .. } => {
                self.credit += credit;
                self.go_on::<S>(asks);
            }
            Told::Ended { name: CONTEXT, why } => self.ended = Some((cx.now(), why)),
            _ => {}
        }
    }
}

/// Takes what arrives.
pub(crate) struct Takes {
    /// How many messages it takes at most, without giving credit for more.
    pub(crate) most: usize,
    /// Behind how many messages it leaves, at once.
    pub(crate) leaves_behind: Option<usize>,
    pub(crate) heard: Vec<Vec<u8>>,
    pub(crate) opened: u32,
    pub(crate) remote: Option<Participant>,
    pub(crate) ended: Vec<Ended>,
}

impl<S: Service> Application<Stack<S>> for Takes {
    fn hear(&mut self, _: &Context, told: Told<M>, asks: &mut Asks<Stack<S>>) {
        match told {
            Told::Opened { remote, .. } => {
                (self.opened, self.remote) = (self.opened + 1, Some(remote));
            }
            Told::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                let message = batch.into_single();
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                self.heard.push(octets);
                if self.heard.len() < self.most {
                    asks.push_back(Ask::Credit { association, credit });
                }
                if self.leaves_behind == Some(self.heard.len()) {
                    asks.push_back(Ask::Close { name: association });
                }
            }
            Told::Ended { name, why } if name != LISTENER => self.ended.push(why),
            _ => {}
        }
    }
}

pub(crate) struct Scene<S: Service> {
    pub(crate) world: World<M>,
    pub(crate) sender: StationId<Stack<S>, Sends>,
    pub(crate) receivers: Vec<StationId<Stack<S>, Takes>>,
    config: GroupConfig,
    members: Vec<IpAddr>,
}

/// Settings in which a test ends soon.
pub(crate) fn config(members: usize) -> GroupConfig {
    let usual = GroupConfig::new([0; 16]);
    GroupConfig {
        members: members as u16,
        common: Config {
            packet: 600,
            window: 64 << 10,
            timeout_first: 200 * MILLISECOND,
            ..usual.common
        },
        ..usual
    }
}

impl<S: Service> Scene<S> {
    /// Makes the group; its sender has nothing to send yet.
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        members: usize,
        config: GroupConfig,
    ) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        world.network_mut().keep_traffic();
        world.keep_packets(&[SENDER]);
        let sends = Sends {
            octets: 0,
            next: 0,
            messages: 0,
            credit: Credit::default(),
            closes: false,
            ended: None,
        };
        let sender = world.add(SENDER, stack(SENDER, &config, seed), sends);
        let (receivers, addresses) = (Vec::new(), vec![SENDER]);
        let mut scene = Scene { world, sender, receivers, config, members: addresses };
        (0..members).for_each(|_| scene.join());
        scene
    }

    /// Adds a receiver.
    pub(crate) fn join(&mut self) {
        let nth = self.receivers.len();
        let address = receiver_address(nth);
        self.members.push(address);
        self.world.network_mut().group(GROUP, &self.members);
        let takes = Takes {
            most: usize::MAX,
            leaves_behind: None,
            heard: Vec::new(),
            opened: 0,
            remote: None,
            ended: Vec::new(),
        };
        let receiver = self.world.add(address, stack(address, &self.config, nth as u64), takes);
        let local = SocketAddr::new(GROUP, 7).into();
        self.world.ask(receiver, Ask::Listen { listener: LISTENER, local });
        for index in 0..3 {
            let association = Handle { index, generation: 0 };
            let request = Ask::Await { listener: LISTENER, association, credit: ROOM };
            self.world.ask(receiver, request);
        }
        self.receivers.push(receiver);
    }

    /// Removes a receiver from the network, without a word.
    pub(crate) fn vanish(&mut self, nth: usize) {
        self.members.retain(|member| *member != receiver_address(nth));
        self.world.network_mut().group(GROUP, &self.members);
    }

    /// Sends `messages` messages of `octets` octets each, and closes.
    pub(crate) fn send(&mut self, messages: u32, octets: usize) {
        self.world.application_mut(self.sender).closes = true;
        self.send_and_stay(messages, octets);
    }

    /// Sends them, and does not close.
    pub(crate) fn send_and_stay(&mut self, messages: u32, octets: usize) {
        let sends = self.world.application_mut(self.sender);
        (sends.octets, sends.messages) = (octets, messages);
        let (association, remote) = (CONTEXT, SocketAddr::new(GROUP, 7).into());
        let open = Ask::Open { association, remote, local: None, credit: ROOM };
        self.world.ask(self.sender, open);
    }

    /// Runs until the sender has ended. Returns why, and how long that took.
    pub(crate) fn run(&mut self, seconds: u64) -> Option<(Duration, Ended)> {
        let (begin, sender) = (self.world.now(), self.sender);
        let limit = Duration::from_secs(seconds);
        let _ = self.world.run_until(|world| world.application(sender).ended.is_some(), limit);
        let (at, why) = self.world.application(sender).ended?;
        Some((Duration::from_nanos(at.nanoseconds_since(begin)), why))
    }

    pub(crate) fn counts(&self) -> Option<GroupCounts> {
        self.world.question(self.sender, CONTEXT, GroupMembers)
    }

    pub(crate) fn receiver(&self, nth: usize) -> &Takes {
        self.world.application(self.receivers[nth])
    }

    /// Checks that a receiver has heard all messages, from one on.
    pub(crate) fn has_heard(&self, nth: usize, mut from: u32, what: &str) {
        let (sends, takes) = (self.world.application(self.sender), self.receiver(nth));
        assert!(
            takes.heard.len() as u32 == sends.messages - from,
            "{what}: {nth} has heard {} of {} messages",
            takes.heard.len(),
            sends.messages
        );
        for heard in &takes.heard {
            assert!(
                *heard == message(from, sends.octets),
                "{what}: {nth} has heard another {from}"
            );
            from += 1;
        }
    }
}

fn stack<S: Service>(address: IpAddr, config: &GroupConfig, seed: u64) -> Stack<S> {
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&seed.to_le_bytes());
    if let IpAddr::V4(address) = address {
        secret[8..12].copy_from_slice(&address.octets());
    }
    let config = GroupConfig { common: Config { secret, ..config.common }, ..*config };
    let datagrams = SimulatedDatagrams::new(address, Credit { octets: 1 << 20, messages: 2000 });
    Over::new(layer::<M, S>(config, seed), datagrams)
}
