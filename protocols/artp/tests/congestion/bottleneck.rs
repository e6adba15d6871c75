//! Any number of sessions through one bottleneck, in virtual time.

use std::collections::BTreeMap;
use std::ops::Range;

use stackwright_artp::{Artp, Config, Congestion, Secrets, policies};
use stackwright_contract::services::{Credit, Ecn, MessageProperties};
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Conditions, Counts, Discipline, Link, LinkPacket, Queue};
use stackwright_transport::slots::Rtt as _;
use stackwright_transport::words::{Dropped, Phase};
use stackwright_transport::{Association, Memory};
use stackwright_wire::{BufferTree, Message};

/// In octets per second.
pub(crate) const MBIT: u64 = 125_000;

/// Of IP and UDP, for each packet.
const OVERHEAD: usize = 28;

const MESSAGE: usize = 11_000;
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// One packet.
const ONE: Credit = Credit { octets: usize::MAX, messages: 1 };

/// A way with a queue before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// In octets per second.
    pub(crate) rate: u64,
    /// There and back.
    pub(crate) round_trip: Duration,
    /// The share of packets that is lost by nature, there as well as back.
    pub(crate) loss: f64,
    /// By how much the delay varies, each way.
    pub(crate) jitter: Duration,
    /// How much waits at most, in octets.
    pub(crate) queue: u64,
    /// What the queue does beside that.
    pub(crate) discipline: Discipline,
    /// What else befalls what may be marked, or is.
    pub(crate) mishap: Option<Mishap>,
}

/// What routers do that do not know marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mishap {
    /// They take them off, before the queue.
    TakenOffBefore,
    /// Behind it.
    TakenOffBehind,
    /// They drop what may be marked.
    Dropped,
}

impl Way {
    /// With a queue as long as what fits on the way, at least 50 packets.
    pub(crate) fn new(rate: u64, milliseconds: u64, loss: f64) -> Self {
        let (round_trip, discipline) = (Duration::from_millis(milliseconds), Discipline::DropTail);
        let jitter = Duration::ZERO;
        let way = Way { rate, round_trip, loss, jitter, queue: 0, discipline, mishap: None };
        Way { queue: way.fits().max(60_000), ..way }
    }

    /// With a queue so many times as long as what fits on the way.
    pub(crate) fn queue(self, times: f64) -> Self {
        Way { queue: (self.fits() as f64 * times) as u64, ..self }
    }

    /// What fits on the way, in octets.
    fn fits(&self) -> u64 {
        self.rate * self.round_trip.as_millis() as u64 / 1000
    }
}

/// Which session, what, and what it says of congestion.
struct Parcel(usize, Vec<u8>, Ecn);

impl LinkPacket for Parcel {
    fn octets(&self) -> usize {
        self.1.len()
    }

    fn twin(&self) -> Self {
        Parcel(self.0, self.1.clone(), self.2)
    }

    fn mark(&mut self) -> bool {
        let can = self.2 != Ecn::NotEct;
        if can {
            self.2 = Ecn::Ce;
        }
        can
    }

    fn alter(&mut self, _: u64) {}
}

struct Flow {
    ends: [(Association<Artp<BufferTree>>, Memory<BufferTree>); 2],
    begins: Instant,
    begun: bool,
    /// Octets that are still to be sent.
    left: u64,
    delivered: u64,
}

/// The sessions, and all that is on the way.
pub(crate) struct Bottleneck {
    flows: Vec<Flow>,
    links: [Link; 2],
    /// When, the how manyth; to which side.
    arrivals: BTreeMap<(Instant, u64), (usize, Parcel)>,
    carried: u64,
    now: Instant,
    way: Way,
    /// The longest wait in the queue.
    waited: Duration,
    /// Packets of the side that sends that are lost as they leave, whatever the way does: the how
    /// manyth, from 1 on.
    pub(crate) lost: Vec<u64>,
    departed: u64,
    /// The octets of a message.
    pub(crate) message: usize,
    /// How often a retransmission timer of the sending side expired, and how many copies arrived of
    /// what had.
    pub(crate) timeouts: u64,
    pub(crate) duplicates: u64,
    /// When both hosts do nothing.
    pub(crate) pause: Range<Instant>,
}

