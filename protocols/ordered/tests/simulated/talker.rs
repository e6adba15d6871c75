//! Two who talk over a stream, each as it likes, and the world between them.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, Streams, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{Context, Duration, Facts, Guarantees, Handle, Outlet, Protocol};
use stackwright_ordered::{Config, Ordered};
use stackwright_simulator::{
    Application, Asks, CheckedDatagrams, Conditions, Lanes, Reorder, SimulatedDatagrams, StationId,
    World,
};
use stackwright_wire::Message;

pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub(crate) const LISTENER: Handle = Handle { index: 0, generation: 0 };
pub(crate) const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
/// More than any timeout here.
pub(crate) const AGES: Duration = Duration::from_secs(3600);

/// Stands on datagrams of a network that neither loses nor doubles, and says so.
#[derive(Default)]
pub(crate) struct Sound<M>(PhantomData<M>);

impl<M: Message> Protocol for Sound<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ONCE),
        passes: Guarantees::CHECKED,
        ..Facts::named("sound")
    };
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        out.request(request);
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(indication);
    }
}

pub(crate) type Shuffled<M> = Over<Sound<M>, CheckedDatagrams<M>>;
pub(crate) type Stack<M> = Over<Ordered<M>, Shuffled<M>>;

pub(crate) fn shuffled<M: Message>(address: IpAddr, credit: Credit) -> Shuffled<M> {
    Over::new(Sound(PhantomData), SimulatedDatagrams::checked(address, credit))
}

/// A link that loses nothing, and brings nothing in order.
pub(crate) fn any_order(random: &mut Rng) -> Conditions {
    Conditions {
        delay: Duration::from_micros(random.u64(1..50_000)),
        jitter: Duration::from_micros(random.u64(0..100_000)),
        reorder: Reorder {
            probability: random.f64() * 0.3,
            by: Duration::from_millis(random.u64(1..400)),
        },
        ..Conditions::IDEAL
    }
}

/// How tight a world is: how many octets wait or are sent, at most.
#[derive(Clone, Copy)]
pub(crate) struct Tightness {
    most: usize,
    to_send: usize,
}

pub(crate) fn any_tightness(random: &mut Rng) -> Tightness {
    let (most, to_send) = [(8, 100), (900, 6000), (40_000, 120_000)][random.usize(..3)];
    Tightness { most, to_send: random.usize(1..to_send) }
}

/// A protocol, and the layer below, as tight as the world.
pub(crate) fn any_config(random: &mut Rng, Tightness { most, .. }: Tightness) -> (Config, Credit) {
    let config = Config {
        window: 128 + random.usize(..most),
        room: random.usize(1 + most / 20..most),
        piece: random.usize(1..most),
        timeout: Duration::from_secs(random.u64(5..60)),
    };
    (config, Credit { octets: random.usize(18..3 * most + 200), messages: random.usize(1..9) })
}

/// One with which a file comes to its end soon.
pub(crate) fn any_roomy_config(random: &mut Rng) -> (Config, Credit) {
    let (config, credit) = any_config(random, Tightness { most: 40_000, to_send: 0 });
    let Config { window, room: down, piece, .. } = config;
    let config = Config { window: window + 1000, room: down + 1000, piece: piece + 1000, ..config };
    (config, Credit { octets: credit.octets + 1000, ..credit })
}

/// The octet at a place of the stream that a side sends.
fn octet(side: u64, place: u64) -> u8 {
    (place + side).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) as u8
}

/// One side: what it shall send, what it has heard. The test says when it sends and reads.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Talker {
    side: u64,
    pub(crate) opened: bool,
    pub(crate) sent: u64,
    pub(crate) heard: u64,
    /// Room downward; upward; and how much of what was heard was not given back as room.
    down: usize,
    up: usize,
    unread: usize,
    /// The peer's finish; ours.
    pub(crate) finished: bool,
    pub(crate) finish_said: bool,
    pub(crate) ended: Option<Ended>,
    pub(crate) unlistened: bool,
}

