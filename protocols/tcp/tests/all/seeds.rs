//! The trial of seeds: a connection meets all that paths, peers and attackers do.
//!
//! Whatever happens, what is delivered is the beginning of what was sent, in order; the right edge
//! of a window never moves back; what waits in an end is bounded; each name has its last word; and
//! where nothing happened that may end a connection, all arrives.

use std::net::{IpAddr, SocketAddr};

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, StreamsRequest,
};
use stackwright_contract::{Context, Duration, Facts, Guarantees, Outlet, Protocol};
use stackwright_simulator::{
    Conditions, DriftingClock, SimulatedDatagrams, SimulatedHosts, StationId, World, seeds,
};
use stackwright_tcp::options::{TcpOption, TcpOptions};
use stackwright_tcp::{Config, SEGMENT_LEAST, TcpLayer, layer};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Tcp, pseudo_header};
use stackwright_wire::{Header, Message};

use crate::layers::{Ends, LISTENER, PORT, Side, Talker, bad, name};
use crate::scene::{M, octets};

/// Between TCP and its hosts: sees what leaves and arrives, and forges.
struct Wiretap {
    ends: [IpAddr; 2],
    random: Rng,
    /// The share of arrivals after which a forged segment arrives.
    forges: f64,
    /// The first numbers of this side and of its peer.
    first: [Option<u32>; 2],
    /// The shifts that both offer: without one of them, windows are not shifted.
    shift: [Option<u8>; 2],
    /// The right edge of the last window of this side.
    edge: Option<u32>,
    /// The number up to which the peer has acknowledged.
    acknowledged: u32,
}

fn octets_of(message: &M) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

/// Returns whether `number` is higher than `other`; numbers wrap.
fn exceeds(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) as i32 > 0
}

fn shift_of(segment: &[u8], header: &Tcp) -> Option<u8> {
    TcpOptions::new(&segment[Tcp::LENGTH..4 * usize::from(header.data_offset)]).find_map(|option| {
        match option {
            TcpOption::WindowScale(shift) => Some(shift),
            _ => None,
        }
    })
}

impl Wiretap {
    fn new(last: u8, random: &mut Rng, forges: f64) -> Self {
        Wiretap {
            ends: [last, 3 - last].map(|last| IpAddr::from([10, 0, 0, last])),
            random: Rng::with_seed(random.u64(..)),
            forges,
            first: [None; 2],
            shift: [None; 2],
            edge: None,
            acknowledged: 0,
        }
    }

    fn leaves(&mut self, segment: &[u8]) {
        let header = Tcp::decode(segment).expect("what leaves is a segment");
        if header.rst {
            return;
        }
        if header.syn {
            self.first[0] = Some(header.sequence_number);
            self.acknowledged = header.sequence_number.wrapping_add(1);
            self.shift[0] = shift_of(segment, &header);
        }
        if header.ack {
            let shift = match self.shift {
                [Some(own), Some(_)] if !header.syn => own,
                _ => 0,
            };
            let window = u32::from(header.window) << shift;
            let edge = header.acknowledgment_number.wrapping_add(window);
            // RFC 9293 §3.8.6.
            assert!(self.edge.is_none_or(|before| !exceeds(before, edge)), "a window shrinks");
            self.edge = Some(edge);
        }
    }

    /// Returns whether a segment arrived that its sender sent.
    fn arrives(&mut self, segment: &[u8]) -> bool {
        let [own, peer] = self.ends;
        let mut check = Internet::new();
        check.add(&pseudo_header(peer, own, 6, segment.len() as u32).to_be_bytes());
        check.add(segment);
        let Ok(header) = Tcp::decode(segment) else { return false };
        if check.value() != 0 || header.rst {
            return false;
        }
        if header.syn {
            self.first[1] = Some(header.sequence_number);
            self.shift[1] = shift_of(segment, &header);
        }
        if header.ack && exceeds(header.acknowledgment_number, self.acknowledged) {
            self.acknowledged = header.acknowledgment_number;
        }
        true
    }

    /// Returns how many octets the peer may have sent, and how many it has acknowledged; a FIN
    /// counts as one.
    fn upto(&self) -> [usize; 2] {
        let [own, peer] = self.first.map(|first| first.unwrap_or(0).wrapping_add(1));
        let promised = self.first[1].and(self.edge).map_or(0, |edge| edge.wrapping_sub(peer));
        [promised as usize, self.acknowledged.wrapping_sub(own) as usize]
    }

