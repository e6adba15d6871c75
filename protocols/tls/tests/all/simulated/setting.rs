//! Certificates, and two stations with TLS over simulated streams.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{
    Command, CommandError, Context, Duration, Handle, Secure, SessionGroup, TlsRole,
};
use stackwright_simulator::{
    Application, Asks, Conditions, Habits, SimulatedStreams, StationId, World,
};
use stackwright_tls::{Config, Tls, TlsVersions};
use stackwright_wire::{BufferTree, Message};

pub(crate) use crate::certificates::{Authority, EPOCH, NAME, expects, shows};

pub(crate) type M = BufferTree;
pub(crate) type Stack = Over<Tls<M>, SimulatedStreams<M>>;
pub(crate) type Station = StationId<Stack, Side>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub(crate) const LISTENER: Handle = Handle { index: 0, generation: 0 };

pub(crate) const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

pub(crate) const VERSIONS: [TlsVersions; 2] = [TlsVersions::Only12, TlsVersions::Only13];

/// A client that trusts the authority of its server.
pub(crate) fn trusting() -> [Config; 2] {
    let authority = Authority::new();
    [expects(authority.trusted()), shows(authority.issue(NAME, 2030))]
}

pub(crate) const CLIENT: Secure =
    Secure { role: TlsRole::Client, identity: 0, sessions: SessionGroup::Begins(1) };
pub(crate) const SERVER: Secure = Secure { role: TlsRole::Server, ..CLIENT };

pub(crate) const fn joins(secure: Secure, group: u64) -> Secure {
    Secure { sessions: SessionGroup::Joins(group), ..secure }
}

/// What an application knows of one association.
#[derive(Default, Debug)]
pub(crate) struct Known {
    pub(crate) opened: bool,
    pub(crate) octets: Vec<u8>,
    pub(crate) outcomes: Vec<Result<u32, CommandError>>,
    pub(crate) finished: bool,
    pub(crate) ended: Option<Ended>,
    /// Credit downward.
    pub(crate) room: usize,
    /// What is to be sent, and whether it is finished then.
    pub(crate) outgoing: Vec<u8>,
    pub(crate) finishes: bool,
}

/// An application: it sends what it has as soon as there is credit.
#[derive(Default, Debug)]
pub(crate) struct Side(pub(crate) BTreeMap<Handle, Known>);

impl Application<Stack> for Side {
    fn hear(&mut self, _: &Context, told: Told<M>, asks: &mut Asks<Stack>) {
        let name = told.name();
        let known = self.0.entry(name).or_default();
        assert!(known.ended.is_none(), "the last word was said: {told:?}");
        match told {
            Told::Opened { credit, .. } => (known.opened, known.room) = (true, credit.octets),
            Told::Credit { credit, .. } => known.room += credit.octets,
            Told::Delivered { batch, .. } => {
                let octets = batch.octets();
                let start = known.octets.len();
                known.octets.resize(start + octets, 0);
                batch.into_octets().copy_to(&mut known.octets[start..]);
                asks.push_back(Ask::Credit {
                    association: name,
                    credit: Credit::of_octets(octets),
                });
            }
            Told::Controlled { outcome, .. } => known.outcomes.push(outcome),
            Told::Finished { .. } => {
                assert!(!known.finished, "told once");
                known.finished = true;
            }
            Told::Ended { why, .. } => {
                known.ended = Some(why);
                return;
            }
            Told::Listening { .. }
            | Told::Changed { .. }
            | Told::Reported { .. }
            | Told::Ending { .. } => {}
        }
        known.go_on(name, asks);
    }
}

impl Known {
    fn go_on(&mut self, name: Handle, asks: &mut Asks<Stack>) {
        while self.room > 0 && !self.outgoing.is_empty() {
            let octets = self.outgoing.len().min(self.room);
            self.room -= octets;
            let message = M::with_headroom(64, &self.outgoing[..octets]);
            self.outgoing.drain(..octets);
            asks.push_back(Ask::Send {
                association: name,
                batch: message.into(),
                properties: StreamProperties::default(),
            });
        }
        if self.opened && self.outgoing.is_empty() && std::mem::take(&mut self.finishes) {
            asks.push_back(Ask::Finish { association: name });
        }
    }
}

/// Two stations: a client and a server.
pub(crate) struct Pair {
    pub(crate) world: World<M>,
    pub(crate) stations: [Station; 2],
}

impl Pair {
    pub(crate) fn new(seed: u64, configs: [Config; 2], habits: Habits) -> Self {
        let mut world = World::new(seed);
        let delay = Duration::from_millis(10);
        world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
        let [one, other] = configs;
        let stations = [(HERE, one), (THERE, other)].map(|(address, config)| {
            let streams = SimulatedStreams::with_habits(address, habits);
            world.add(address, Over::new(Tls::new(config), streams), Side::default())
        });
        let local = SocketAddr::new(THERE, 7).into();
        world.ask(stations[1], Ask::Listen { listener: LISTENER, local });
        Pair { world, stations }
    }

    /// Opens the association of this index, from the first station.
    pub(crate) fn open(&mut self, index: u32, credit: usize) {
        let (credit, remote) = (Credit::of_octets(credit), SocketAddr::new(THERE, 7).into());
        let association = name(index);
        self.ask(1, Ask::Await { listener: LISTENER, association, credit });
        self.ask(0, Ask::Open { association, remote, local: None, credit });
    }

    pub(crate) fn ask(&mut self, side: usize, ask: Ask<M>) {
        self.world.ask(self.stations[side], ask);
    }

    pub(crate) fn secure(&mut self, side: usize, index: u32, secure: Secure) {
        let command = Command::Secure(secure);
        self.ask(side, Ask::Control { association: name(index), command });
    }

    /// Opens an association and secures it at both ends.
    pub(crate) fn open_secure(&mut self, index: u32, client: Secure, server: Secure) {
        self.open(index, 1 << 16);
        self.secure(0, index, client);
        self.secure(1, index, server);
    }

    pub(crate) fn known(&mut self, side: usize, index: u32) -> &mut Known {
        self.world.application_mut(self.stations[side]).0.entry(name(index)).or_default()
    }

    /// Has a side send this, and finish.
    pub(crate) fn sends(&mut self, side: usize, index: u32, octets: &[u8], finishes: bool) {
        let known = self.known(side, index);
        known.outgoing.extend_from_slice(octets);
        known.finishes = finishes;
        let mut asks = Asks::<Stack>::new();
        known.go_on(name(index), &mut asks);
        for ask in asks {
            self.ask(side, ask);
        }
    }

    pub(crate) fn run(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
    }
}

/// Octets that are different wherever one looks.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(length as u64);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}
