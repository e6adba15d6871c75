//! Streams of a transport in a world: half closes, aborts with a code, refusals.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use fastrand::Rng;
use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Code, Credit, Datagrams, Ended, Streams, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Context, Duration, Handle, IndicationOf, Protocol};
use stackwright_simulator::{
    Application, Asks, Conditions, Reorder, SimulatedDatagrams, StationId, World,
};
use stackwright_transport::{Associations, Configuration, Host, Transport};
use stackwright_wire::Message;

use crate::setting::{M, seeds};

const SERVER: [u8; 4] = [10, 0, 0, 1];
const PORT: u16 = 7;
const LISTENER: Handle = Handle { index: 0, generation: 0 };

/// In one batch.
const ROOM_BELOW: Credit = Credit { octets: 16 << 10, messages: 8 };

/// What a side does when it has sent all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    /// Closes its half.
    Finish,
    /// Closes both halves when the peer's half is closed.
    CloseLast,
    /// Closes both halves at once.
    Close,
    /// Aborts, and does so when it has heard so many octets, whatever it has sent.
    AbortAfter(usize),
}

/// One side of one stream.
struct Side {
    id: u8,
    length: usize,
    deed: Deed,
    sent: usize,
    credit: usize,
    heard: Vec<u8>,
    opened: bool,
    /// It did what it does when it has sent all.
    done: bool,
    /// How often it was told that the peer sends no more.
    finished: usize,
    ended: Option<Ended>,
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Side { id, length, deed, sent, heard, done, finished, ended, .. } = self;
        let (octets, first) = (heard.len(), heard.first());
        write!(f, "{id}: {sent} of {length} sent, {deed:?} {done}, {octets} heard of {first:?}, ")?;
        write!(f, "finished {finished}, {ended:?}")
    }
}

impl Side {
    fn new(id: u8, listens: bool, random: &mut Rng) -> Self {
        let deed = match random.u8(..10) {
            0..=4 => Deed::Finish,
            // Not both: each would wait for the other.
            5 | 6 if !listens => Deed::CloseLast,
            5 | 6 => Deed::Finish,
            7 => Deed::Close,
            _ => Deed::AbortAfter(random.usize(1..150)),
        };
        let longest = if random.bool() { 600 } else { 12_000 };
        Side {
            id,
            length: random.usize(200..longest),
            deed,
            sent: 0,
            credit: 0,
            heard: Vec::new(),
            opened: false,
            done: false,
            finished: 0,
            ended: None,
        }
    }

    /// The code with which it aborts tells whose it is.
    fn code(&self) -> Code {
        1000 + Code::from(self.id)
    }

    fn aborted(&self) -> bool {
        self.done && matches!(self.deed, Deed::AbortAfter(_))
    }

    fn closed(&self) -> bool {
        self.done && matches!(self.deed, Deed::Close)
    }

    /// What it sends: its number, and then what no other place of it has.
    fn octets(&self, span: std::ops::Range<usize>) -> Vec<u8> {
        let octet = |at: usize| match at {
            0 => self.id,
            at => ((at as u32 ^ u32::from(self.id) << 16).wrapping_mul(0x9e37_79b1) >> 24) as u8,
        };
        span.map(octet).collect()
    }

    fn go_on(
        &mut self,
        association: Handle,
        random: &mut Rng,
        mut ask: impl FnMut(StreamsRequest<M>),
    ) {
        if self.done || self.ended.is_some() || !self.opened {
            return;
        }
        if let Deed::AbortAfter(octets) = self.deed
            && self.heard.len() >= octets
        {
            self.done = true;
            return ask(StreamsRequest::Abort { association, code: self.code() });
        }
        while self.sent < self.length && self.credit > 0 {
            let octets = random.usize(1..2000).min(self.credit).min(self.length - self.sent);
            let message = M::with_headroom(64, &self.octets(self.sent..self.sent + octets));
            (self.sent, self.credit) = (self.sent + octets, self.credit - octets);
            // However they are cut.
            let batch = Batch::new(message, random.usize(1..=octets));
            ask(StreamsRequest::Send { association, batch, properties: Default::default() });
        }
        if self.sent < self.length {
            return;
        }
        let ask_for = match self.deed {
            Deed::Finish => StreamsRequest::Finish { association },
            Deed::Close => StreamsRequest::Close { name: association },
            Deed::CloseLast if self.finished > 0 => StreamsRequest::Close { name: association },
            Deed::CloseLast | Deed::AbortAfter(_) => return,
        };
        self.done = true;
        ask(ask_for);
    }
}

