//! TCP as a layer: stations of a world, with a listener or without.

use std::net::{IpAddr, SocketAddr};

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Duration, Handle, Protocol};
use stackwright_simulator::{
    Application, Asks, Conditions, Reorder, SimulatedDatagrams, SimulatedHosts, StationId, World,
    seeds,
};
use stackwright_tcp::{Config, TcpLayer, layer};
use stackwright_wire::Message;

use crate::scene::{M, octets};

pub(crate) type Stack = Over<TcpLayer<M>, Over<SimulatedHosts<M>, SimulatedDatagrams<M>>>;

pub(crate) const LISTENER: Handle = Handle { index: 0, generation: 0 };
pub(crate) const CREDIT: Credit = Credit { octets: 1 << 16, messages: 0 };
pub(crate) const PORT: u16 = 80;

pub(crate) const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// How a side ends its connections.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ends {
    /// Closes its half when it has said all.
    Finishes,
    /// Closes both halves when the peer has closed its half.
    ClosesLast,
    /// Aborts when it has heard something.
    Aborts,
}

/// One connection of a station.
#[derive(Default)]
pub(crate) struct Side {
    credit: usize,
    pub(crate) said: usize,
    is_done: bool,
    pub(crate) heard: Vec<u8>,
    finished: bool,
    pub(crate) ended: Option<Ended>,
}

/// A station that says as many octets on each connection.
pub(crate) struct Talker {
    says: Vec<u8>,
    ends: Ends,
    pub(crate) sides: Vec<Side>,
}

impl Talker {
    pub(crate) fn new(count: usize, says: Vec<u8>, ends: Ends) -> Self {
        Talker { says, ends, sides: (0..count).map(|_| Side::default()).collect() }
    }
}

impl<P: Protocol<Provides = Streams<M>>> Application<P> for Talker {
    fn hear(&mut self, _: &Context, indication: StreamsIndication<M>, asks: &mut Asks<P>) {
        let association = indication.name();
        if association == LISTENER {
            return;
        }
        let side = &mut self.sides[association.index as usize - 1];
        match indication {
            StreamsIndication::Opened { credit, .. } | StreamsIndication::Credit { credit, .. } => {
                side.credit += credit.octets;
            }
            StreamsIndication::Delivered { batch, .. } => {
                let octets = batch.into_octets();
                let from = side.heard.len();
                side.heard.resize(from + octets.len(), 0);
                octets.copy_to(&mut side.heard[from..]);
                let credit = Credit::of_octets(octets.len());
                asks.push_back(StreamsRequest::Credit { association, credit });
                if self.ends == Ends::Aborts && !side.is_done {
                    side.is_done = true;
                    asks.push_back(StreamsRequest::Abort { association, code: 7 });
                }
            }
            StreamsIndication::Finished { .. } => side.finished = true,
            StreamsIndication::Ended { why, .. } => side.ended = Some(why),
            _ => {}
        }
        if side.is_done || side.ended.is_some() {
            return;
        }
        let now = side.credit.min(self.says.len() - side.said);
        if now > 0 {
            let batch = M::with_headroom(64, &self.says[side.said..side.said + now]).into();
            (side.said, side.credit) = (side.said + now, side.credit - now);
            let properties = Default::default();
            asks.push_back(StreamsRequest::Send { association, batch, properties });
        }
        if side.said < self.says.len() {
            return;
        }
        match self.ends {
            Ends::Finishes => asks.push_back(StreamsRequest::Finish { association }),
            Ends::ClosesLast if side.finished => {
                asks.push_back(StreamsRequest::Close { name: association });
            }
            _ => return,
        }
        side.is_done = true;
    }
}

pub(crate) struct Scene {
    pub(crate) world: World<M>,
    pub(crate) stations: [StationId<Stack, Talker>; 2],
}

impl Scene {
    /// The first station opens connections to the second, which listens for as many as it has
    /// sides.
    fn new(seed: u64, conditions: Conditions, talkers: [Talker; 2]) -> Self {
        let config = |last| Config { tries: 12, ..Config::new([last; 16]) };
        let mut scene = Scene::of(seed, conditions, talkers, config);
        scene.opens();
        scene
    }

    pub(crate) fn of(
        seed: u64,
        conditions: Conditions,
        talkers: [Talker; 2],
        config: impl Fn(u8) -> Config,
    ) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        let counts = talkers.each_ref().map(|talker| talker.sides.len() as u32);
        let mut last = 0;
        let stations = talkers.map(|talker| {
            last += 1;
            let address = IpAddr::from([10, 0, 0, last]);
            let credit = Credit { octets: 16 << 10, messages: 8 };
            let below = SimulatedDatagrams::new(address, credit);
            let below = Over::new(SimulatedHosts::new(address, 6), below);
            world.add(address, Over::new(layer(config(last), seed), below), talker)
        });
        let local = SocketAddr::from(([10, 0, 0, 2], PORT)).into();
        if counts[1] > 0 {
            world.ask(stations[1], StreamsRequest::Listen { listener: LISTENER, local });
        }
        for index in 1..=counts[1] {
            let (listener, association) = (LISTENER, name(index));
            let credit = CREDIT;
            world.ask(stations[1], StreamsRequest::Await { listener, association, credit });
        }
        Scene { world, stations }
    }

    /// Opens the connections of the first station.
    pub(crate) fn opens(&mut self) {
        let remote = SocketAddr::from(([10, 0, 0, 2], PORT)).into();
        for index in 1..=self.sides(0).len() as u32 {
            let (association, local, credit) = (name(index), None, CREDIT);
            let opens = StreamsRequest::Open { association, remote, local, credit };
            self.world.ask(self.stations[0], opens);
        }
    }

    pub(crate) fn sides(&self, station: usize) -> &[Side] {
        &self.world.application(self.stations[station]).sides
    }

    /// Passes time until all connections of the station are over.
    fn until_over(&mut self, station: usize, seed: u64) {
        let id = self.stations[station];
        let over =
            |world: &World<M>| world.application(id).sides.iter().all(|side| side.ended.is_some());
        assert!(self.world.run_until(over, Duration::from_secs(900)), "seed {seed}: not over");
        assert_eq!(self.world.stack(id).upper.associations(), 0, "seed {seed}");
    }
}