    fn forged(&mut self, segment: &[u8]) -> Option<M> {
        let mut header = Tcp::decode(segment).ok()?;
        // In SYN-SENT any SYN is believed that has the right ports.
        self.first[1]?;
        let random = &mut self.random;
        // Off the path, no more than one of the numbers is right by chance; then it is no reset.
        let far = 1 << random.u8(29..32);
        (header.rst, header.syn, header.fin) = (random.bool(), random.bool(), random.bool());
        match random.u8(..3) {
            0 => header.sequence_number = header.sequence_number.wrapping_add(far),
            1 => {
                header.acknowledgment_number = header.acknowledgment_number.wrapping_add(far);
                header.rst = false;
            }
            _ => {
                (header.sequence_number, header.acknowledgment_number) =
                    (random.u32(..), random.u32(..))
            }
        }
        header.ack = random.bool();
        (header.window, header.data_offset) = (random.u16(..), 5);
        header.checksum = 0;
        let mut octets = vec![0; Tcp::LENGTH + random.usize(..100)];
        header.encode(&mut octets);
        let [own, peer] = self.ends;
        let sum = pseudo_header(peer, own, 6, octets.len() as u32);
        octets[16..18].copy_from_slice(&sum.to_be_bytes());
        let check = Internet::of(&octets).to_be_bytes();
        octets[16..18].copy_from_slice(&check);
        Some(M::with_headroom(64, &octets))
    }
}

impl Protocol for Wiretap {
    const FACTS: Facts = Facts { passes: Guarantees::ALL, ..Facts::named("wiretap") };
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsRequest::Send { batch, .. } = &request {
            self.leaves(&octets_of(batch.as_octets()));
        }
        out.request(request);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let DatagramsIndication::Delivered { association, batch, properties } = &indication else {
            return out.indicate(indication);
        };
        let segment = octets_of(batch.as_octets());
        let is_whole = self.arrives(&segment);
        let (association, properties) = (*association, *properties);
        out.indicate(indication);
        while is_whole && self.random.f64() < self.forges {
            let Some(forged) = self.forged(&segment) else { return };
            let batch = forged.into();
            out.indicate(DatagramsIndication::Delivered { association, batch, properties });
        }
    }
}

type Stack = Over<TcpLayer<M>, Over<Wiretap, Over<SimulatedHosts<M>, SimulatedDatagrams<M>>>>;

/// What befalls the connection next.
#[derive(Clone, Debug)]
enum Befalls {
    /// The link loses, doubles, reorders, alters, and drops what is longer than its MTU.
    Conditions(Box<Conditions>),
    /// Nothing passes for a time.
    BlackHole(Duration),
    /// A station does not run for a time.
    Suspended(usize, Duration),
    /// From now on nothing passes to a station: a translator forgot it, or a firewall.
    SilentMiddle(usize),
}

/// How long nothing passes, or runs, in milliseconds: four times that is less than TIME-WAIT.
const LONGEST: u64 = 12_000;

impl Befalls {
    fn any(random: &mut Rng) -> Self {
        match random.u8(..16) {
            0..8 => {
                let mtu = random.bool().then(|| random.usize(604..1600));
                Befalls::Conditions(Box::new(Conditions { mtu, ..bad(random) }))
            }
            8..11 => Befalls::BlackHole(Duration::from_millis(random.u64(..LONGEST))),
            11..15 => {
                let time = Duration::from_millis(random.u64(..LONGEST));
                Befalls::Suspended(random.usize(..2), time)
            }
            _ => Befalls::SilentMiddle(random.usize(..2)),
        }
    }
}

struct Scene {
    world: World<M>,
    stations: [StationId<Stack, Talker>; 2],
    /// The most that each may hold of what is received, and of what is sent.
    most: [[usize; 2]; 2],
}