/// The sides of one station: association `n` is the side with index `n - 1`.
struct Talker {
    random: Rng,
    sides: Vec<Side>,
}

impl<P: Protocol<Provides = Streams<M>>> Application<P> for Talker {
    fn hear(&mut self, _: &Context, indication: IndicationOf<P>, asks: &mut Asks<P>) {
        let name = indication.name();
        if name == LISTENER {
            return;
        }
        let side = &mut self.sides[name.index as usize - 1];
        assert_eq!(side.ended, None, "nothing follows the last word");
        match indication {
            StreamsIndication::Opened { credit, path, .. } => {
                assert!(!std::mem::replace(&mut side.opened, true), "it opens once");
                assert_eq!(path.longest, u32::MAX, "a stream has no messages");
                assert_eq!(credit.messages, 0, "a stream charges no messages");
                side.credit += credit.octets;
            }
            StreamsIndication::Credit { credit, .. } => {
                assert_ne!(credit, Credit::NONE);
                assert_eq!(credit.messages, 0, "a stream charges no messages");
                side.credit += credit.octets;
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                assert_eq!(side.finished, 0, "nothing follows the end");
                let octets = batch.into_octets();
                let from = side.heard.len();
                side.heard.resize(from + octets.len(), 0);
                octets.copy_to(&mut side.heard[from..]);
                let credit = Credit::of_octets(octets.len());
                asks.push_back(StreamsRequest::Credit { association, credit });
            }
            StreamsIndication::Finished { .. } => side.finished += 1,
            StreamsIndication::Ended { why, .. } => side.ended = Some(why),
            StreamsIndication::Listening { .. }
            | StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
        }
        side.go_on(name, &mut self.random, |request| asks.push_back(request));
    }
}

/// What befell, over all seeds: none of it may be rare.
#[derive(Default, Debug)]
struct Counts {
    half_closes: usize,
    refused: usize,
    told_codes: usize,
    closed: usize,
}

/// A host of streams.
pub trait Streaming:
    Host<Configuration: Configuration<Message = M>, Transfer = Streams<M>>
{
}

impl<H: Host<Configuration: Configuration<Message = M>, Transfer = Streams<M>>> Streaming for H {}

/// What stands between the hosts and the simulated network.
pub trait Below:
    Protocol<Provides = Datagrams<M>, Uses = <SimulatedDatagrams<M> as Protocol>::Uses> + 'static
{
}

impl<L> Below for L where
    L: Protocol<Provides = Datagrams<M>, Uses = <SimulatedDatagrams<M> as Protocol>::Uses>
        + 'static
{
}

type Stack<H, L> = Over<Transport<H>, L>;

/// It loses, doubles, reorders and alters.
fn bad(random: &mut Rng) -> Conditions {
    Conditions {
        delay: Duration::from_millis(random.u64(0..20)),
        jitter: Duration::from_millis(random.u64(0..30)),
        loss: (random.f64() * 0.19).into(),
        duplicate: random.f64() * 0.1,
        reorder: Reorder {
            probability: random.f64() * 0.1,
            by: Duration::from_millis(random.u64(1..80)),
        },
        corrupt: random.f64() * 0.05,
        ..Conditions::IDEAL
    }
}

/// Clients open more streams than a server awaits, which are refused with the code `refusal`; each
/// side sends, and ends it in its own way. `make` makes the host of the station at this address,
/// and `below` what it stands on.
///
/// # Panics
/// If a promise of streams is broken.
pub fn streams<H: Streaming, L: Below>(
    refusal: Code,
    make: impl Fn(u8) -> H,
    below: impl Fn(IpAddr, SimulatedDatagrams<M>) -> L,
) {
    let mut counts = Counts::default();
    let usual = if cfg!(debug_assertions) { 200 } else { 2000 };
    let range = seeds(usual);
    let seeds = range.end as usize;
    for seed in range {
        one(&make, &below, seed, refusal, &mut counts);
        if seed % 10 == 0 {
            nothing(&make, &below, seed);
        }
    }
    if seeds >= 100 {
        let least = seeds / 10;
        let Counts { half_closes, refused, told_codes, closed } = counts;
        assert!(
            half_closes > least && refused > least && told_codes > least && closed > least,
            "{counts:?}"
        );
    }
    println!("{seeds} seeds: {counts:?}");
}

