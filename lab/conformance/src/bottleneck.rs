//! Any number of sessions of ARTP through one bottleneck, in virtual time.

use std::collections::BTreeMap;
use std::ops::Range;

use stackwright_artp::{Artp, Config, Congestion, Secrets, policies};
use stackwright_contract::services::{Credit, Ecn, MessageProperties};
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{
    Carried, Conditions, Counts, Discipline, EcnTreatment, Link, LinkPacket, LinkStep, Queue,
};
use stackwright_transport::slots::{Congestion as _, Rtt as _};
use stackwright_transport::words::{Dropped, Estimate, Phase};
use stackwright_transport::{Association, Memory};
use stackwright_wire::{BufferTree, Message};

/// A megabit per second, in octets per second.
pub const MBIT: u64 = 125_000;

/// The octets of IP and UDP, for each packet.
pub(crate) const OVERHEAD: usize = 28;

const MESSAGE: usize = 11_000;
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// One packet.
const ONE: Credit = Credit { octets: usize::MAX, messages: 1 };

/// A path with a queue before it.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// In octets per second.
    pub rate: u64,
    /// There and back, without a queue.
    pub round_trip: Duration,
    /// The share of packets that is lost at random, in each direction.
    pub loss: f64,
    /// By how much the delay varies, in each direction.
    pub jitter: Duration,
    /// Whether packets stay in order, whatever happens to the delay.
    pub keeps_order: bool,
    /// How much waits at most, in octets.
    pub queue: u64,
    /// What the queue does beside that.
    pub discipline: Discipline,
    /// What else happens to packets that may be marked, or are.
    pub mishap: Option<Mishap>,
}

/// What routers do that do not know ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mishap {
    /// They clear the marks, before the queue.
    TakenOffBefore,
    /// They do this to them, behind the queue.
    Treated(EcnTreatment),
    /// They drop what may be marked.
    Dropped,
}

impl Path {
    /// Creates a path with a queue of its bandwidth-delay product, at least 50 packets.
    pub fn new(rate: u64, milliseconds: u64, loss: f64) -> Self {
        let (round_trip, discipline) = (Duration::from_millis(milliseconds), Discipline::DropTail);
        let (jitter, keeps_order) = (Duration::ZERO, false);
        let path = Path {
            rate,
            round_trip,
            loss,
            jitter,
            keeps_order,
            queue: 0,
            discipline,
            mishap: None,
        };
        Path { queue: path.product().max(60_000), ..path }
    }

    /// Sets the queue to `times` the bandwidth-delay product.
    #[must_use]
    pub fn queue(self, times: f64) -> Self {
        Path { queue: (self.product() as f64 * times) as u64, ..self }
    }

    /// Returns the bandwidth-delay product, in octets.
    pub fn product(&self) -> u64 {
        self.rate * self.round_trip.as_millis() as u64 / 1000
    }
}

/// The session, the packet, and its ECN field.
struct Parcel(usize, Vec<u8>, Ecn);

impl LinkPacket for Parcel {
    fn octets(&self) -> usize {
        self.1.len()
    }

    fn twin(&self) -> Self {
        Parcel(self.0, self.1.clone(), self.2)
    }

    fn ecn(&self) -> u8 {
        self.2.bits()
    }

