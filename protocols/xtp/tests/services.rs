//! What each service costs and keeps, between two stations of a world.

use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{
    Application, Asks, Conditions, Deed, Event, SimulatedDatagrams, StationId, World,
};
use stackwright_wire::{BufferTree, Message};
use stackwright_xtp::services::{
    AcknowledgedDatagram, Connection, Transaction, UnacknowledgedDatagram, XtpService,
};
use stackwright_xtp::{Config, Layer, layer};

type M = BufferTree;
type Stack<S> = Over<Layer<M, S>, SimulatedDatagrams<M>>;

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
const LISTENER: Handle = Handle { index: 1000, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };
const REQUEST: &[u8] = &[7; 100];

/// The octets of IPv4's and UDP's headers, which traffic counts.
const BELOW: u64 = 20 + 8;

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

/// One side: what it says when it is open, and to what it hears.
#[derive(Clone, Copy)]
struct Manner {
    opening: &'static [u8],
    /// How often that is said.
    times: usize,
    answer: &'static [u8],
    closes_when_said: bool,
    closes_when_heard: bool,
}

const LISTENS: Manner = Manner {
    opening: &[],
    times: 0,
    answer: &[],
    closes_when_said: false,
    closes_when_heard: false,
};

struct Side {
    manner: Manner,
    heard: Vec<Vec<u8>>,
    opened: u32,
    ended: Vec<(Handle, Ended)>,
}

impl Side {
    fn new(manner: Manner) -> Self {
        Side { manner, heard: Vec::new(), opened: 0, ended: Vec::new() }
    }
}

fn say<S: Service>(association: Handle, octets: &[u8], asks: &mut Asks<Stack<S>>) {
    let batch = M::with_headroom(128, octets).into();
    asks.push_back(DatagramsRequest::Send { association, batch, properties: Default::default() });
}

/// Services of messages.
trait Service: XtpService<Transfer<M> = Datagrams<M>> {}
impl<S: XtpService<Transfer<M> = Datagrams<M>>> Service for S {}

impl<S: Service> Application<Stack<S>> for Side {
    fn hear(&mut self, _: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<Stack<S>>) {
        match indication {
            DatagramsIndication::Opened { association, .. } => {
                self.opened += 1;
                for _ in 0..self.manner.times {
                    say::<S>(association, self.manner.opening, asks);
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

struct Scene<S: Service> {
    world: World<M>,
    client: StationId<Stack<S>, Side>,
    server: StationId<Stack<S>, Side>,
}

impl<S: Service> Scene<S> {
    /// The client opens `opened` associations, and the server awaits more.
    fn new(seed: u64, conditions: Conditions, opened: u32, manners: [Manner; 2]) -> Self {
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
        let local = SocketAddr::from((SERVER, 7)).into();
        world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local });
        for index in 0..opened + 5 {
            let (listener, association) = (LISTENER, name(index));
            world.ask(server, DatagramsRequest::Await { listener, association, credit: ROOM });
        }
        for index in 0..opened {
            let (association, remote) = (name(index), local);
            world.ask(
                client,
                DatagramsRequest::Open { association, remote, local: None, credit: ROOM },
            );
        }
        Scene { world, client, server }
    }

    fn run(&mut self, seconds: u64) {
        let over = self.world.run_until(|_| false, Duration::from_secs(seconds));
        assert!(!over, "nothing ends it but time");
    }

    fn side(&self, station: StationId<Stack<S>, Side>) -> &Side {
        self.world.application(station)
    }

    /// How many packets went there, and came back.
    fn packets(&self) -> (u64, u64) {
        let network = self.world.network();
        (network.traffic(CLIENT, SERVER).packets, network.traffic(SERVER, CLIENT).packets)
    }
}

const SAYS_ONE: Manner = Manner { opening: REQUEST, times: 1, closes_when_said: true, ..LISTENS };

/// Asks, and leaves with the answer.
const ASKS: Manner = Manner { opening: REQUEST, times: 1, closes_when_heard: true, ..LISTENS };
const ANSWERS: Manner = Manner { answer: &[9; 3000], closes_when_heard: true, ..LISTENS };

#[test]
fn an_acknowledged_datagram_takes_two_packets() {
    let mut scene =
        Scene::<AcknowledgedDatagram>::new(1, Conditions::IDEAL, 1, [SAYS_ONE, LISTENS]);
    scene.run(200);
    assert_eq!(scene.packets(), (1, 1));
    assert_eq!(scene.side(scene.server).heard, [REQUEST]);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Finished)]);
    }
}

