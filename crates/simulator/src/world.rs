//! A world: a clock, a network, stations, and the future events.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard};

use fastrand::Rng;
use stackwright_contract::ask::{Ask, FrameTime, Query, Question, ask};
use stackwright_contract::{Context, Duration, Instant, NameAbove, Protocol, RequestTo, earliest};
use stackwright_wire::Message;

use crate::events::{Events, What};
use crate::nat::Translators;
use crate::packets::Packets;
use crate::station::{Departures, Hosted, Station, StationId};
use crate::trace::{Notes, UNBROKEN};
use crate::{Application, DriftingClock, Drops, Lanes, Network, Segment, Trace};

/// Stations, a network between them, and time that passes only from one event to the next.
pub struct World<M> {
    now: Instant,
    random: Rng,
    network: Network<M>,
    stations: Vec<Seat<M>>,
    /// The owner of each address: the station, and the lane of its adapter.
    addresses: BTreeMap<IpAddr, (usize, usize)>,
    translators: Translators,
    events: Events<M>,
    /// The earliest time for which the network's wake is among the events.
    network_wakes: Option<Instant>,
    trace: Option<Arc<RwLock<Trace>>>,
    keeps_drops: bool,
    packets: Option<Packets>,
    // Lists that are empty between two events: kept for their memory.
    departures: Departures<M>,
    landing: Vec<(usize, Segment<M>)>,
    launched: Vec<(Instant, Segment<M>)>,
}

struct Seat<M> {
    station: Box<dyn Station<M>>,
    address: Option<IpAddr>,
    clock: DriftingClock,
    /// Until when nothing of it runs.
    sleeps: Instant,
    /// The earliest time for which a `Wake` is among the events.
    wakes: Option<Instant>,
    /// What its protocols dropped, if that is kept.
    drops: Arc<Mutex<Drops>>,
}