impl Talker {
    fn new(side: u64, up: usize) -> Self {
        Talker {
            side,
            opened: false,
            sent: 0,
            heard: 0,
            down: 0,
            up,
            unread: 0,
            finished: false,
            finish_said: false,
            ended: None,
            unlistened: false,
        }
    }
}

impl<M: Message, P: Protocol<Provides = Streams<M>>> Application<P> for Talker {
    fn hear(&mut self, _cx: &Context, indication: StreamsIndication<M>, _asks: &mut Asks<P>) {
        let name = indication.name();
        if name == LISTENER {
            assert!(!self.unlistened, "one last word");
            self.unlistened = matches!(indication, StreamsIndication::Ended { .. });
            return;
        }
        assert_eq!((name, self.ended), (ASSOCIATION, None), "nothing behind the last word");
        match indication {
            StreamsIndication::Opened { credit: Credit { octets: credit, .. }, .. } => {
                assert!(!self.opened && credit > 0);
                (self.opened, self.down) = (true, credit);
            }
            StreamsIndication::Credit { credit: Credit { octets: credit, .. }, .. } => {
                assert!(self.opened && credit > 0);
                self.down += credit;
            }
            StreamsIndication::Delivered { batch, .. } => {
                let message = batch.into_octets();
                assert!(self.opened && !self.finished && !message.is_empty());
                assert!(message.len() <= self.up, "within the room");
                self.up -= message.len();
                self.unread += message.len();
                message.each(|octets| {
                    for one in octets {
                        assert_eq!(*one, octet(1 - self.side, self.heard), "in order");
                        self.heard += 1;
                    }
                });
            }
            StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
            StreamsIndication::Finished { .. } => {
                assert!(self.opened && !self.finished);
                self.finished = true;
            }
            StreamsIndication::Ended { why, .. } => self.ended = Some(why),
            StreamsIndication::Listening { .. } => unreachable!("a listener's"),
        }
    }
}

/// A server and a client, and what each of them shall send.
pub(crate) struct Scene<M, P> {
    pub(crate) world: World<M>,
    pub(crate) stations: [StationId<P, Talker>; 2],
    pub(crate) random: Rng,
    pub(crate) to_send: [u64; 2],
}

