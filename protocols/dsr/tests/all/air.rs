//! The air: stations in one process, of which some hear each other. It is to each what `resolve` is
//! to DSR, and can tell that a neighbour does not answer, or not.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{
    Address, Duration, Handle, Instant, Listener, Participant, PathLimits, Protocol,
};
use stackwright_simulator::{LoneStack, octets_of};
use stackwright_wire::{BufferTree, Message as _};

pub(crate) type M = BufferTree;

pub(crate) const AMPLE: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };
/// What a frame takes.
pub(crate) const FRAME_TIME: Duration = Duration::from_millis(10);
pub(crate) const LONGEST: usize = 256;

/// The address of a station.
pub(crate) fn host(station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, station as u8 + 1)
}

pub(crate) fn participant(host: Ipv4Addr) -> Participant {
    Address::InternetProtocol { host: IpAddr::V4(host), protocol: 0 }.into()
}

/// Why packets were dropped, and how often.
#[derive(Clone, Default)]
pub(crate) struct Reasons(Arc<Mutex<BTreeMap<&'static str, usize>>>);

impl Reasons {
    pub(crate) fn of(&self, reason: &str) -> usize {
        self.0.lock().expect("one thread").get(reason).copied().unwrap_or(0)
    }
}

impl Listener for Reasons {
    fn dropped(&mut self, _: Instant, _: &'static str, reason: &'static str) {
        *self.0.lock().expect("one thread").entry(reason).or_default() += 1;
    }

    fn event(&mut self, _: Instant, _: &'static str, _: std::fmt::Arguments<'_>) {}
}

pub(crate) struct Station<S: Protocol> {
    pub(crate) lone: LoneStack<S>,
    pub(crate) reasons: Reasons,
    /// The association on which it is delivered what arrives.
    link: Option<Handle>,
    /// Associations with next hops.
    hops: HashMap<Handle, Ipv4Addr>,
    given: u32,
}

/// What happens at some time.
enum Flight {
    /// A packet arrives.
    Arrives(Vec<u8>),
    /// A packet comes back, because nobody answers there.
    Returns(Handle, Vec<u8>),
}

pub(crate) struct Air<S: Protocol> {
    pub(crate) stations: Vec<Station<S>>,
    /// Who hears whom.
    hears: Vec<Vec<bool>>,
    pub(crate) now: Instant,
    flights: BTreeMap<(Instant, u64), (usize, Flight)>,
    turns: u64,
    pub(crate) random: Rng,
    /// How often a packet is lost.
    pub(crate) loss: f64,
    /// Whether what a neighbour does not take comes back.
    pub(crate) returns: bool,
    /// All packets that were sent, with the station that sent it and the next.
    pub(crate) sent: Vec<(usize, Ipv4Addr, Vec<u8>)>,
    /// Those that were lost.
    pub(crate) lost: Vec<Vec<u8>>,
}

impl<S: Protocol<Uses = Datagrams<M>>> Air<S> {
    /// Makes stations none of which hears another.
    pub(crate) fn new(count: usize, seed: u64, stack: impl Fn(usize) -> S) -> Self {
        let station = |nth: usize| {
            let lone = LoneStack::new(stack(nth), seed ^ nth as u64);
            let reasons = Reasons::default();
            lone.cx.listen(Box::new(reasons.clone()));
            Station { lone, reasons, link: None, hops: HashMap::new(), given: 0 }
        };
        let mut air = Air {
            stations: (0..count).map(station).collect(),
            hears: vec![vec![false; count]; count],
            now: Instant::START,
            flights: BTreeMap::new(),
            turns: 0,
            random: Rng::with_seed(seed),
            loss: 0.0,
            returns: false,
            sent: Vec::new(),
            lost: Vec::new(),
        };
        (0..count).for_each(|nth| air.settle(nth));
        air
    }

    /// Lets two hear each other, or not.
    pub(crate) fn join(&mut self, one: usize, other: usize, hear: bool) {
        self.hears[one][other] = hear;
        self.hears[other][one] = hear;
    }

    /// Lets each hear the next; in a ring, the last the first.
    pub(crate) fn line(&mut self, ring: bool) {
        let count = self.stations.len();
        for one in 0..count {
            for other in 0..one {
                let ends = ring && other == 0 && one + 1 == count;
                self.join(one, other, one - other == 1 || ends);
            }
        }
    }

    pub(crate) fn name(&mut self, nth: usize) -> Handle {
        self.stations[nth].given += 1;
        Handle { index: self.stations[nth].given, generation: 0 }
    }

    pub(crate) fn ask(&mut self, nth: usize, request: stackwright_contract::RequestTo<S>) {
        self.stations[nth].lone.ask(request);
        self.settle(nth);
    }

    /// Delivers a packet to a station at once.
    pub(crate) fn arrives(&mut self, nth: usize, packet: &[u8]) {
        if let Some(association) = self.stations[nth].link {
            self.deliver(nth, association, packet, false);
        }
    }

    fn deliver(&mut self, nth: usize, association: Handle, packet: &[u8], returned: bool) {
        let batch = M::with_headroom(16, packet).into();
        let properties = MessageProperties { returned, ..MessageProperties::default() };
        let word = DatagramsIndication::Delivered { association, batch, properties };
        self.stations[nth].lone.tell(word);
        self.settle(nth);
    }

    /// Does what a station asked for.
    fn settle(&mut self, nth: usize) {
        let path = PathLimits {
            frame_time: FRAME_TIME.as_micros() as u32,
            ..PathLimits::of_longest(LONGEST)
        };
        while !self.stations[nth].lone.said.down.is_empty() {
            for request in std::mem::take(&mut self.stations[nth].lone.said.down) {
                let station = &mut self.stations[nth];
                let local = participant(host(nth));
                match request {
                    DatagramsRequest::Listen { listener, local } => {
                        station.lone.tell(DatagramsIndication::Listening { listener, local });
                    }
                    DatagramsRequest::Await { association, .. } => {
                        station.link = Some(association);
                        let (remote, credit) = (Participant::OTHER_END, Credit::NONE);
                        let word = DatagramsIndication::Opened {
                            association,
                            local,
                            remote,
                            credit,
                            path,
                        };
                        station.lone.tell(word);
                    }
                    DatagramsRequest::Open { association, remote, .. } => {
                        let Address::InternetProtocol { host: IpAddr::V4(host), .. } =
                            remote.address
                        else {
                            panic!("a host: {remote}")
                        };
                        station.hops.insert(association, host);
                        let credit = Credit { octets: 1 << 16, messages: 64 };
                        let word = DatagramsIndication::Opened {
                            association,
                            local,
                            remote,
                            credit,
                            path,
                        };
                        station.lone.tell(word);
                    }
                    DatagramsRequest::Send { association, batch, .. } => {
                        let (next, credit) = (station.hops[&association], batch.cost());
                        station.lone.tell(DatagramsIndication::Credit { association, credit });
                        self.carry(nth, association, next, octets_of(&batch.into_single()));
                    }
                    DatagramsRequest::Close { name } => {
                        station.hops.remove(&name);
                        let why = Ended::Finished;
                        station.lone.tell(DatagramsIndication::Ended { name, why });
                    }
                    _ => {}
                }
            }
        }
    }

    fn carry(&mut self, from: usize, association: Handle, next: Ipv4Addr, packet: Vec<u8>) {
        assert!(packet.len() <= LONGEST && packet[8] > 0, "{packet:?}");
        self.sent.push((from, next, packet.clone()));
        let is_for_all = next == Ipv4Addr::BROADCAST;
        for to in 0..self.stations.len() {
            if to == from || !is_for_all && host(to) != next {
                continue;
            }
            if self.hears[to][from] && self.random.f64() >= self.loss {
                let after = FRAME_TIME.mul_f64(1.0 + self.random.f64());
                self.fly(to, after, Flight::Arrives(packet.clone()));
                continue;
            }
            if !is_for_all && self.returns && !self.hears[to][from] {
                self.fly(from, 6 * FRAME_TIME, Flight::Returns(association, packet.clone()));
            } else {
                self.lost.push(packet.clone());
            }
        }
    }

    fn fly(&mut self, to: usize, after: Duration, flight: Flight) {
        self.turns += 1;
        self.flights.insert((self.now + after, self.turns), (to, flight));
    }

    /// Does what is next, if it is not later than `until`; returns whether there was something.
    fn step(&mut self, until: Instant) -> bool {
        let due = |station: &Station<S>| station.lone.stack.next_deadline();
        let deadline = self.stations.iter().filter_map(due).min();
        let flight = self.flights.keys().next().map(|(at, _)| *at);
        let next = deadline.into_iter().chain(flight).min();
        let Some(at) = next.filter(|at| *at <= until) else { return false };
        self.now = self.now.max(at);
        self.stations.iter().for_each(|station| station.lone.cx.set_now(self.now));
        if flight.is_some_and(|flight| flight <= self.now)
            && let Some((_, (to, flight))) = self.flights.pop_first()
        {
            match flight {
                Flight::Arrives(packet) => self.arrives(to, &packet),
                Flight::Returns(association, packet) => {
                    self.deliver(to, association, &packet, true);
                }
            }
            return true;
        }
        for nth in 0..self.stations.len() {
            let LoneStack { stack, cx, said } = &mut self.stations[nth].lone;
            if stack.next_deadline().is_some_and(|at| at <= self.now) {
                stack.handle_timeout(cx, said);
                while stack.wants_flush() {
                    stack.flush(cx, said);
                }
                self.settle(nth);
            }
        }
        true
    }

    /// Has time pass; `each` is called after everything that happens.
    pub(crate) fn run(&mut self, time: Duration, mut each: impl FnMut(&mut Self)) {
        let until = self.now + time;
        while self.step(until) {
            each(self);
        }
        self.now = until;
        self.stations.iter().for_each(|station| station.lone.cx.set_now(until));
    }

    /// Returns whether nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        let idle = |station: &Station<S>| station.lone.stack.may_exit();
        self.flights.is_empty() && self.stations.iter().all(idle)
    }
}