impl Bottleneck {
    /// One session for each, which begins so many milliseconds later.
    pub(crate) fn new(way: &Way, flows: &[(Congestion, u64)], seed: u64) -> Self {
        let config = |congestion| Config { congestion, window: 1 << 16, ..Config::new([0; 16]) };
        let flows: Vec<_> =
            flows.iter().map(|(congestion, late)| (config(*congestion), *late)).collect();
        Self::of(way, &flows, seed)
    }

    /// The same, of any configuration.
    pub(crate) fn of(way: &Way, flows: &[(Config, u64)], seed: u64) -> Self {
        let start = Instant::from_nanoseconds(1_000_000_000);
        let there = Conditions {
            rate: Some(way.rate),
            overhead: OVERHEAD,
            mtu: Some(Config::new([0; 16]).packet.into()),
            queue: Queue { octets: Some(way.queue), packets: None, discipline: way.discipline },
            delay: way.round_trip / 2,
            jitter: way.jitter,
            loss: way.loss.into(),
            ..Conditions::IDEAL
        };
        let back = Conditions { queue: Queue::UNLIMITED, ..there.clone() };
        let flows = flows.iter().map(|(config, late)| {
            let end = |side: u8| {
                let secrets = Secrets {
                    first: 7,
                    nonce: 0x1234_5678 * (u64::from(side) + 1),
                    salt: [side; 16],
                    reset: [side; 16],
                };
                (Association::new(policies(5, config, secrets)), Memory::new(2048, 32, 64))
            };
            let begins = start + Duration::from_millis(*late);
            Flow { ends: [end(0), end(1)], begins, begun: false, left: u64::MAX, delivered: 0 }
        });
        Bottleneck {
            flows: flows.collect(),
            links: [Link::new(there, seed), Link::new(back, !seed)],
            arrivals: BTreeMap::new(),
            carried: 0,
            now: start,
            way: *way,
            waited: Duration::ZERO,
            lost: Vec::new(),
            departed: 0,
            message: MESSAGE,
            timeouts: 0,
            duplicates: 0,
            pause: start..start,
        }
    }

    /// How long it takes from the first octet that arrives of the first flow to the last of so
    /// many.
    pub(crate) fn takes(&mut self, octets: u64) -> Duration {
        self.flows[0].left = octets;
        self.speak(0);
        let mut first = None;
        while self.flows[0].delivered < octets {
            let (at, flow) = self.next().expect("all arrives");
            self.happen(at, flow);
            if self.flows[0].delivered > 0 {
                first = first.or(Some(self.now));
            }
        }
        self.now.since(first.unwrap_or(self.now))
    }

    /// Which share of the rate each delivered in the next so many seconds.
    pub(crate) fn run(&mut self, seconds: u64) -> Vec<f64> {
        let before: Vec<_> = self.flows.iter().map(|flow| flow.delivered).collect();
        let end = self.now + Duration::from_secs(seconds);
        for flow in 0..self.flows.len() {
            self.speak(flow);
        }
        while let Some((at, flow)) = self.next().filter(|(at, _)| *at <= end) {
            self.happen(at, flow);
        }
        self.now = end;
        let all = (self.way.rate * seconds) as f64;
        self.flows
            .iter()
            .zip(before)
            .map(|(flow, before)| (flow.delivered - before) as f64 / all)
            .collect()
    }

    /// From now on, there and back take so long.
    pub(crate) fn lengthen(&mut self, round_trip: Duration) {
        for link in &mut self.links {
            let conditions = Conditions { delay: round_trip / 2, ..link.conditions().clone() };
            link.set_conditions(conditions);
        }
    }

