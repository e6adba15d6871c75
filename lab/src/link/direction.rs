//! One way of the link: the model says when a packet arrives, and here it is held until then.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;

use stackwright_contract::Instant;
use stackwright_simulator::{Carried, Conditions, Counts, Link, Packet as _};

use super::counts::{Number, Report, Tallies, Why};
use super::train::{LONGEST, Segment, Train};
use super::tun::{Arrived, Tun};

/// How many octets are held at most, the memory of holding them included: half a second at 4 Gb/s. Beyond them, the newest is
/// dropped and counted.
const HELD_MOST: usize = 256 << 20;
/// What a packet takes beyond its own octets, about.
const HELD_EACH: usize = 160;
/// So many packets or trains are read, or written, before the other way has its turn.
const TURN: usize = 64;

/// One way of the link.
#[derive(Debug)]
pub(super) struct Direction {
    link: Link,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    /// Octets that `under_way` takes.
    held: usize,
    /// How many packets were held so far: those that arrive at the same time arrive in this order.
    order: u64,
    tallies: Tallies,
    /// Where packets are read into.
    packet: Box<[u8]>,
    /// Where headers are made.
    head: Vec<u8>,
}

/// A packet that will arrive.
#[derive(Debug)]
struct UnderWay {
    arrival: Instant,
    order: u64,
    number: Number,
    segment: Segment,
}

impl Direction {
    pub(super) fn new(conditions: Conditions, seed: u64) -> Direction {
        Direction {
            link: Link::new(conditions, seed),
            under_way: BinaryHeap::new(),
            held: 0,
            order: 0,
            tallies: Tallies::new(),
            packet: vec![0; LONGEST].into(),
            head: Vec::new(),
        }
    }

    /// When the next packet arrives.
    pub(super) fn next(&self) -> Option<Instant> {
        self.under_way.peek().map(|Reverse(first)| first.arrival)
    }

    /// What is known so far.
    pub(super) fn report(&self) -> Report {
        let under_way = self.under_way.len() as u64;
        Report { under_way, ..self.tallies.report(self.link.conditions().delay) }
    }

    /// Takes what `from` has, as much as is one's turn. Tells whether there may be more.
    ///
    /// # Errors
    ///
    /// Where the device is gone.
    pub(super) fn receive(&mut self, clock: impl Fn() -> Instant, from: &Tun) -> io::Result<bool> {
        for _ in 0..TURN {
            match from.read(&mut self.packet)? {
                Arrived::Nothing => return Ok(false),
                Arrived::Unknown => self.tallies.malformed += 1,
                Arrived::Packet(offload, octets) => match Train::decode(offload, &self.packet[..octets]) {
                    None => self.tallies.malformed += 1,
                    Some(train) => {
                        let now = clock();
                        Segment::all(train).for_each(|segment| self.offer(now, segment));
                    }
                },
            }
        }
        Ok(true)
    }

    /// Asks the model what becomes of it.
    fn offer(&mut self, now: Instant, segment: Segment) {
        let protocol = segment.protocol();
        let number = self.tallies.offered(protocol, segment.octets());
        let before = self.link.counts();
        match self.link.carry(now, segment) {
            Carried::Lost => self.tallies.dropped(protocol, why(before, self.link.counts())),
            Carried::Once(arrival, segment) => {
                self.tallies.under_way(protocol, arrival.since(now));
                self.hold(arrival, number, segment);
            }
            Carried::Twice([(arrival, segment), (later, twin)]) => {
                self.tallies.under_way(protocol, arrival.since(now));
                self.tallies.duplicated(protocol);
                self.hold(arrival, number, segment);
                self.hold(later, number, twin);
            }
        }
    }

    fn hold(&mut self, arrival: Instant, number: Number, segment: Segment) {
        let octets = segment.octets() + HELD_EACH;
        if self.held + octets > HELD_MOST {
            self.tallies.held_too_many += 1;
            return;
        }
        self.held += octets;
        self.order += 1;
        self.under_way.push(Reverse(UnderWay { arrival, order: self.order, number, segment }));
    }

    /// Writes what has arrived, as much as is one's turn; neighbours of one train leave together. Tells whether there was any.
    pub(super) fn deliver(&mut self, now: Instant, to: &Tun) -> bool {
        let mut any = false;
        for _ in 0..TURN {
            let Some(first) = self.arrived(now) else { break };
            any = true;
            let mut count = 1;
            let mut last = first.segment.clone();
            while let Some(Reverse(next)) = self.under_way.peek()
                && next.arrival <= now
                && last.precedes(&next.segment)
            {
                match self.arrived(now) {
                    Some(next) => last = next.segment,
                    None => break,
                }
                count += 1;
            }
            let rest = first.segment.encode(count, &mut self.head);
            if !to.write(&self.head, rest) {
                self.tallies.refused += count as u64;
            }
        }
        any
    }

    /// The next that has arrived by now.
    fn arrived(&mut self, now: Instant) -> Option<UnderWay> {
        if self.next().is_none_or(|arrival| arrival > now) {
            return None;
        }
        let Reverse(next) = self.under_way.pop()?;
        let octets = next.segment.octets();
        self.held -= octets + HELD_EACH;
        self.tallies.delivered(next.segment.protocol(), next.number, octets, next.segment.is_altered());
        Some(next)
    }
}

/// Why a packet was lost between these two.
fn why(before: Counts, after: Counts) -> Why {
    if after.lost > before.lost {
        Why::Lost
    } else if after.in_outage > before.in_outage {
        Why::Outage
    } else if after.too_long > before.too_long {
        Why::TooLong
    } else {
        Why::Queue
    }
}

impl PartialEq for UnderWay {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for UnderWay {}

impl PartialOrd for UnderWay {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UnderWay {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.arrival, self.order).cmp(&(other.arrival, other.order))
    }
}