/// A server, two clients, and the streams that they open.
struct Scene<H: Streaming, L: Below> {
    seed: u64,
    world: World<M>,
    stations: [StationId<Stack<H, L>, Talker>; 3],
}

impl<H: Streaming, L: Below> Scene<H, L> {
    /// The server awaits as many streams as it has sides; each client opens as many as it has.
    fn new(
        make: &impl Fn(u8) -> H,
        below: &impl Fn(IpAddr, SimulatedDatagrams<M>) -> L,
        seed: u64,
        random: &mut Rng,
        sides: [Vec<Side>; 3],
    ) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(bad(random));
        // Of half of the seeds, less credit than a packet has octets.
        let credit =
            Credit::of_octets(if seed.is_multiple_of(2) { 1 << 16 } else { random.usize(50..300) });
        let counts = sides.each_ref().map(Vec::len);
        let mut last = 0;
        let stations = sides.map(|sides| {
            last += 1;
            let talker = Talker { sides, random: Rng::with_seed(seed + u64::from(last)) };
            let address = IpAddr::from([10, 0, 0, last]);
            let layer = Transport::new(Associations::new(make(last)), seed);
            let lowest = below(address, SimulatedDatagrams::new(address, ROOM_BELOW));
            world.add(address, Over::new(layer, lowest), talker)
        });
        let local = SocketAddr::from((SERVER, PORT)).into();
        world.ask(stations[0], StreamsRequest::Listen { listener: LISTENER, local });
        for (nth, (station, count)) in stations.into_iter().zip(counts).enumerate() {
            for index in 1..=count as u32 {
                let association = Handle { index, generation: 0 };
                world.ask(
                    station,
                    match nth {
                        0 => StreamsRequest::Await { listener: LISTENER, association, credit },
                        _ => {
                            StreamsRequest::Open { association, remote: local, local: None, credit }
                        }
                    },
                );
            }
        }
        Scene { seed, world, stations }
    }

    fn sides(&self, nth: usize) -> &[Side] {
        &self.world.application(self.stations[nth]).sides
    }

    /// Runs until all streams have ended; nothing is left of them.
    fn ends(mut self) -> Self {
        let (seed, stations) = (self.seed, self.stations);
        let ended = |world: &World<M>, station| {
            let Talker { sides, .. } = world.application(station);
            sides.iter().all(|side| side.ended.is_some())
        };
        let all = |world: &World<M>| stations.iter().all(|station| ended(world, *station));
        let over = self.world.run_until(all, Duration::from_secs(1200));
        assert!(over, "not over, {self:#?}");
        for (nth, station) in stations.into_iter().enumerate() {
            let layer = &self.world.stack(station).upper;
            assert_eq!(layer.associations(), 0, "seed {seed}");
            // Where strangers are heard, a listener and names that it awaits are left.
            let heard = H::hears().map_or(0, |_| 1 + H::AWAITS);
            assert!(nth == 0 || layer.names() <= heard, "seed {seed}: {}", layer.names());
        }
        self
    }
}

impl<H: Streaming, L: Below> fmt::Debug for Scene<H, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: ", self.seed)?;
        f.debug_list().entries((0..3).flat_map(|nth| self.sides(nth))).finish()
    }
}

/// Both sides send nothing at all.
fn nothing<H: Streaming, L: Below>(
    make: &impl Fn(u8) -> H,
    below: &impl Fn(IpAddr, SimulatedDatagrams<M>) -> L,
    seed: u64,
) {
    let mut random = Rng::with_seed(seed);
    let mut side = |id: u8, deeds: &[Deed]| {
        let deed = deeds[random.usize(..deeds.len())];
        vec![Side { length: 0, deed, ..Side::new(id, true, &mut random) }]
    };
    let server = side(1, &[Deed::Finish, Deed::Close]);
    let client = side(2, &[Deed::Finish, Deed::Close, Deed::CloseLast]);
    let scene = Scene::new(make, below, seed, &mut random, [server, client, Vec::new()]).ends();
    for (one, other) in [(1, 0), (0, 1)] {
        let [[one], [other]] = [one, other].map(|nth| scene.sides(nth)) else {
            panic!("one side each")
        };
        check(one, other, &mut Counts::default(), &scene);
    }
}

