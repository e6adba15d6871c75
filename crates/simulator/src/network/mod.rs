//! What connects the stations: links, shared channels, and the faults of a test on them.

mod associations;
mod channels;
mod flights;
mod links;
mod paths;
mod traffic;

use std::collections::BTreeMap;
use std::net::IpAddr;

use fastrand::Rng;
use stackwright_contract::Instant;
use stackwright_wire::Message;

pub use associations::{Association, Fault, Which};
pub use flights::Flight;
pub(crate) use paths::LONGEST;
pub use traffic::Traffic;

use crate::{
    Carried, ChannelConditions, ChannelCounts, Conditions, Counts, Event, LinkPacket, Segment,
    SegmentWord,
};
use associations::Associations;
use channels::Channels;
use flights::Flights;
use links::Links;
use paths::Paths;
use traffic::Sent;

/// The network of a world.
#[derive(Debug)]
pub struct Network<M> {
    random: Rng,
    /// The place of addresses whose links and channels are those of another address.
    places: BTreeMap<IpAddr, IpAddr>,
    /// The members of each group.
    groups: BTreeMap<IpAddr, Vec<IpAddr>>,
    links: Links,
    channels: Channels<M>,
    associations: Associations,
    paths: Paths,
    sent: Sent,
    flights: Flights,
    /// The octets of payload in flight.
    in_flight: usize,
    most_in_flight: usize,
}