#[test]
fn an_unacknowledged_datagram_takes_one_packet() {
    let mut scene =
        Scene::<UnacknowledgedDatagram>::new(1, Conditions::IDEAL, 1, [SAYS_ONE, LISTENS]);
    scene.run(200);
    assert_eq!(scene.packets(), (1, 0));
    assert_eq!(scene.side(scene.server).heard, [REQUEST]);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Finished)]);
    }
}

#[test]
fn what_nobody_acknowledges_rises_and_ends_though_its_end_is_lost() {
    let says = Manner { times: 20, ..SAYS_ONE };
    for seed in 0..100 {
        let conditions = Conditions { loss: 0.3.into(), ..Conditions::IDEAL };
        let mut scene = Scene::<UnacknowledgedDatagram>::new(seed, conditions, 1, [says, LISTENS]);
        scene.run(200);
        let server = scene.side(scene.server);
        assert!(server.heard.len() <= 20 && server.opened <= 1, "seed {seed}");
        assert_eq!(server.opened as usize, server.ended.len(), "seed {seed}");
        assert_eq!(scene.packets().1, 0, "seed {seed}: nobody answers");
    }
}

#[test]
fn a_transaction_is_a_request_and_its_answer() {
    let mut scene = Scene::<Transaction>::new(1, Conditions::IDEAL, 1, [ASKS, ANSWERS]);
    scene.run(200);
    assert_eq!(scene.side(scene.server).heard, [REQUEST]);
    assert_eq!(scene.side(scene.client).heard, [[9; 3000]]);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Finished)]);
    }
}

/// Links that lose, double and reorder: each request is heard once.
fn each_is_heard_once<S: Service>(manners: [Manner; 2], answered: bool) {
    for seed in 0..100 {
        let conditions = Conditions {
            loss: 0.1.into(),
            duplicate: 0.1,
            jitter: Duration::from_millis(seed % 30),
            ..Conditions::IDEAL
        };
        let mut scene = Scene::<S>::new(seed, conditions, 8, manners);
        scene.run(400);
        let (client, server) = (scene.side(scene.client), scene.side(scene.server));
        assert_eq!((server.heard.len(), server.opened), (8, 8), "seed {seed}");
        assert_eq!(client.heard.len(), if answered { 8 } else { 0 }, "seed {seed}");
        for side in [client, server] {
            assert_eq!(side.ended.len(), 8, "seed {seed}: {:?}", side.ended);
            let finished = side.ended.iter().all(|(_, why)| *why == Ended::Finished);
            assert!(finished, "seed {seed}: {:?}", side.ended);
        }
    }
}

#[test]
fn acknowledged_datagrams_are_heard_once_on_bad_links() {
    each_is_heard_once::<AcknowledgedDatagram>([SAYS_ONE, LISTENS], false);
}

#[test]
fn requests_are_heard_and_answered_once_on_bad_links() {
    each_is_heard_once::<Transaction>([ASKS, ANSWERS], true);
}

#[test]
fn a_copy_of_a_first_makes_no_other_context() {
    let by = Duration::from_secs(20);
    let mut scene =
        Scene::<AcknowledgedDatagram>::new(1, Conditions::IDEAL, 1, [SAYS_ONE, LISTENS]);
    let twice = vec![Event { nth: 0, deed: Deed::Duplicate { by } }];
    scene.world.network_mut().script(CLIENT, SERVER, twice);
    scene.run(100);
    let server = scene.side(scene.server);
    assert_eq!((server.heard.len(), server.opened), (1, 1));
}

/// A forged source gets no more than three octets for one.
fn a_stranger_costs<S: Service>() {
    let pours = Manner { answer: &[1; 1000], opening: &[2; 1000], times: 30, ..LISTENS };
    let says = Manner { closes_when_said: false, ..SAYS_ONE };
    let mut scene = Scene::<S>::new(1, Conditions::IDEAL, 1, [says, pours]);
    // The client hears nothing at all.
    let deaf = (0..10_000).map(|nth| Event { nth, deed: Deed::Lose }).collect();
    scene.world.network_mut().script(SERVER, CLIENT, deaf);
    scene.run(400);
    let network = scene.world.network();
    let payload = |from, to| {
        let traffic = network.traffic(from, to);
        traffic.octets - traffic.packets * BELOW
    };
    let (heard, said) = (payload(CLIENT, SERVER), payload(SERVER, CLIENT));
    assert!(heard > 0 && said > 0, "{heard}, {said}");
    assert!(said <= 3 * heard, "service {}: {said} octets for {heard}", S::NUMBER);
}