fn one<H: Streaming, L: Below>(
    make: &impl Fn(u8) -> H,
    below: &impl Fn(IpAddr, SimulatedDatagrams<M>) -> L,
    seed: u64,
    refusal: Code,
    counts: &mut Counts,
) {
    let mut random = Rng::with_seed(seed);
    let opened: [usize; 2] = [random.usize(1..4), random.usize(0..3)];
    let awaited = random.usize(1..=opened.iter().sum());
    let mut id = 0;
    let sides = [awaited, opened[0], opened[1]].map(|count| {
        let listens = id == 0;
        let side = |_| {
            id += 1;
            Side::new(id, listens, &mut random)
        };
        (0..count).map(side).collect()
    });
    let scene = Scene::new(make, below, seed, &mut random, sides).ends();

    let mut refused = 0;
    for client in scene.sides(1).iter().chain(scene.sides(2)) {
        if let Some(Ended::Refused(code)) = client.ended {
            assert_eq!((code, client.heard.len(), client.finished), (refusal, 0, 0), "seed {seed}");
            refused += 1;
            continue;
        }
        let is_peer = |side: &&Side| {
            let told = |one: &Side, other: &Side| one.ended == Some(Ended::Reset(other.code()));
            side.heard.first() == Some(&client.id)
                || client.heard.first() == Some(&side.id)
                || told(side, client)
                || told(client, side)
        };
        let Some(server) = scene.sides(0).iter().find(is_peer) else {
            // Both have closed at once, and so nothing was given to either.
            let closed = |side: &Side| {
                let ended = matches!(side.ended, Some(Ended::Finished | Ended::Reset(0)));
                side.closed() && side.heard.is_empty() && ended
            };
            let both = closed(client) && scene.sides(0).iter().any(closed);
            // Or the server had not heard that its answer arrived, and others waited for its place.
            let gave_way =
                |side: &Side| side.heard.is_empty() && side.ended == Some(Ended::Expired);
            let told = matches!(client.ended, Some(Ended::Reset(0) | Ended::Unreachable));
            let displaced = told && scene.sides(0).iter().any(gave_way);
            assert!(both || displaced, "nobody's: {client:?}, {scene:#?}");
            continue;
        };
        for (one, other) in [(client, server), (server, client)] {
            check(one, other, counts, &format_args!("seed {seed}: {one:?} of {other:?}"));
        }
    }
    assert_eq!(refused, opened.iter().sum::<usize>() - awaited, "seed {seed}");
    counts.refused += refused;
}

/// What one side was told is what the other one did.
fn check(one: &Side, other: &Side, counts: &mut Counts, what: &dyn fmt::Debug) {
    let ended = one.ended.expect("it is over");
    assert!(one.heard == other.octets(0..one.heard.len()), "what was sent, {what:?}");
    let whole = one.heard.len() == other.length;
    if one.aborted() {
        return assert_eq!(ended, Ended::Aborted, "{what:?}");
    }
    if other.aborted() {
        let code = Ended::Reset(other.code());
        assert!(ended == code || one.closed() && ended == Ended::Finished, "{what:?}");
        counts.told_codes += usize::from(ended == code);
        return assert_eq!(one.finished, 0, "{what:?}");
    }
    if one.closed() {
        counts.closed += 1;
        return assert!(
            ended == Ended::Finished || other.closed() && ended == Ended::Reset(0),
            "{what:?}"
        );
    }
    assert!(whole, "{what:?}");
    assert_eq!(one.finished, 1, "{what:?}");
    // The peer may have closed before all had arrived.
    assert!(ended == Ended::Finished || other.closed() && ended == Ended::Reset(0), "{what:?}");
    counts.half_closes += usize::from(other.deed == Deed::Finish);
}