impl<M: Message> Network<M> {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let links = Links::new(random.u64(..));
        let (channels, associations) = (Channels::default(), Associations::default());
        let (places, paths, sent) = (BTreeMap::new(), Paths::default(), Sent::default());
        let flights = Flights::default();
        Network {
            random,
            places,
            groups: BTreeMap::new(),
            links,
            channels,
            associations,
            paths,
            sent,
            flights,
            in_flight: 0,
            most_in_flight: 0,
        }
    }

    /// Sets the conditions of all links that were not set on their own.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.links.set_conditions(conditions);
        self.paths.changed();
    }

    /// Lets what is sent from and to `address` travel, from now on, on the links and channels of
    /// `place`, which is an address too: several in one place share them.
    pub fn place(&mut self, address: IpAddr, place: IpAddr) {
        self.places.insert(address, place);
        self.paths.changed();
    }

    /// Has datagrams to the multicast address `group` reach all of `members`, but not their sender,
    /// from now on: each gets a copy, with a fate on its own link. Adapters join a group when they
    /// listen at its address or open an association with it.
    ///
    /// # Panics
    /// If `group` is no multicast address.
    pub fn group(&mut self, group: IpAddr, members: &[IpAddr]) {
        assert!(group.is_multicast(), "{group} is the address of no group");
        self.groups.insert(group, members.to_vec());
    }

    /// Sets the conditions of the link from `from` to `to`; the direction back has its own.
    pub fn set_link(&mut self, from: IpAddr, to: IpAddr, conditions: Conditions) {
        self.links.set(from, to, conditions);
        self.paths.changed();
    }

    /// Splits the network, from now on: stations with the same number hear each other by links of
    /// `conditions`, and nobody of another number.
    pub fn split(
        &mut self,
        parts: impl IntoIterator<Item = (IpAddr, u8)>,
        conditions: &Conditions,
    ) {
        let parts: Vec<_> = parts.into_iter().collect();
        for (from, part) in &parts {
            for (to, other) in parts.iter().filter(|(to, _)| to != from) {
                let loss = if part == other { conditions.loss.clone() } else { 1.0.into() };
                self.set_link(*from, *to, Conditions { loss, ..conditions.clone() });
            }
        }
    }

    /// Lets these stations share a half-duplex channel, from now on: datagrams between them travel
    /// on it, and no stream does.
    ///
    /// # Panics
    /// If one of them is on a channel already, or if [`Channel::new`](crate::Channel::new) does.
    pub fn share(&mut self, stations: &[IpAddr], conditions: ChannelConditions) {
        self.channels.add(stations, conditions, self.random.u64(..));
        self.paths.changed();
    }

    /// Lets each link keep a log, from now on, of what happens to its packets. Channels keep none.
    pub fn keep_log(&mut self) {
        self.links.keep_log();
    }

    /// Returns what happened to packets on links since the log is kept, link by link: from which
    /// address, to which, and what.
    pub fn log(&self) -> Vec<(IpAddr, IpAddr, Event)> {
        self.links.log()
    }

    /// Scripts the link from `from` to `to`, which has no randomness any more: exactly `events`
    /// happen to its packets, which are counted from the first that is sent from now on. Other
    /// links are unchanged.
    pub fn script(&mut self, from: IpAddr, to: IpAddr, events: Vec<Event>) {
        self.links.script(from, to, events);
    }

    /// Scripts all links from now on: exactly what `log` says happens to their packets. A world
    /// like the one that kept the log, and replays it from the beginning, runs as that one did.
    pub fn replay(&mut self, log: &[(IpAddr, IpAddr, Event)]) {
        self.links.replay(log);
    }

    /// Returns the counters of the link from `from` to `to`.
    pub fn counts(&self, from: IpAddr, to: IpAddr) -> Counts {
        self.links.counts(from, to)
    }

    /// Counts, from now on, what is sent from each address to each other.
    pub fn keep_traffic(&mut self) {
        self.sent.keep();
    }

    /// Returns what was sent from one address to another, whatever became of it, since
    /// [`keep_traffic`](Network::keep_traffic): several addresses in one place share a link, and
    /// are told apart here.
    pub fn traffic(&self, from: IpAddr, to: IpAddr) -> Traffic {
        self.sent.between(from, to)
    }

    /// Keeps, from now on, which packets are under way when.
    pub fn keep_flights(&mut self) {
        self.flights.keep();
    }

    /// Returns the packets that were sent since [`keep_flights`](Network::keep_flights), in their
    /// order.
    pub fn flights(&self) -> &[Flight] {
        self.flights.all()
    }

    /// Returns the counters of the channel that `station` is on; `None` if it is on none.
    pub fn channel_counts(&self, station: IpAddr) -> Option<ChannelCounts> {
        self.channels.counts(station)
    }

    /// Lets `fault` befall all associations of `which` that are asked for from now on; the first
    /// fault set counts.
    pub fn fail(&mut self, which: Which, fault: Fault) {
        self.associations.fail(which, fault);
    }

    /// All associations that were asked for, in this order.
    pub fn associations(&self) -> &[Association] {
        &self.associations.all
    }

    /// How many octets of payload are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight + self.channels.payload()
    }

    /// How many octets of payload were ever in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// What becomes of `segment`. No station is at an address that is not `reachable`.
    pub(crate) fn carry(
        &mut self,
        now: Instant,
        mut segment: Segment<M>,
        reachable: bool,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        if matches!(segment.word, SegmentWord::AskPath) {
            return self.tell_path(now, segment.from.ip(), segment.to.ip(), arrivals);
        }
        if matches!(segment.word, SegmentWord::Datagram(_)) {
            if segment.to.ip().is_multicast() {
                self.carry_to_group(now, &segment, arrivals);
            } else if reachable {
                self.carry_datagram(now, segment, arrivals);
            }
            return;
        }
        let nth = self.associations.direction(&segment).association;
        let association = &mut self.associations.all[nth];
        if !association.passes {
            return;
        }
        let asks = matches!(segment.word, SegmentWord::Ask { .. });
        if asks && (!reachable || association.fault == Some(Fault::Refuse)) {
            association.passes = false;
            return self.carry_surely(now, segment.reply(SegmentWord::Reset { code: 0 }), arrivals);
        }
        if !reachable {
            return;
        }
        let end = association.end();
        if let SegmentWord::Octets(message) = &mut segment.word {
            let left =
                usize::try_from(end.unwrap_or(u64::MAX) - association.octets).unwrap_or(usize::MAX);
            message.truncate(left);
            association.octets += message.len() as u64;
        }
        // An association that was only requested has nothing to cut yet.
        let ends = !asks && end.is_some_and(|end| association.octets >= end);
        association.passes = !ends;
        let resets = if ends && matches!(association.fault, Some(Fault::Cut { .. })) {
            let (from, to, number) = (segment.from, segment.to, segment.number);
            let onward = Segment::new(from, to, number, SegmentWord::Reset { code: 0 });
            let back = onward.reply(SegmentWord::Reset { code: 0 });
            Some([onward, back])
        } else {
            None
        };
        self.carry_surely(now, segment, arrivals);
        for reset in resets.into_iter().flatten() {
            self.carry_surely(now, reset, arrivals);
        }
    }

    /// Records that `segment` is not in flight any more.
    pub(crate) fn landed(&mut self, segment: &Segment<M>) {
        self.in_flight -= segment.payload();
    }

    /// Returns when [`handle_timeout`](Network::handle_timeout) is due, which may have been before
    /// now.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.paths.is_stale() { Some(Instant::START) } else { self.channels.next_deadline() }
    }

    /// Indicates changes of paths, and lets time pass on the channels.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        self.tell_changes(now, arrivals);
        let Network { channels, in_flight, flights, places, .. } = self;
        channels.handle_timeout(now, |time, segment| {
            *in_flight += segment.payload();
            let way = [segment.from.ip(), segment.to.ip()];
            let [from, to] = way.map(|address| places.get(&address).copied().unwrap_or(address));
            flights.arrived(time, (from, to), segment.octets());
            arrivals.push((time, segment));
        });
    }

    /// Carries a copy to each member. What is sent to the group is counted once, beside what is
    /// sent to each member.
    fn carry_to_group(
        &mut self,
        now: Instant,
        segment: &Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        let (from, group) = (segment.from.ip(), segment.to.ip());
        self.sent.count(from, group, segment.octets());
        let members = self.groups.get(&group).cloned().unwrap_or_default();
        for member in members.into_iter().filter(|member| *member != from) {
            self.carry_datagram(now, segment.for_member(member), arrivals);
        }
    }

    fn carry_datagram(
        &mut self,
        now: Instant,
        segment: Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        self.sent.count(segment.from.ip(), segment.to.ip(), segment.octets());
        let (from, to) = (self.place_of(segment.from.ip()), self.place_of(segment.to.ip()));
        let octets = segment.octets();
        if let Some(between) = self.channels.between(from, to) {
            self.flights.sent(now, (from, to), octets);
            self.channels.send(now, between, segment);
            self.most_in_flight = self.most_in_flight.max(self.in_flight());
            return;
        }
        let link = self.links.link(from, to);
        let nth = Some(link.counts().offered);
        let carried = link.carry(now, segment);
        self.flights.carried(|| {
            let arrivals = match &carried {
                Carried::Lost => Vec::new(),
                Carried::Once(time, _) => vec![*time],
                Carried::Twice(both) => both.iter().map(|(time, _)| *time).collect(),
            };
            Flight { from, to, nth, octets, sent: now, arrivals }
        });
        match carried {
            Carried::Lost => {}
            Carried::Once(time, segment) => self.launch(time, segment, arrivals),
            Carried::Twice(both) => {
                for (time, segment) in both {
                    self.launch(time, segment, arrivals);
                }
            }
        }
    }

    fn place_of(&self, address: IpAddr) -> IpAddr {
        self.places.get(&address).copied().unwrap_or(address)
    }

    /// A lost segment of a stream is a late one, and later ones wait behind it.
    fn carry_surely(
        &mut self,
        now: Instant,
        segment: Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        self.sent.count(segment.from.ip(), segment.to.ip(), segment.octets());
        let (from, to) = (self.place_of(segment.from.ip()), self.place_of(segment.to.ip()));
        assert!(
            self.channels.between(from, to).is_none(),
            "a simulated stream between {from} and {to}, which share a channel: put a transport over datagrams there"
        );
        let (link, octets) = (self.links.link(from, to), segment.octets());
        let nth = Some(link.counts().offered);
        let arrival = link.carry_surely(now, octets);
        self.flights.carried(|| {
            let arrivals = arrival.into_iter().collect();
            Flight { from, to, nth, octets, sent: now, arrivals }
        });
        if let Some(time) = arrival {
            let direction = self.associations.direction(&segment);
            direction.last = direction.last.max(time);
            let time = direction.last;
            self.launch(time, segment, arrivals);
        }
    }

    fn launch(
        &mut self,
        time: Instant,
        segment: Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        self.in_flight += segment.payload();
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        arrivals.push((time, segment));
    }
}