#[test]
fn a_stranger_costs_three_octets_for_one() {
    a_stranger_costs::<Connection>();
    a_stranger_costs::<Transaction>();
    a_stranger_costs::<AcknowledgedDatagram>();
}

static OCTETS: [u8; 9000] = [5; 9000];

/// The bound on what a stranger costs is met by a question, not by a silence that only a timeout
/// ends.
#[test]
fn a_side_that_answers_much_or_speaks_first_waits_for_no_timeout() {
    for said in [0, 1, 20, 21, 100, 500, 1400, 4000, 9000] {
        for heard in [0, 1, 60, 100, 500, 1400] {
            let asks = Manner { opening: &OCTETS[..heard], times: (heard > 0).into(), ..LISTENS };
            let speaks = Manner { opening: &OCTETS[..said], times: (said > 0).into(), ..LISTENS };
            let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, [asks, speaks]);
            // The first timeout is a second.
            let over = scene.world.run_until(|_| false, Duration::from_millis(900));
            assert!(!over, "nothing ends it but time");
            let [client, server] = [scene.client, scene.server].map(|side| scene.side(side));
            let arrived = [client, server].map(|side| side.heard.concat().len());
            assert_eq!(arrived, [said, heard]);
        }
    }
}

/// Each of the first packets is lost once, and nothing waits longer than the first timeout.
#[test]
fn what_is_said_is_said_again_by_its_own_timeout() {
    let speaks = Manner { opening: REQUEST, times: 1, ..LISTENS };
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        for nth in 0..8 {
            for manners in [[LISTENS, speaks], [speaks, LISTENS], [speaks, ANSWERS]] {
                let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, manners);
                let lost = vec![Event { nth, deed: Deed::Lose }];
                scene.world.network_mut().script(from, to, lost);
                let over = scene.world.run_until(|_| false, Duration::from_millis(2500));
                assert!(!over, "nothing ends it but time");
                let heard = [scene.client, scene.server].map(|side| scene.side(side).heard.len());
                let said = manners.map(|manner| manner.times);
                let answers = if manners[1].answer.is_empty() { 0 } else { 1 };
                assert_eq!(heard, [said[1] + answers, said[0]], "{nth} from {from}");
            }
        }
    }
}

/// What is said after a silence is not forgotten if it is lost.
#[test]
fn what_is_lost_after_a_silence_is_said_again() {
    for nth in 0..6 {
        for silence in [1, 10, 30] {
            let manners = [SAYS_ONE, LISTENS];
            let manners = manners.map(|manner| Manner { closes_when_said: false, ..manner });
            let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, manners);
            scene.run(silence);
            let (_, said) = scene.packets();
            let lost = vec![Event { nth: said + nth, deed: Deed::Lose }];
            scene.world.network_mut().script(SERVER, CLIENT, lost);
            let association = name(0);
            let batch = M::with_headroom(128, REQUEST).into();
            let properties = Default::default();
            let send = DatagramsRequest::Send { association, batch, properties };
            scene.world.ask(scene.server, send);
            scene.run(3);
            assert_eq!(scene.side(scene.client).heard, [REQUEST], "{nth}, {silence} s");
        }
    }
}

#[test]
fn an_idle_peer_is_asked_and_a_vanished_one_is_told_of() {
    let says = Manner { closes_when_said: false, ..SAYS_ONE };
    let mut scene = Scene::<Connection>::new(1, Conditions::IDEAL, 1, [says, LISTENS]);
    scene.run(600);
    let before = scene.packets();
    assert!(before.0 > 20, "{before:?}: it is asked every 20 s");
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [], "it is there");
    }
    scene.world.network_mut().set_conditions(Conditions { loss: 1.0.into(), ..Conditions::IDEAL });
    scene.run(120);
    for station in [scene.client, scene.server] {
        assert_eq!(scene.side(station).ended, [(name(0), Ended::Expired)]);
    }
}
