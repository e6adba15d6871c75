//! Two stations of a world, with a service of XTP between them.

use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{
    Application, Asks, Conditions, Event, SimulatedDatagrams, StationId, World,
};
use stackwright_wire::{BufferTree, Message};
use stackwright_xtp::services::XtpService;
use stackwright_xtp::{Config, Layer, layer};

pub(crate) type M = BufferTree;
pub(crate) type Stack<S> = Over<Layer<M, S>, SimulatedDatagrams<M>>;

pub(crate) const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
pub(crate) const LISTENER: Handle = Handle { index: 1000, generation: 0 };
pub(crate) const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };
pub(crate) const REQUEST: &[u8] = &[7; 100];

/// The octets of IPv4's and UDP's headers, which traffic counts.
pub(crate) const BELOW: u64 = 20 + 8;

pub(crate) const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// One side: what it says when it is open, and to what it hears.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) opening: &'static [u8],
    /// How often that is said.
    pub(crate) times: usize,
    pub(crate) answer: &'static [u8],
    pub(crate) closes_when_said: bool,
    /// Whether it then sends no more, and takes on.
    pub(crate) finishes_when_said: bool,
    pub(crate) closes_when_heard: bool,
}

pub(crate) const LISTENS: Manner = Manner {
    opening: &[],
    times: 0,
    answer: &[],
    closes_when_said: false,
    finishes_when_said: false,
    closes_when_heard: false,
};

pub(crate) struct Side {
    pub(crate) manner: Manner,
    pub(crate) heard: Vec<Vec<u8>>,
    pub(crate) opened: u32,
    pub(crate) ended: Vec<(Handle, Ended)>,
}

impl Side {
    fn new(manner: Manner) -> Self {
        Side { manner, heard: Vec::new(), opened: 0, ended: Vec::new() }
    }
}

pub(crate) fn say<S: Service>(association: Handle, octets: &[u8], asks: &mut Asks<Stack<S>>) {
    let batch = M::with_headroom(128, octets).into();
    asks.push_back(DatagramsRequest::Send { association, batch, properties: Default::default() });
}

/// Services of messages.
pub(crate) trait Service: XtpService<Transfer<M> = Datagrams<M>> {}
impl<S: XtpService<Transfer<M> = Datagrams<M>>> Service for S {}

impl<S: Service> Application<Stack<S>> for Side {
    fn hear(&mut self, _: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<Stack<S>>) {
        match indication {
            DatagramsIndication::Opened { association, .. } => {
                self.opened += 1;
                for _ in 0..self.manner.times {
                    say::<S>(association, self.manner.opening, asks);
                }
                if self.manner.finishes_when_said {
                    asks.push_back(DatagramsRequest::Finish { association });
                }
                if self.manner.closes_when_said {
                    asks.push_back(DatagramsRequest::Close { name: association });
                }
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                let message = batch.into_single();
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                self.heard.push(octets);
                asks.push_back(DatagramsRequest::Credit { association, credit });
                if !self.manner.answer.is_empty() {
                    say::<S>(association, self.manner.answer, asks);
                }
                if self.manner.closes_when_heard {
                    asks.push_back(DatagramsRequest::Close { name: association });
                }
            }
            DatagramsIndication::Ended { name, why } => self.ended.push((name, why)),
            _ => {}
        }
    }
}

pub(crate) struct Scene<S: Service> {
    pub(crate) world: World<M>,
    pub(crate) client: StationId<Stack<S>, Side>,
    pub(crate) server: StationId<Stack<S>, Side>,
}

impl<S: Service> Scene<S> {
    /// The client opens `opened` associations, and the server awaits more.
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        opened: u32,
        manners: [Manner; 2],
    ) -> Self {
        let mut scene = Scene::silent(seed, conditions, manners);
        scene.open(opened);
        scene
    }

    /// On ideal links, these things befall packets of one direction, from the first on.
    pub(crate) fn scripted(
        manners: [Manner; 2],
        (from, to): (IpAddr, IpAddr),
        events: Vec<Event>,
    ) -> Self {
        let mut scene = Scene::silent(1, Conditions::IDEAL, manners);
        scene.world.network_mut().script(from, to, events);
        scene.open(1);
        scene
    }

    /// Nobody has opened anything yet.
    fn silent(seed: u64, conditions: Conditions, manners: [Manner; 2]) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        world.network_mut().keep_traffic();
        let [client, server] =
            [(CLIENT, manners[0], 1), (SERVER, manners[1], 2)].map(|(address, manner, secret)| {
                let config = Config { retries: 20, ..Config::new([secret; 16]) };
                let datagrams =
                    SimulatedDatagrams::new(address, Credit { octets: 1 << 16, messages: 64 });
                world.add(
                    address,
                    Over::new(layer::<M, S>(config, seed), datagrams),
                    Side::new(manner),
                )
            });
        Scene { world, client, server }
    }

    fn open(&mut self, opened: u32) {
        let Scene { world, client, server } = self;
        let local = SocketAddr::from((SERVER, 7)).into();
        world.ask(*server, DatagramsRequest::Listen { listener: LISTENER, local });
        for index in 0..opened + 5 {
            let (listener, association) = (LISTENER, name(index));
            world.ask(*server, DatagramsRequest::Await { listener, association, credit: ROOM });
        }
        for index in 0..opened {
            let (association, remote) = (name(index), local);
            world.ask(
                *client,
                DatagramsRequest::Open { association, remote, local: None, credit: ROOM },
            );
        }
    }

    pub(crate) fn run(&mut self, seconds: u64) {
        let over = self.world.run_until(|_| false, Duration::from_secs(seconds));
        assert!(!over, "nothing ends it but time");
    }

    pub(crate) fn side(&self, station: StationId<Stack<S>, Side>) -> &Side {
        self.world.application(station)
    }

    /// How many packets went there, and came back.
    pub(crate) fn packets(&self) -> (u64, u64) {
        let network = self.world.network();
        (network.traffic(CLIENT, SERVER).packets, network.traffic(SERVER, CLIENT).packets)
    }
}

pub(crate) const SAYS_ONE: Manner =
    Manner { opening: REQUEST, times: 1, closes_when_said: true, ..LISTENS };

/// Asks, and leaves with the answer.
pub(crate) const ASKS: Manner =
    Manner { opening: REQUEST, times: 1, closes_when_heard: true, ..LISTENS };
pub(crate) const ANSWERS: Manner =
    Manner { answer: &[9; 3000], closes_when_heard: true, ..LISTENS };