    /// The retransmission timeout of the sending side of the first flow.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_nanos(self.flows[0].ends[0].0.slots().rtt().estimate().timeout)
    }

    /// Nothing passes any more. Gives how long it takes until the sending side of the first flow
    /// finds that nobody is there.
    pub(crate) fn cut(&mut self) -> Duration {
        let began = self.now;
        for link in &mut self.links {
            let conditions = Conditions { loss: 1.0.into(), ..link.conditions().clone() };
            link.set_conditions(conditions);
        }
        self.arrivals.clear();
        while !matches!(self.flows[0].ends[0].0.phase(self.now), Phase::Ended(_)) {
            let (at, flow) = self.next().expect("it ends");
            self.happen(at, flow);
        }
        self.now.since(began)
    }

    /// What the way there did so far.
    pub(crate) fn counts(&self) -> Counts {
        self.links[0].counts()
    }

    /// The longest wait in the queue since this was asked last, in round trips of the empty way.
    pub(crate) fn waited(&mut self) -> f64 {
        core::mem::take(&mut self.waited).as_secs_f64() / self.way.round_trip.as_secs_f64()
    }

    /// What happens next: a flow wants to be woken, or something arrives.
    fn next(&mut self) -> Option<(Instant, Option<usize>)> {
        let now = self.now;
        let arrival = self.arrivals.keys().next().map(|(at, _)| (*at, None));
        let wakes = self.flows.iter_mut().enumerate().flat_map(|(nth, flow)| {
            let begins = (!flow.begun).then_some(flow.begins);
            let deadlines = flow.ends.iter_mut().filter_map(|(end, _)| end.next_deadline(now));
            deadlines.chain(begins).min().map(|at| (at.max(now), Some(nth)))
        });
        wakes.chain(arrival).min()
    }

    /// A flow wanted to be woken then, or something arrived.
    fn happen(&mut self, at: Instant, flow: Option<usize>) {
        self.now = self.now.max(at);
        if self.pause.contains(&self.now) {
            self.now = self.pause.end;
        }
        match flow {
            Some(flow) => self.wake(flow),
            None => self.arrive(),
        }
    }

    fn wake(&mut self, nth: usize) {
        let (now, flow) = (self.now, &mut self.flows[nth]);
        if !flow.begun && flow.begins <= now {
            flow.begun = true;
            flow.ends[0].0.open(now);
        }
        for (side, (end, _)) in flow.ends.iter_mut().enumerate() {
            let timeout =
                |end: &Association<Artp<BufferTree>>| end.slots().rtt().estimate().timeout;
            let before = timeout(end);
            end.handle_timeout(now);
            self.timeouts += u64::from(side == 0 && timeout(end) > before);
        }
        self.speak(nth);
    }

    fn arrive(&mut self) {
        let Some((_, (side, Parcel(nth, octets, ecn)))) = self.arrivals.pop_first() else { return };
        let flow = &mut self.flows[nth];
        let (end, memory) = &mut flow.ends[side];
        let mut packet = BufferTree::with_headroom(0, &octets);
        let received = end.receive(self.now, None, &mut packet, None, memory, Credit::default());
        self.duplicates += u64::from(side == 1 && matches!(received, Err(Dropped::Duplicate)));
        end.on_marked(ecn, 1);
        while let Some((message, _)) = end.take(self.now, EVERYTHING) {
            flow.delivered += message.len() as u64;
            message.reclaim(&memory.pool);
        }
        self.speak(nth);
    }

    fn speak(&mut self, nth: usize) {
        let now = self.now;
        for side in [0, 1] {
            let flow = &mut self.flows[nth];
            let (end, memory) = &mut flow.ends[side];
            while side == 0 && flow.begun && flow.left > 0 && end.sending().waiting() < 64 {
                flow.left = flow.left.saturating_sub(self.message as u64);
                let message = BufferTree::with_headroom(64, &vec![7; self.message]);
                assert!(
                    end.send(now, message, MessageProperties::default(), memory).is_ok(),
                    "it is short enough"
                );
            }
            while let Some(packet) = end.transmit(now, memory, ONE) {
                let packet = packet.into_octets();
                let mut ecn = end.ecn();
                self.departed += u64::from(side == 0);
                if side == 0 && self.lost.contains(&self.departed) {
                    packet.reclaim(&memory.pool);
                    continue;
                }
                match self.way.mishap {
                    Some(Mishap::Dropped) if ecn != Ecn::NotEct => {
                        packet.reclaim(&memory.pool);
                        continue;
                    }
                    Some(Mishap::TakenOffBefore) => ecn = Ecn::NotEct,
                    _ => {}
                }
                let mut octets = vec![0; packet.len()];
                packet.copy_to(&mut octets);
                packet.reclaim(&memory.pool);
                let carried = self.links[side].carry(now, Parcel(nth, octets, ecn));
                let Carried::Once(at, mut parcel) = carried else { continue };
                if self.way.mishap == Some(Mishap::TakenOffBehind) {
                    parcel.2 = Ecn::NotEct;
                }
                self.arrivals.insert((at, self.carried), (1 - side, parcel));
                self.carried += 1;
                if side == 0 {
                    self.waited = self.waited.max(at.since(now) - self.way.round_trip / 2);
                }
            }
        }
    }
}