    fn set_ecn(&mut self, ecn: u8) {
        self.2 = Ecn::of_bits(ecn);
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

/// Sessions through one bottleneck, each of which sends as much as it can in one direction.
pub struct Bottleneck {
    flows: Vec<Flow>,
    links: [Link; 2],
    /// When, and the count of packets before it; to which side.
    arrivals: BTreeMap<(Instant, u64), (usize, Parcel)>,
    carried: u64,
    now: Instant,
    path: Path,
    /// The longest wait in the queue.
    waited: Duration,
    /// Packets of the sending sides that are lost as they leave, whatever the path does, counted
    /// from 1.
    pub lost: Vec<u64>,
    departed: u64,
    /// The octets of a message.
    pub message: usize,
    /// How often a retransmission timer of a sending side expired.
    pub timeouts: u64,
    /// How many packets arrived whose unit had arrived before.
    pub duplicates: u64,
    /// When both hosts do nothing.
    pub pause: Range<Instant>,
}

impl Bottleneck {
    /// Creates a session for each of `flows`, which begins after that many milliseconds.
    pub fn new(path: &Path, flows: &[(Congestion, u64)], seed: u64) -> Self {
        let config = |congestion| Config { congestion, window: 1 << 16, ..Config::new([0; 16]) };
        let flows: Vec<_> =
            flows.iter().map(|(congestion, late)| (config(*congestion), *late)).collect();
        Self::of(path, &flows, seed)
    }

    /// The same with any configurations.
    pub fn of(path: &Path, flows: &[(Config, u64)], seed: u64) -> Self {
        let start = Instant::from_nanoseconds(1_000_000_000);
        let there = Conditions {
            rate: Some(path.rate),
            overhead: OVERHEAD,
            mtu: Some(Config::new([0; 16]).packet.into()),
            queue: Queue { octets: Some(path.queue), packets: None, discipline: path.discipline },
            delay: path.round_trip / 2,
            jitter: path.jitter,
            keeps_order: path.keeps_order,
            loss: path.loss.into(),
            ecn: match path.mishap {
                Some(Mishap::Treated(treatment)) => treatment,
                _ => EcnTreatment::Keep,
            },
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
            path: *path,
            waited: Duration::ZERO,
            lost: Vec::new(),
            departed: 0,
            message: MESSAGE,
            timeouts: 0,
            duplicates: 0,
            pause: start..start,
        }
    }

    /// Returns how long it takes from the first octet that arrives of the first flow to the last of
    /// `octets`.
    pub fn takes(&mut self, octets: u64) -> Duration {
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

    /// Runs for `seconds`, and returns which share of the rate each flow delivered meanwhile.
    pub fn run(&mut self, seconds: u64) -> Vec<f64> {
        let before: Vec<_> = self.flows.iter().map(|flow| flow.delivered).collect();
        self.run_until(self.now + Duration::from_secs(seconds), |_| true);
        let all = (self.path.rate * seconds) as f64;
        self.flows
            .iter()
            .zip(before)
            .map(|(flow, before)| (flow.delivered - before) as f64 / all)
            .collect()
    }

    /// Runs until `end`, or until `goes_on`, which is told of each event, is false.
    pub fn run_until(&mut self, end: Instant, mut goes_on: impl FnMut(&Self) -> bool) {
        for flow in 0..self.flows.len() {
            self.speak(flow);
        }
        while let Some((at, flow)) = self.next().filter(|(at, _)| *at <= end) {
            self.happen(at, flow);
            if !goes_on(self) {
                return;
            }
        }
        self.now = end;
    }

    /// Returns the time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the octets that a flow has delivered.
    pub fn delivered(&self, flow: usize) -> u64 {
        self.flows[flow].delivered
    }

    /// Returns how many packets are on their way to the receiving sides, or in the queue.
    pub fn on_the_way(&self) -> u64 {
        self.arrivals.values().filter(|(side, _)| *side == 1).count() as u64
    }

    /// Returns the window and the pace of the sending side of a flow, and its round trip.
    pub fn judged(&self, flow: usize) -> (u64, Option<u64>, Estimate) {
        let slots = self.flows[flow].ends[0].0.slots();
        let congestion = slots.congestion();
        let pace = congestion.pace().map(core::num::NonZeroU64::get);
        (congestion.window(), pace, slots.rtt().estimate())
    }

    /// Lets the path to the receiving sides change as `steps` say, which begin with the run.
    pub fn step(&mut self, steps: &[LinkStep]) {
        let began = Duration::from_secs(1);
        let steps = steps.iter().map(|step| LinkStep { at: began + step.at, ..*step });
        self.change(0, |conditions| conditions.steps = steps.collect());
    }

    /// Makes the round trip take `round_trip` from now on.
    pub fn lengthen(&mut self, round_trip: Duration) {
        self.delay(0, round_trip / 2);
        self.delay(1, round_trip / 2);
    }

    /// Makes the delay from a side to the other `delay` from now on.
    pub fn delay(&mut self, side: usize, delay: Duration) {
        self.change(side, |conditions| conditions.delay = delay);
    }

    /// Changes what happens to packets from a side to the other, from now on.
    pub fn change(&mut self, side: usize, change: impl FnOnce(&mut Conditions)) {
        let mut conditions = self.links[side].conditions().clone();
        change(&mut conditions);
        self.links[side].set_conditions(conditions);
    }

    /// Returns the retransmission timeout of the sending side of the first flow.
    pub fn timeout(&self) -> Duration {
        Duration::from_nanos(self.judged(0).2.timeout)
    }

    /// Loses everything from now on. Returns how long it takes until the sending side of the first
    /// flow takes its peer for dead.
    pub fn cut(&mut self) -> Duration {
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

    /// Returns what the path to the receiving sides did so far.
    pub fn counts(&self) -> Counts {
        self.links[0].counts()
    }

    /// Returns the longest wait in the queue since this was called last, in round trips of the
    /// empty path.
    pub fn waited(&mut self) -> f64 {
        core::mem::take(&mut self.waited).as_secs_f64() / self.path.round_trip.as_secs_f64()
    }

    /// Returns the next event: a deadline of a flow, or an arrival.
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
                match self.path.mishap {
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
                let Carried::Once(at, parcel) = carried else { continue };
                self.arrivals.insert((at, self.carried), (1 - side, parcel));
                self.carried += 1;
                if side == 0 {
                    self.waited = self.waited.max(at.since(now) - self.path.round_trip / 2);
                }
            }
        }
    }
}
