//! What lies between the stations: links, and what a test lets go wrong on them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use fastrand::Rng;
use stackwright_contract::Instant;
use stackwright_wire::Message;

use crate::{Carried, Conditions, Link, Packet, Segment, Word};

/// The network of a world.
#[derive(Debug)]
pub struct Network {
    random: Rng,
    conditions: Conditions,
    links: BTreeMap<(IpAddr, IpAddr), Link>,
    faults: Vec<(Which, Fault)>,
    associations: Vec<Association>,
    directions: BTreeMap<(SocketAddr, SocketAddr, u64), Direction>,
    in_flight: usize,
    most_in_flight: usize,
}

/// Which associations a fault befalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Each of them.
    Any,
    /// The n-th that anybody in this world asks for, counted from 0.
    Nth(usize),
    /// All that are asked of this address and port.
    To(SocketAddr),
}

/// What goes wrong with an association. Octets of both directions are counted together, as they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// When so many octets have passed, both sides see a reset, each when it reaches it.
    Cut {
        /// In octets.
        after: u64,
    },
    /// When so many octets have passed, nothing arrives any more, and nobody is told.
    Blackhole {
        /// In octets.
        after: u64,
    },
    /// Whoever asks is refused.
    Refuse,
}

/// One association that somebody asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Association {
    /// Who asked.
    pub from: SocketAddr,
    /// Of whom.
    pub to: SocketAddr,
    /// How many octets were sent on it so far, in both directions together.
    pub octets: u64,
    fault: Option<Fault>,
    passes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Direction {
    association: usize,
    /// When the last segment arrives: none of this direction arrives before it.
    last: Instant,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Network {
            random: Rng::with_seed(seed),
            conditions: Conditions::IDEAL,
            links: BTreeMap::new(),
            faults: Vec::new(),
            associations: Vec::new(),
            directions: BTreeMap::new(),
            in_flight: 0,
            most_in_flight: 0,
        }
    }

    /// From now on, all links that were not set on their own are like this.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.conditions = conditions;
        self.links.clear();
    }

    /// From now on, the way from `from` to `to` is like this; the way back is another.
    pub fn set_link(&mut self, from: IpAddr, to: IpAddr, conditions: Conditions) {
        let seed = self.random.u64(..);
        self.links.insert((from, to), Link::new(conditions, seed));
    }

    /// Lets `fault` befall all associations of `which` that are asked for from now on; the first fault set counts.
    pub fn fail(&mut self, which: Which, fault: Fault) {
        self.faults.push((which, fault));
    }

    /// All associations that were asked for, in this order.
    pub fn associations(&self) -> &[Association] {
        &self.associations
    }

    /// How many octets of payload are under way.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many octets of payload were ever under way at once.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// What becomes of `segment`. Nobody is at an address that is not `reachable`.
    pub(crate) fn carry<M: Message>(
        &mut self,
        now: Instant,
        mut segment: Segment<M>,
        reachable: bool,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        if matches!(segment.word, Word::Datagram(_)) {
            if reachable {
                self.carry_datagram(now, segment, arrivals);
            }
            return;
        }
        let nth = self.direction(&segment).association;
        let association = &mut self.associations[nth];
        if !association.passes {
            return;
        }
        let asks = matches!(segment.word, Word::Ask { .. });
        if asks && (!reachable || association.fault == Some(Fault::Refuse)) {
            association.passes = false;
            return self.carry_surely(now, segment.reply(Word::Reset), arrivals);
        }
        if !reachable {
            return;
        }
        let end = association.end();
        if let Word::Octets(message) = &mut segment.word {
            let left = usize::try_from(end.unwrap_or(u64::MAX) - association.octets).unwrap_or(usize::MAX);
            message.truncate(left);
            association.octets += message.len() as u64;
        }
        // An association that was only asked for has nothing to cut yet.
        let ends = !asks && end.is_some_and(|end| association.octets >= end);
        association.passes = !ends;
        let resets = if ends && matches!(association.fault, Some(Fault::Cut { .. })) {
            let (from, to, number) = (segment.from, segment.to, segment.number);
            let onward = Segment { from, to, number, word: Word::Reset };
            let back = onward.reply(Word::Reset);
            Some([onward, back])
        } else {
            None
        };
        self.carry_surely(now, segment, arrivals);
        for reset in resets.into_iter().flatten() {
            self.carry_surely(now, reset, arrivals);
        }
    }

    /// `segment` is not under way any more.
    pub(crate) fn landed<M: Message>(&mut self, segment: &Segment<M>) {
        self.in_flight -= segment.payload();
    }

    fn carry_datagram<M: Message>(
        &mut self,
        now: Instant,
        segment: Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        let link = self.link(segment.from.ip(), segment.to.ip());
        match link.carry(now, segment) {
            Carried::Lost => {}
            Carried::Once(time, segment) => self.launch(time, segment, arrivals),
            Carried::Twice(both) => {
                for (time, segment) in both {
                    self.launch(time, segment, arrivals);
                }
            }
        }
    }

    /// A lost segment of a stream is a late one, and what comes later waits behind it.
    fn carry_surely<M: Message>(
        &mut self,
        now: Instant,
        segment: Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        let link = self.link(segment.from.ip(), segment.to.ip());
        if let Some(time) = link.carry_surely(now, segment.octets()) {
            let direction = self.direction(&segment);
            direction.last = direction.last.max(time);
            let time = direction.last;
            self.launch(time, segment, arrivals);
        }
    }

    fn launch<M: Message>(
        &mut self,
        time: Instant,
        segment: Segment<M>,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        self.in_flight += segment.payload();
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        arrivals.push((time, segment));
    }

    fn link(&mut self, from: IpAddr, to: IpAddr) -> &mut Link {
        let Network { links, random, conditions, .. } = self;
        links.entry((from, to)).or_insert_with(|| Link::new(conditions.clone(), random.u64(..)))
    }

    /// The direction of `segment`; the first segment between two makes it an association.
    fn direction<M>(&mut self, segment: &Segment<M>) -> &mut Direction {
        let Segment { from, to, number, .. } = *segment;
        let Network { directions, associations, faults, .. } = self;
        if !directions.contains_key(&(from, to, number)) {
            let association = associations.len();
            let befalls = |which: &Which| match *which {
                Which::Any => true,
                Which::Nth(nth) => nth == association,
                Which::To(address) => address == to,
            };
            let fault = faults.iter().find(|(which, _)| befalls(which)).map(|(_, fault)| *fault);
            associations.push(Association { from, to, octets: 0, fault, passes: true });
            let direction = Direction { association, last: Instant::START };
            directions.insert((from, to, number), direction);
            directions.insert((to, from, number), direction);
        }
        directions.get_mut(&(from, to, number)).expect("made above")
    }
}

impl Association {
    /// After how many octets it is over.
    fn end(&self) -> Option<u64> {
        match self.fault? {
            Fault::Cut { after } | Fault::Blackhole { after } => Some(after),
            Fault::Refuse => None,
        }
    }
}