impl<M: Message> World<M> {
    /// Makes an empty world with an ideal network. All its randomness is derived from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        World {
            now: Instant::START,
            network: Network::new(random.u64(..)),
            random,
            stations: Vec::new(),
            addresses: BTreeMap::new(),
            translators: Translators::default(),
            events: Events::new(),
            network_wakes: None,
            trace: None,
            keeps_drops: false,
            packets: None,
            departures: Vec::new(),
            landing: Vec::new(),
            launched: Vec::new(),
        }
    }

    /// Adds a station: a stack with one adapter that reaches the network, and the application on
    /// top of it.
    ///
    /// # Panics
    /// If the address is taken, or the stack reaches the network through more adapters, or none.
    pub fn add<P, A>(&mut self, address: IpAddr, stack: P, application: A) -> StationId<P, A>
    where
        P: Protocol<Uses: Lanes<M>> + 'static,
        A: Application<P> + 'static,
    {
        self.add_at(&[address], stack, application)
    }

    /// Adds a station whose stack reaches the network through several adapters, or none: one
    /// address for each, from the left.
    ///
    /// # Panics
    /// If an address is taken, or there are more or fewer addresses than adapters.
    pub fn add_at<P, A>(
        &mut self,
        addresses: &[IpAddr],
        stack: P,
        application: A,
    ) -> StationId<P, A>
    where
        P: Protocol<Uses: Lanes<M>> + 'static,
        A: Application<P> + 'static,
    {
        let lanes = <P::Uses as Lanes<M>>::LANES;
        // A lane without an address is detected when a segment leaves from it.
        let fits =
            addresses.len() == lanes || !<P::Uses as Lanes<M>>::EXACTLY && addresses.len() < lanes;
        assert!(fits, "one address for each of {lanes} adapters of `{}`", P::FACTS.name);
        let index = self.stations.len();
        for (lane, address) in addresses.iter().enumerate() {
            let before = self.addresses.insert(*address, (index, lane));
            assert!(before.is_none(), "{address} is the address of another adapter already");
        }
        let address = addresses.first().copied();
        let station = Hosted::new(self.random.u64(..), stack, application);
        let (station, drops) = (Box::new(station), Arc::default());
        let (clock, sleeps) = (DriftingClock::default(), Instant::START);
        self.stations.push(Seat { station, address, clock, sleeps, wakes: None, drops });
        if self.trace.is_some() || self.keeps_drops {
            self.listen(index);
        }
        self.batch(index);
        StationId { index, kind: PhantomData }
    }

    /// Returns the time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the network.
    pub fn network(&self) -> &Network<M> {
        &self.network
    }

    /// Returns the network, to be changed.
    pub fn network_mut(&mut self) -> &mut Network<M> {
        &mut self.network
    }

    /// Translates, from now on, the address of a station: what it sends bears the address `outside`
    /// and a port that is higher by `shift`, and what is sent there reaches it. Called again, the
    /// translator has lost its bindings: nothing passes by the earlier ones, in flight or not.
    pub fn translate(&mut self, station: IpAddr, outside: IpAddr, shift: u16) {
        self.translators.put(station, outside, shift);
    }

    /// Lets a station have this clock, from now on.
    pub fn set_clock<P, A>(&mut self, station: StationId<P, A>, clock: DriftingClock) {
        self.stations[station.index].clock = clock;
    }

    /// Suspends a station for `time`: what arrives meanwhile, and what becomes due, it handles all
    /// at once when it runs again.
    pub fn suspend<P, A>(&mut self, station: StationId<P, A>, time: Duration) {
        self.stations[station.index].sleeps = self.now + time;
    }

    /// Keeps a trace from now on.
    pub fn keep_trace(&mut self) {
        self.trace = Some(Arc::default());
        (0..self.stations.len()).for_each(|index| self.listen(index));
    }

    /// Counts, from now on, what the protocols of each station drop.
    pub fn keep_drops(&mut self) {
        self.keeps_drops = true;
        (0..self.stations.len()).for_each(|index| self.listen(index));
    }

    /// Returns what the protocols of a station dropped since [`keep_drops`](World::keep_drops).
    pub fn drops<P, A>(&self, station: StationId<P, A>) -> Drops {
        self.stations[station.index].drops.lock().expect(UNBROKEN).clone()
    }

    /// Takes the notes of a station's protocols.
    fn listen(&self, index: usize) {
        let Seat { station, address, drops, .. } = &self.stations[index];
        let drops = self.keeps_drops.then(|| Arc::clone(drops));
        let notes = Notes { trace: self.trace.clone(), drops, station: *address };
        station.context().listen(Box::new(notes));
    }

    /// Returns the trace.
    ///
    /// # Panics
    /// If none is kept.
    pub fn trace(&self) -> RwLockReadGuard<'_, Trace> {
        let trace = self.trace.as_ref().expect("`keep_trace` comes first");
        trace.read().expect(UNBROKEN)
    }

    /// Keeps a capture, from now on, of what leaves the adapters at these addresses and of what
    /// reaches them. Wireshark expects one side of a link: if both are in one file it takes each
    /// arrival for a copy.
    pub fn keep_packets(&mut self, addresses: &[IpAddr]) {
        self.packets = Some(Packets::of(addresses));
    }

    /// Takes what was written of the capture since the last call: pcapng. Empty if none is kept.
    pub fn take_packets(&mut self) -> Vec<u8> {
        self.packets.as_mut().map(Packets::take).unwrap_or_default()
    }

    /// Makes a request to the stack of a station, and runs it until nothing more is due now.
    pub fn ask<P, A>(&mut self, station: StationId<P, A>, request: RequestTo<P>)
    where
        P: Protocol<Uses: Lanes<M>> + 'static,
        A: Application<P> + 'static,
    {
        self.hosted_mut(station).ask(request);
        self.note(station.index, format_args!("asked"));
        self.batch(station.index);
    }

    /// Makes requests to the stacks of several stations at one instant: all requests to one station
    /// are one batch. So a crowd acts at once, and what it sends to one station over equal links is
    /// one batch there, too.
    pub fn ask_all<P, A>(
        &mut self,
        requests: impl IntoIterator<Item = (StationId<P, A>, RequestTo<P>)>,
    ) where
        P: Protocol<Uses: Lanes<M>> + 'static,
        A: Application<P> + 'static,
    {
        let mut asked = BTreeSet::new();
        for (station, request) in requests {
            self.hosted_mut(station).ask(request);
            self.note(station.index, format_args!("asked"));
            asked.insert(station.index);
        }
        for index in asked {
            self.batch(index);
        }
    }

    /// Asks the stack of a station a [question](stackwright_contract::ask); the network answers how
    /// long a frame takes ([`FrameTime`]), if its links bound both rate and length.
    pub fn question<P, A, Q>(
        &self,
        station: StationId<P, A>,
        about: NameAbove<P>,
        query: Q,
    ) -> Option<Q::Answer>
    where
        P: Protocol<Uses: Lanes<M>> + 'static,
        A: 'static,
        Q: Query,
    {
        ask(self.stack(station), about, query, &Below(&self.network))
    }

    /// Returns the stack of a station.
    pub fn stack<P: Protocol + 'static, A: 'static>(&self, station: StationId<P, A>) -> &P {
        &self.hosted(station).stack
    }

    /// Returns the stack of a station, to be changed between two events.
    pub fn stack_mut<P: Protocol + 'static, A: 'static>(
        &mut self,
        station: StationId<P, A>,
    ) -> &mut P {
        &mut self.hosted_mut(station).stack
    }

    /// Returns the application of a station.
    pub fn application<P: Protocol + 'static, A: 'static>(&self, station: StationId<P, A>) -> &A {
        &self.hosted(station).application
    }

    /// Returns the application of a station, to be changed.
    pub fn application_mut<P: Protocol + 'static, A: 'static>(
        &mut self,
        station: StationId<P, A>,
    ) -> &mut A {
        &mut self.hosted_mut(station).application
    }

    /// Returns the context that is lent to the stack of a station.
    pub fn context<P: Protocol + 'static, A: 'static>(&self, station: StationId<P, A>) -> &Context {
        &self.hosted(station).cx
    }

    /// Returns the time of the next event.
    pub fn next_event(&self) -> Option<Instant> {
        let network = self.network.next_deadline().map(|deadline| deadline.max(self.now));
        earliest(self.events.next(), network)
    }

    /// Handles the next event and everything that follows from it at that time in the same station;
    /// what else arrives there at the same time belongs to the same batch. Returns `false` if there
    /// are no more events.
    pub fn step(&mut self) -> bool {
        // The test may have changed the network since the last step.
        self.launch();
        let Some((time, what)) = self.events.take() else { return false };
        self.now = time;
        let station = what.station();
        if let Some(until) = station.map(|station| self.stations[station].sleeps)
            && until > time
        {
            self.events.add(until, what);
            return true;
        }
        self.happen(what);
        if let Some(station) = station {
            while let Some(what) = self.events.take_if(time, station) {
                self.happen(what);
            }
            self.batch(station);
        }
        true
    }

    /// Runs until `done`, called after every step. Returns `false` if that did not happen within
    /// `limit` from now, or there are no more events; the time is then the end of `limit`.
    #[must_use = "it may not have come to that"]
    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool, limit: Duration) -> bool {
        let end = self.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if self.next_event().is_none_or(|time| time > end) {
                self.now = end;
                return false;
            }
            self.step();
        }
    }

    /// Lets `time` pass.
    pub fn run_for(&mut self, time: Duration) {
        let _never_done = self.run_until(|_| false, time);
    }

    fn happen(&mut self, what: What<M>) {
        match what {
            What::Arrival { station, lane, mut segment } => {
                self.network.landed(&segment);
                match self.translators.enters(segment.to) {
                    Some(to) if self.addresses.get(&to.ip()) == Some(&(station, lane)) => {
                        segment.to = to;
                    }
                    _ => return, // its translator was replaced meanwhile
                }
                if let Some(trace) = &self.trace {
                    trace.write().expect(UNBROKEN).arrival(self.now, &segment);
                }
                if let Some(packets) = &mut self.packets {
                    packets.arrived(self.now, &segment);
                }
                self.landing.push((lane, segment));
            }
            What::Wake { station } => {
                let seat = &mut self.stations[station];
                // A later wake may have been preceded by an earlier one, which is no longer among
                // the events.
                if seat.wakes.is_some_and(|time| time <= self.now) {
                    seat.wakes = None;
                }
            }
            What::Network => {
                if self.network_wakes.is_some_and(|time| time <= self.now) {
                    self.network_wakes = None;
                }
                self.network.handle_timeout(self.now, &mut self.launched);
                self.launch();
            }
        }
    }

    /// Runs one batch of a station, sends what leaves, and schedules the station's next wake.
    fn batch(&mut self, index: usize) {
        let seat = &mut self.stations[index];
        if seat.sleeps > self.now {
            return self.events.add(seat.sleeps, What::Wake { station: index });
        }
        let now = seat.clock.reads(self.now);
        seat.station.batch(now, &mut self.landing, &mut self.departures);
        let deadline = seat.station.next_deadline().map(|deadline| seat.clock.shows(deadline));
        for (lane, mut segment) in self.departures.drain(..) {
            let from = segment.from.ip();
            assert!(
                self.addresses.get(&from) == Some(&(index, lane)),
                "a segment leaves from {from}, which is not the address of its adapter"
            );
            if let Some(packets) = &mut self.packets {
                packets.left(self.now, &segment);
            }
            segment.from = self.translators.leaves(segment.from);
            let to = self.translators.enters(segment.to);
            let reachable = to.is_some_and(|to| self.addresses.contains_key(&to.ip()));
            self.network.carry(self.now, segment, reachable, &mut self.launched);
        }
        self.launch();
        if let Some(deadline) = deadline {
            let seat = &mut self.stations[index];
            if seat.wakes.is_none_or(|time| time > deadline) {
                seat.wakes = Some(deadline);
                self.events.add(deadline, What::Wake { station: index });
            }
        }
    }

    /// Schedules the arrivals of the network, and its next wake.
    fn launch(&mut self) {
        for (time, segment) in self.launched.drain(..) {
            let to = self.translators.enters(segment.to);
            match to.and_then(|to| self.addresses.get(&to.ip())) {
                Some(&(station, lane)) => {
                    self.events.add(time, What::Arrival { station, lane, segment });
                }
                None => self.network.landed(&segment), // its translator was replaced meanwhile
            }
        }
        if let Some(deadline) = self.network.next_deadline().map(|deadline| deadline.max(self.now))
            && self.network_wakes.is_none_or(|time| time > deadline)
        {
            self.network_wakes = Some(deadline);
            self.events.add(deadline, What::Network);
        }
    }

    fn note(&self, index: usize, what: std::fmt::Arguments<'_>) {
        if let Some(trace) = &self.trace {
            trace.write().expect(UNBROKEN).note(self.now, self.stations[index].address, what);
        }
    }

    fn hosted<P: Protocol + 'static, A: 'static>(&self, station: StationId<P, A>) -> &Hosted<P, A> {
        let any = self.stations[station.index].station.as_any();
        any.downcast_ref().expect("a station is named by the world that it belongs to")
    }

    fn hosted_mut<P: Protocol + 'static, A: 'static>(
        &mut self,
        station: StationId<P, A>,
    ) -> &mut Hosted<P, A> {
        let any = self.stations[station.index].station.as_any_mut();
        any.downcast_mut().expect("a station is named by the world that it belongs to")
    }
}

/// The network, as the layer below of the stacks' questions.
struct Below<'a, M>(&'a Network<M>);

impl<M: Message, S: Lanes<M>> Ask<S> for Below<'_, M> {
    fn ask(&self, about: S::Name, question: &mut Question<'_>) {
        let (from, to) = S::link(about);
        question.answer::<FrameTime>(|_| self.0.frame_time(from, to));
    }
}