impl Scene {
    fn new(seed: u64, random: &mut Rng, talkers: [Talker; 2], forges: f64) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(bad(random));
        let mut last = 0;
        let stations = talkers.map(|talker| {
            last += 1;
            let config = any_config(random, last);
            let address = IpAddr::from([10, 0, 0, last]);
            let room = Credit { octets: 16 << 10, messages: 8 };
            let below = SimulatedDatagrams::new(address, room);
            let below = Over::new(SimulatedHosts::new(address, 6), below);
            let below = Over::new(Wiretap::new(last, random, forges), below);
            let tcp = layer(config, random.u64(..));
            let station = world.add(address, Over::new(tcp, below), talker);
            world.set_clock(station, DriftingClock { drift: random.i64(-20_000..20_000) });
            (station, [config.window_most as usize, config.send.octets])
        });
        let (stations, most) = (stations.map(|(id, _)| id), stations.map(|(_, most)| most));
        let local = SocketAddr::from(([10, 0, 0, 2], PORT)).into();
        let [client, server] = stations;
        let [credit, other] = [(); 2].map(|()| Credit::of_octets(random.usize(1000..1 << 16)));
        world.ask(server, StreamsRequest::Listen { listener: LISTENER, local });
        let association = name(1);
        let awaits = StreamsRequest::Await { listener: LISTENER, association, credit };
        world.ask(server, awaits);
        let (remote, local, credit) = (local, None, other);
        world.ask(client, StreamsRequest::Open { association, remote, local, credit });
        Scene { world, stations, most }
    }

    fn side(world: &World<M>, id: StationId<Stack, Talker>) -> &Side {
        &world.application(id).sides[0]
    }

    fn befall(&mut self, what: &Befalls) {
        let Scene { world, stations, .. } = self;
        let nothing = Conditions { loss: 1.0.into(), ..Conditions::IDEAL };
        match what {
            Befalls::Conditions(conditions) => {
                world.network_mut().set_conditions((**conditions).clone());
            }
            Befalls::BlackHole(time) => {
                world.network_mut().set_conditions(nothing);
                self.passes(*time);
                self.world.network_mut().set_conditions(Conditions::IDEAL);
            }
            Befalls::Suspended(side, time) => world.suspend(stations[*side], *time),
            Befalls::SilentMiddle(side) => {
                let [to, from] = [1 + *side as u8, 2 - *side as u8];
                let [to, from] = [to, from].map(|last| IpAddr::from([10, 0, 0, last]));
                world.network_mut().set_link(from, to, nothing);
            }
        }
    }

    fn abort(&mut self) {
        for id in self.stations {
            if Self::side(&self.world, id).ended.is_none() {
                let (association, code) = (name(1), 0);
                self.world.ask(id, StreamsRequest::Abort { association, code });
            }
        }
    }

    /// Passes time until all is over, at most `limit`. Returns whether it is.
    fn passes(&mut self, limit: Duration) -> bool {
        let Scene { world, stations, most } = self;
        let over = |world: &World<M>| {
            for (id, [received, sent]) in stations.iter().zip(&*most) {
                let side = Self::side(world, *id);
                let [promised, acknowledged] = world.stack(*id).lower.upper.upto();
                let taken = promised.saturating_sub(side.heard.len());
                // What acknowledges the last FIN has any window.
                let is_over = side.ended.is_some();
                assert!(is_over || taken <= received + 1, "{taken} of {received} received");
                let held = side.said.saturating_sub(acknowledged);
                assert!(held <= *sent, "{held} of {sent} to be sent");
            }
            stations.iter().all(|id| Self::side(world, *id).ended.is_some())
        };
        world.run_until(over, limit)
    }
}

fn any_config(random: &mut Rng, last: u8) -> Config {
    let window_most = random.u32(2000..1 << 18);
    Config {
        segment: random.u16(SEGMENT_LEAST..1480),
        window: random.u32(2000..1 << 16),
        window_most,
        send: Credit { octets: random.usize(3000..1 << 16), messages: 64 },
        sack: random.u8(..4) > 0,
        timestamps: random.u8(..4) > 0,
        scales: random.u8(..4) > 0,
        tries: 12,
        ..Config::new([last; 16])
    }
}

/// Names the seed, wherever it is that a promise breaks.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with SEED={}", self.0);
        }
    }
}

/// `SEEDS=50` tries a hundred thousand, in a release build.
#[test]
fn whatever_befalls_a_connection_it_keeps_its_promises_and_ends() {
    for seed in seeds(2000) {
        let _named = Named(seed);
        let mut random = Rng::with_seed(seed);
        let says = [(); 2].map(|()| octets(random.usize(..12_000)));
        let ends = if random.bool() { Ends::Finishes } else { Ends::ClosesLast };
        let [one, other] = says.clone();
        let talkers = [Talker::new(1, one, Ends::Finishes), Talker::new(1, other, ends)];
        let forges = if random.bool() { 0.0 } else { 0.3 };
        let mut scene = Scene::new(seed, &mut random, talkers, forges);
        let faults = Vec::from_iter((0..random.usize(..5)).map(|_| Befalls::any(&mut random)));
        for what in &faults {
            scene.passes(Duration::from_millis(random.u64(..2000)));
            scene.befall(what);
        }
        scene.world.network_mut().set_conditions(Conditions::IDEAL);
        let fatal = |what: &Befalls| matches!(what, Befalls::SilentMiddle(_));
        let is_harmless = !faults.iter().any(fatal);
        let mut over = scene.passes(Duration::from_secs(900));
        if !over && !is_harmless {
            // Who only listens to a peer that is gone waits until its application gives up.
            scene.abort();
            over = scene.passes(Duration::from_secs(1));
        }
        assert!(over, "seed {seed}: not over, {faults:?}");
        for (station, id) in scene.stations.into_iter().enumerate() {
            let Side { heard, ended, .. } = Scene::side(&scene.world, id);
            let said = &says[1 - station];
            assert!(said.starts_with(heard), "seed {seed}: what was sent, {faults:?}");
            // A datagram socket that is closed hears no FIN that comes again: then nobody says that
            // the last octets arrived.
            let unheard = station == 1 && *ended == Some(Ended::Expired);
            let well = heard == said && (*ended == Some(Ended::Finished) || unheard);
            assert!(well || !is_harmless, "seed {seed}: {ended:?} {}, {faults:?}", heard.len());
            let tcp = &scene.world.stack(id).upper;
            assert_eq!(tcp.associations(), 0, "seed {seed}: nothing is left of it");
        }
    }
}