impl<M: Message, P: Protocol<Provides = Streams<M>, Uses: Lanes<M>> + 'static> Scene<M, P> {
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        Tightness { to_send: most, .. }: Tightness,
        mut random: Rng,
        stack: impl Fn(usize, IpAddr) -> P,
    ) -> Self {
        let mut world = World::new(seed);
        world.keep_trace();
        world.network_mut().set_conditions(conditions);
        let up = [0, 1].map(|_| random.usize(1 + most / 20..most + 2));
        let to_send = [0, 1].map(|_| random.u64(..most as u64));
        let server = world.add(SERVER, stack(0, SERVER), Talker::new(0, up[0]));
        let client = world.add(CLIENT, stack(1, CLIENT), Talker::new(1, up[1]));
        let local = SocketAddr::new(SERVER, 7).into();
        world.ask(server, StreamsRequest::Listen { listener: LISTENER, local });
        let (listener, association) = (LISTENER, ASSOCIATION);
        world.ask(
            server,
            StreamsRequest::Await { listener, association, credit: Credit::of_octets(up[0]) },
        );
        world.ask(
            client,
            StreamsRequest::Open {
                association,
                remote: local,
                local: None,
                credit: Credit::of_octets(up[1]),
            },
        );
        Scene { world, stations: [server, client], random, to_send }
    }

    pub(crate) fn talker(&self, side: usize) -> &Talker {
        self.world.application(self.stations[side])
    }

    pub(crate) fn ask(&mut self, side: usize, request: StreamsRequest<M>) {
        self.world.ask(self.stations[side], request);
    }

    pub(crate) fn abort(&mut self, side: usize) {
        self.ask(side, StreamsRequest::Abort { association: ASSOCIATION, code: 0 });
    }

    /// Ends it in good order, whatever it has sent; returns whether it was open.
    pub(crate) fn close(&mut self, side: usize) -> bool {
        let talker = self.world.application_mut(self.stations[side]);
        let opened = talker.opened;
        if opened && talker.ended.is_none() {
            talker.finish_said = true;
            self.ask(side, StreamsRequest::Close { name: ASSOCIATION });
        }
        opened
    }

    /// Sends a part of what it has, as room allows, and finishes behind the last.
    pub(crate) fn say(&mut self, side: usize) {
        let to_send = self.to_send[side];
        let talker = self.world.application_mut(self.stations[side]);
        if !talker.opened || talker.finish_said || talker.ended.is_some() {
            return;
        }
        let left = (to_send - talker.sent) as usize;
        let octets = self.random.usize(..=left.min(talker.down));
        let places = talker.sent..talker.sent + octets as u64;
        let message = places.map(|place| octet(side as u64, place)).collect::<Vec<_>>();
        talker.sent += octets as u64;
        talker.down -= octets;
        talker.finish_said = talker.sent == to_send;
        let finishes = talker.finish_said;
        let message = M::with_headroom(64, &message);
        self.ask(
            side,
            StreamsRequest::Send {
                association: ASSOCIATION,
                batch: message.into(),
                properties: Default::default(),
            },
        );
        if finishes {
            self.ask(side, StreamsRequest::Finish { association: ASSOCIATION });
        }
    }

    /// Reads a part of what it heard.
    pub(crate) fn read(&mut self, side: usize) {
        let talker = self.world.application_mut(self.stations[side]);
        let octets = self.random.usize(..=talker.unread);
        if octets > 0 && talker.ended.is_none() {
            talker.unread -= octets;
            talker.up += octets;
            self.ask(
                side,
                StreamsRequest::Credit {
                    association: ASSOCIATION,
                    credit: Credit::of_octets(octets),
                },
            );
        }
    }

    /// Both say and read as chance has it, until both have their last word; `mishap` comes after so
    /// many steps. What is held is looked at by `watch`.
    pub(crate) fn run(&mut self, mishap: Option<(usize, usize)>, watch: impl Fn(&[&P; 2])) {
        let lazy = self.random.u8(1..20);
        for step in 0..100_000 {
            if [0, 1].iter().all(|side| self.talker(*side).ended.is_some()) {
                return;
            }
            if let Some((_, side)) = mishap.filter(|(when, _)| *when == step) {
                // Who asks somebody that has gone has no answer, and gives up.
                if side == 0 && !self.talker(0).opened {
                    self.abort(1);
                }
                self.abort(side);
            }
            for side in [0, 1] {
                if self.random.u8(..lazy) == 0 {
                    self.say(side);
                }
                if self.random.u8(..lazy) == 0 {
                    self.read(side);
                }
            }
            for _ in 0..self.random.usize(..4) {
                self.world.step();
            }
            watch(&self.stations.map(|station| self.world.stack(station)));
        }
        panic!("it does not come to an end: {:?} {:?}", self.talker(0), self.talker(1));
    }

    /// Whoever says that both have finished is right.
    pub(crate) fn judge(&self, aborted: bool) {
        for side in [0, 1] {
            let (talker, other) = (self.talker(side), self.talker(1 - side));
            assert!(talker.heard <= other.sent);
            if talker.ended == Some(Ended::Finished) {
                assert!(talker.finished && talker.finish_said);
                assert_eq!((talker.sent, talker.heard), (other.heard, other.sent), "all of it");
            } else {
                assert!(aborted, "{:?}", talker.ended);
            }
        }
    }
}

/// Names the seed that failed.
pub(crate) struct Seed(pub(crate) u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("SEED={}", self.0);
        }
    }
}