pub(crate) fn bad(random: &mut Rng) -> Conditions {
    Conditions {
        delay: Duration::from_millis(random.u64(0..20)),
        jitter: Duration::from_millis(random.u64(0..30)),
        loss: (random.f64() * 0.15).into(),
        duplicate: random.f64() * 0.1,
        reorder: Reorder {
            probability: random.f64() * 0.1,
            by: Duration::from_millis(random.u64(1..80)),
        },
        corrupt: random.f64() * 0.05,
        ..Conditions::IDEAL
    }
}

#[test]
fn connections_carry_octets_both_ways_and_end_in_good_order() {
    for seed in seeds(if cfg!(debug_assertions) { 100 } else { 2000 }) {
        let mut random = Rng::with_seed(seed);
        let count = random.usize(1..4);
        let says = [(); 2].map(|()| octets(random.usize(0..40_000)));
        let ends = if random.bool() { Ends::Finishes } else { Ends::ClosesLast };
        let [one, other] = says.clone();
        let talkers = [Talker::new(count, one, Ends::Finishes), Talker::new(count, other, ends)];
        let mut scene = Scene::new(seed, bad(&mut random), talkers);
        (0..2).for_each(|station| scene.until_over(station, seed));
        for station in 0..2 {
            for side in scene.sides(station) {
                // A datagram socket that is closed hears no FIN that comes again: then nobody says
                // that the last octets arrived.
                let unheard = station == 1 && side.ended == Some(Ended::Expired);
                let well = side.ended == Some(Ended::Finished) || unheard;
                let heard = side.heard.len();
                assert!(well, "seed {seed}, {station}: {:?}, {heard} octets", side.ended);
                assert!(side.heard == says[1 - station], "seed {seed}: {}", side.heard.len());
                assert!(side.finished || ends == Ends::ClosesLast && station == 1);
            }
        }
    }
}

/// RFC 9293 §3.10.7.1.
#[test]
fn a_port_that_nobody_listens_at_resets() {
    let nobody = Talker::new(0, Vec::new(), Ends::Finishes);
    let talkers = [Talker::new(3, octets(100), Ends::Finishes), nobody];
    let mut scene = Scene::new(1, Conditions::IDEAL, talkers);
    let local = SocketAddr::from(([10, 0, 0, 2], PORT + 1)).into();
    scene.world.ask(scene.stations[1], StreamsRequest::Listen { listener: LISTENER, local });
    scene.until_over(0, 1);
    let refused = scene.sides(0).iter().filter(|side| side.ended == Some(Ended::Refused(0)));
    assert_eq!(refused.count(), 3);
}

/// A backlog that is full drops what asks: it asks again, and is served when another has gone.
#[test]
fn who_finds_no_name_tries_again() {
    let talkers =
        [Talker::new(3, octets(100), Ends::Finishes), Talker::new(1, octets(100), Ends::Finishes)];
    let mut scene = Scene::new(1, Conditions::IDEAL, talkers);
    scene.world.run_for(Duration::from_secs(10));
    let ends = |scene: &Scene| scene.sides(0).iter().filter(|side| side.ended.is_some()).count();
    assert_eq!(ends(&scene), 1);
    for index in [2, 3] {
        let (listener, association, credit) = (LISTENER, name(index), CREDIT);
        let awaits = StreamsRequest::Await { listener, association, credit };
        scene.world.ask(scene.stations[1], awaits);
        scene.world.application_mut(scene.stations[1]).sides.push(Side::default());
    }
    scene.until_over(0, 1);
    assert!(scene.sides(0).iter().all(|side| side.ended == Some(Ended::Finished)));
}

/// RFC 9293 §3.10.5.
#[test]
fn an_abort_resets_the_peer() {
    let talkers = [
        Talker::new(1, octets(10_000), Ends::Aborts),
        Talker::new(1, octets(1 << 20), Ends::Finishes),
    ];
    let mut scene = Scene::new(1, Conditions::IDEAL, talkers);
    (0..2).for_each(|station| scene.until_over(station, 1));
    assert_eq!(scene.sides(0)[0].ended, Some(Ended::Aborted));
    assert_eq!(scene.sides(1)[0].ended, Some(Ended::Reset(0)));
}

/// RFC 9293 §3.8.3.
#[test]
fn a_peer_that_is_silent_is_unreachable() {
    let talkers =
        [Talker::new(1, Vec::new(), Ends::Finishes), Talker::new(1, Vec::new(), Ends::Finishes)];
    let conditions = Conditions { loss: 1.0.into(), ..Conditions::IDEAL };
    let mut scene = Scene::new(1, conditions, talkers);
    let id = scene.stations[0];
    let over = |world: &World<M>| world.application(id).sides[0].ended.is_some();
    assert!(scene.world.run_until(over, Duration::from_secs(900_000)));
    assert_eq!(scene.sides(0)[0].ended, Some(Ended::Unreachable));
}
