//! A source that always has something to say, and a sink.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Instant};
use stackwright_simulator::{
    Application, Asks, Conditions, Event, SimulatedDatagrams, StationId, World,
};
use stackwright_wire::{BufferTree, Message};
use stackwright_xtp::services::XtpService;
use stackwright_xtp::{Config, Layer, layer};

pub(crate) type M = BufferTree;
pub(crate) type Stack<S> = Over<Layer<M, S>, SimulatedDatagrams<M>>;

pub(crate) const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const SINK: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub(crate) const ASSOCIATION: Handle = Handle { index: 0, generation: 0 };
const LISTENER: Handle = Handle { index: 1000, generation: 0 };

/// The octets of IPv4's and UDP's headers, which traffic counts.
pub(crate) const BELOW: u64 = 20 + 8;
/// The octets of a message.
pub(crate) const MESSAGE: usize = 1000;

/// One side: a message begins with its number.
#[derive(Default)]
pub(crate) struct Side {
    /// How many messages it says.
    says: u32,
    said: u32,
    room: Credit,
    /// What arrived, in order, and when.
    pub(crate) heard: Vec<(u32, Instant)>,
    pub(crate) ended: Option<Ended>,
    pub(crate) outcomes: Vec<bool>,
}

impl Side {
    fn fill<S: Service>(&mut self, asks: &mut Asks<Stack<S>>) {
        while self.said < self.says && self.room.octets >= MESSAGE && self.room.messages > 0 {
            let mut octets = vec![0; MESSAGE];
            octets[..4].copy_from_slice(&self.said.to_be_bytes());
            let batch = M::with_headroom(128, &octets).into();
            let properties = MessageProperties::default();
            asks.push_back(DatagramsRequest::Send { association: ASSOCIATION, batch, properties });
            self.said += 1;
            self.room -= Credit { octets: MESSAGE, messages: 1 };
        }
        if self.said == self.says && self.says > 0 {
            asks.push_back(DatagramsRequest::Close { name: ASSOCIATION });
            self.says = 0;
        }
    }
}

/// Services of messages.
pub(crate) trait Service: XtpService<Transfer<M> = Datagrams<M>> {}
impl<S: XtpService<Transfer<M> = Datagrams<M>>> Service for S {}

impl<S: Service> Application<Stack<S>> for Side {
    fn hear(&mut self, cx: &Context, told: DatagramsIndication<M>, asks: &mut Asks<Stack<S>>) {
        match told {
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                self.room += credit;
                self.fill::<S>(asks);
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                let mut number = [0; 4];
                let mut message = batch.into_single();
                message.split_to(4).copy_to(&mut number);
                self.heard.push((u32::from_be_bytes(number), cx.now()));
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            DatagramsIndication::Controlled { outcome, .. } => self.outcomes.push(outcome.is_ok()),
            DatagramsIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

pub(crate) struct Scene<S: Service> {
    pub(crate) world: World<M>,
    pub(crate) source: StationId<Stack<S>, Side>,
    pub(crate) sink: StationId<Stack<S>, Side>,
}

impl<S: Service> Scene<S> {
    /// The source opens, says as many messages, and closes.
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        says: u32,
        config: impl Fn(usize, Config) -> Config,
    ) -> Self {
        let mut scene = Scene::silent(seed, conditions, says, config);
        scene.open();
        scene
    }

    /// The same, with what befalls packets of one direction, from the first on.
    pub(crate) fn scripted(
        conditions: Conditions,
        says: u32,
        config: impl Fn(usize, Config) -> Config,
        (from, to): (IpAddr, IpAddr),
        events: Vec<Event>,
    ) -> Self {
        let mut scene = Scene::silent(1, conditions, says, config);
        scene.world.network_mut().script(from, to, events);
        scene.open();
        scene
    }

    /// Nobody has opened anything yet.
    fn silent(
        seed: u64,
        conditions: Conditions,
        says: u32,
        config: impl Fn(usize, Config) -> Config,
    ) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        world.network_mut().keep_traffic();
        let [source, sink] = [(SOURCE, says), (SINK, 0)].map(|(address, says)| {
            let side = usize::from(address == SINK);
            let config = config(side, Config::new([side as u8; 16]));
            let below = SimulatedDatagrams::new(address, Credit { octets: 1 << 16, messages: 64 });
            let stack = Over::new(layer::<M, S>(config, seed), below);
            world.add(address, stack, Side { says, ..Side::default() })
        });
        Scene { world, source, sink }
    }

    fn open(&mut self) {
        let Scene { world, source, sink } = self;
        let local = SocketAddr::from((SINK, 7)).into();
        let credit = Credit { octets: 1 << 20, messages: 1024 };
        world.ask(*sink, DatagramsRequest::Listen { listener: LISTENER, local });
        let association = ASSOCIATION;
        world.ask(*sink, DatagramsRequest::Await { listener: LISTENER, association, credit });
        let (remote, local) = (local, None);
        world.ask(*source, DatagramsRequest::Open { association, remote, local, credit });
    }

    pub(crate) fn run(&mut self, time: Duration) {
        let over = self.world.run_until(|_| false, time);
        assert!(!over, "nothing ends it but time");
    }

    /// The octets of XTP's packets that left the source.
    pub(crate) fn left(&self) -> u64 {
        let traffic = self.world.network().traffic(SOURCE, SINK);
        traffic.octets - traffic.packets * BELOW
    }

    pub(crate) fn heard(&self) -> &[(u32, Instant)] {
        &self.world.application(self.sink).heard
    }
}
