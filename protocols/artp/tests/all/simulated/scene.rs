//! Two who talk over ARTP, and the world between them.

use std::net::{IpAddr, SocketAddr};

use stackwright_artp::Config;
use stackwright_compose::Over;
use stackwright_contract::ask::{NothingBelow, PathReport, PathStatistics, ask};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Instant, Protocol};
use stackwright_simulator::{
    Application, Asks, Conditions, Deed, Event, SimulatedDatagrams, StationId, World,
};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;

const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 17, messages: 4 };
const ROOM_BELOW: Credit = Credit { octets: 16 << 10, messages: 8 };

/// Sends numbered messages as room allows, closes behind the last, and keeps what it hears.
#[derive(Default)]
pub(crate) struct Talker {
    to_send: u32,
    length: Option<usize>,
    sent: u32,
    credit: Credit,
    heard: Vec<u32>,
    heard_at: Vec<Instant>,
    ended: Option<Ended>,
}

impl Talker {
    /// One message of so many octets.
    pub(crate) fn with_one_of(octets: usize) -> Self {
        Talker::with(1, octets)
    }

    /// So many messages of so many octets.
    pub(crate) fn with(messages: u32, octets: usize) -> Self {
        Talker { to_send: messages, length: Some(octets), ..Talker::default() }
    }

    fn go_on(&mut self, mut ask: impl FnMut(DatagramsRequest<M>)) {
        while self.sent < self.to_send {
            let length = self.length.unwrap_or(4 + (self.sent as usize * 977) % 5000);
            if self.credit.messages == 0 || self.credit.octets < length {
                return;
            }
            self.credit.messages -= 1;
            self.credit.octets -= length;
            let octets = said(self.sent, length);
            let message = M::with_headroom(64, &octets);
            ask(DatagramsRequest::Send {
                association: ASSOCIATION,
                batch: message.into(),
                properties: MessageProperties::default(),
            });
            self.sent += 1;
            if self.sent == self.to_send {
                ask(DatagramsRequest::Close { name: ASSOCIATION });
            }
        }
    }
}

/// The octets of a message: its number, and then what no other place of it has.
fn said(number: u32, length: usize) -> Vec<u8> {
    let octet = |at: usize| ((at as u32 ^ number << 16).wrapping_mul(0x9e37_79b1) >> 24) as u8;
    let mut octets: Vec<u8> = (0..length).map(octet).collect();
    octets[..4].copy_from_slice(&number.to_be_bytes());
    octets
}

impl<P: Protocol<Provides = Datagrams<M>>> Application<P> for Talker {
    fn hear(&mut self, cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<P>) {
        match indication {
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                self.credit.messages += credit.messages;
                self.credit.octets += credit.octets;
                self.go_on(|request| asks.push_back(request));
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                let mut message = messages.into_single();
                let credit = Credit { octets: message.len(), messages: 1 };
                let number =
                    message.front(4).and_then(|four| four.try_into().ok()).map(u32::from_be_bytes);
                let number = number.expect("four octets");
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                assert!(octets == said(number, octets.len()), "what was sent");
                self.heard.push(number);
                self.heard_at.push(cx.now());
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            DatagramsIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

/// A link by chance: it loses, doubles and reorders.
pub(crate) fn any_conditions(seed: u64) -> Conditions {
    let random = &mut fastrand::Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(1..50)),
        jitter: Duration::from_millis(random.u64(0..100)),
        loss: (random.f64() * 0.25).into(),
        duplicate: random.f64() * 0.3,
        ..Conditions::IDEAL
    }
}

pub(crate) fn config() -> Config {
    Config { tries: 60, first: Some(u32::MAX - 3), ..Config::new([0; 16]) }
}

/// The sender of a datagram that a trace tells of.
fn sender(what: &str) -> Option<&str> {
    let (_, from) = what.strip_prefix("datagram ")?.split_once(' ')?;
    Some(from.split_once(' ')?.0)
}

/// The packets of a capture: those of its enhanced packet blocks (pcapng, §4.3).
fn packets(mut captured: &[u8]) -> impl Iterator<Item = &[u8]> {
    let number = |octets: &[u8], at: usize| {
        u32::from_le_bytes(octets[at..at + 4].try_into().expect("four octets")) as usize
    };
    let blocks = std::iter::from_fn(move || {
        let length = (!captured.is_empty()).then(|| number(captured, 4))?;
        let (block, rest) = captured.split_at(length);
        captured = rest;
        Some(block)
    });
    blocks
        .filter(move |block| number(block, 0) == 6)
        .map(move |block| &block[28..][..number(block, 20)])
}

/// The server listens, and awaits a client.
fn listens<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + 'static>(
    world: &mut World<M>,
    server: StationId<Over<P, SimulatedDatagrams<M>>, Talker>,
) {
    let local = SocketAddr::from((SERVER, 7)).into();
    world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local });
    world.ask(
        server,
        DatagramsRequest::Await { listener: LISTENER, association: ASSOCIATION, credit: ROOM },
    );
}

/// A server and a client that has so many messages for it.
pub(crate) struct Scene<P: Protocol> {
    world: World<M>,
    server: StationId<Over<P, SimulatedDatagrams<M>>, Talker>,
    client: StationId<Over<P, SimulatedDatagrams<M>>, Talker>,
}

pub(crate) fn stacked<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + 'static>(
    seed: u64,
    conditions: Conditions,
    messages: u32,
    layer: impl Fn(Config, u64) -> P,
) -> Scene<P> {
    Scene::new(seed, conditions, Talker { to_send: messages, ..Talker::default() }, layer)
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + 'static> Scene<P> {
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        talker: Talker,
        layer: impl Fn(Config, u64) -> P,
    ) -> Self {
        Scene::of(seed, conditions, [Talker::default(), talker], layer)
    }

    /// A server and a client that both talk.
    pub(crate) fn of(
        seed: u64,
        conditions: Conditions,
        talkers: [Talker; 2],
        layer: impl Fn(Config, u64) -> P,
    ) -> Self {
        let mut scene = Scene::unopened(seed, conditions, talkers, layer);
        scene.opens();
        scene
    }

    /// The same, before the client asks for a session.
    pub(crate) fn unopened(
        seed: u64,
        conditions: Conditions,
        [hears, talker]: [Talker; 2],
        layer: impl Fn(Config, u64) -> P,
    ) -> Self {
        let mut world = World::new(seed);
        world.keep_trace();
        world.network_mut().set_conditions(conditions);
        let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
        let stack = |address, secret: u8| {
            let config = Config { secret: [secret; 16], ..config() };
            Over::new(layer(config, seed), SimulatedDatagrams::new(address, ROOM_BELOW))
        };
        let server = world.add(here, stack(here, 1), hears);
        let client = world.add(there, stack(there, 2), talker);
        listens(&mut world, server);
        Scene { world, server, client }
    }

    fn opens(&mut self) {
        let remote = SocketAddr::from((SERVER, 7)).into();
        self.world.ask(
            self.client,
            DatagramsRequest::Open { association: ASSOCIATION, remote, credit: ROOM, local: None },
        );
    }

    /// The client asks for a session, and all takes its course: each packet that left it or reached
    /// it, from the header of IP on, and when.
    pub(crate) fn watched(mut self) -> Vec<(Instant, Vec<u8>)> {
        self.world.keep_packets(&[CLIENT.into()]);
        self.opens();
        let mut seen = Vec::new();
        loop {
            let (now, captured) = (self.world.now(), self.world.take_packets());
            seen.extend(packets(&captured).map(|packet| (now, packet.to_vec())));
            let is_over = self.world.application(self.client).ended.is_some();
            if is_over || !self.world.step() {
                return seen;
            }
        }
    }

    /// Of the packets that leave from now on, exactly those are lost: the n-th one where the n-th
    /// bit is set, of the client's and of the server's.
    pub(crate) fn lose(&mut self, [client, server]: [u8; 2]) {
        let events = |bits: u8| {
            let lost = (0..8).filter(|nth| bits >> nth & 1 == 1);
            lost.map(|nth| Event { nth, deed: Deed::Lose }).collect()
        };
        let [here, there] = [SERVER, CLIENT].map(IpAddr::from);
        self.world.network_mut().script(there, here, events(client));
        self.world.network_mut().script(here, there, events(server));
    }

    /// Time passes until the server has heard so many messages; then the network is like this.
    pub(crate) fn becomes(&mut self, heard: usize, conditions: Conditions) {
        let server = self.server;
        let limit = Duration::from_secs(600);
        assert!(
            self.world.run_until(|world| world.application(server).heard.len() >= heard, limit)
        );
        self.world.network_mut().set_conditions(conditions);
    }

    /// Time passes until `side` has heard so many messages.
    pub(crate) fn hears(&mut self, side: usize, messages: usize) {
        let station = [self.server, self.client][side];
        let heard = |world: &World<M>| world.application(station).heard.len() >= messages;
        assert!(self.world.run_until(heard, Duration::from_secs(600)));
    }

    /// From now on the client is at another address: at `outside`, and its ports are higher.
    pub(crate) fn moves(&mut self, outside: [u8; 4], shift: u16) {
        self.world.translate(CLIENT.into(), outside.into(), shift);
    }

    /// From now on the server runs another stack, and listens again.
    pub(crate) fn restarts(&mut self, layer: impl Fn(Config, u64) -> P) {
        let config = Config { secret: [3; 16], ..config() };
        let below = SimulatedDatagrams::new(IpAddr::from(SERVER), ROOM_BELOW);
        *self.world.stack_mut(self.server) = Over::new(layer(config, 3), below);
        listens(&mut self.world, self.server);
    }

    pub(crate) fn passes(&mut self, time: Duration) {
        self.world.run_for(time);
    }

    pub(crate) fn now(&self) -> Instant {
        self.world.now()
    }

    /// When `side` has heard each message.
    pub(crate) fn heard_at(&self, side: usize) -> &[Instant] {
        &self.world.application([self.server, self.client][side]).heard_at
    }

    /// What `side` has heard.
    pub(crate) fn heard(&self, side: usize) -> &[u32] {
        &self.world.application([self.server, self.client][side]).heard
    }

    /// Whether the client heard that it is over, in ten minutes.
    pub(crate) fn ends(&mut self) -> bool {
        let client = self.client;
        self.world
            .run_until(|world| world.application(client).ended.is_some(), Duration::from_secs(600))
    }

    /// Whether the server heard so as well.
    pub(crate) fn both_end(&mut self) -> bool {
        let server = self.server;
        self.ends()
            && self.world.run_until(
                |world| world.application(server).ended.is_some(),
                Duration::from_secs(600),
            )
    }

    /// What the server heard, and how it ended for the client.
    pub(crate) fn outcome(&self) -> (Vec<u32>, Option<Ended>) {
        (
            self.world.application(self.server).heard.clone(),
            self.world.application(self.client).ended,
        )
    }

    /// How it ended for the server.
    pub(crate) fn server_ended(&self) -> Option<Ended> {
        self.world.application(self.server).ended
    }

    /// When the first packet from another address than before reached the server.
    pub(crate) fn heard_from_elsewhere(&self) -> Option<Instant> {
        let trace = self.world.trace();
        let arrivals = trace.lines().iter().filter(|line| line.station == Some(SERVER.into()));
        let mut senders = arrivals.filter_map(|line| Some((line.time, sender(&line.what)?)));
        let (_, first) = senders.next()?;
        senders.find(|(_, sender)| *sender != first).map(|(time, _)| time)
    }

    pub(crate) fn trace(&self) -> u64 {
        self.world.trace().hash()
    }

    /// What the client's transport, and the server's, say of the path.
    pub(crate) fn paths(&self) -> [PathReport; 2] {
        let report = |layer: &P| ask(layer, ASSOCIATION, PathStatistics, &NothingBelow);
        [self.client_layer(), self.server_layer()]
            .map(|layer| report(layer).expect("the session is open"))
    }

    pub(crate) fn client_layer(&self) -> &P {
        &self.world.stack(self.client).upper
    }

    pub(crate) fn server_layer(&self) -> &P {
        &self.world.stack(self.server).upper
    }
}
