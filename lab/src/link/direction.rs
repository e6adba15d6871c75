//! One way of the link: what has been read and written, and what is held until it arrives.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io::{self, IoSlice};

use stackwright_contract::Instant;
use stackwright_drivers::tun::{Device, LONGEST, TunRead};
use stackwright_simulator::LinkPacket as _;

use super::counts::Tallies;
use super::segment::Segment;
use super::sent::Sent;

/// How many octets are held at most, the memory of holding them included: half a second at 4 Gb/s.
/// Beyond them, the newest is dropped and counted.
const HELD_MOST: usize = 256 << 20;
/// What a packet takes beyond its own octets, about.
const HELD_EACH: usize = 160;
/// So many packets or super-packets are read, or written, before the other way has its turn.
const TURN: usize = 64;

/// One way of the link.
#[derive(Debug)]
pub(super) struct Direction {
    /// 0 forward, 1 back.
    way: usize,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    /// Octets that `under_way` takes.
    held: usize,
    /// How many packets were held so far: those that arrive at the same time arrive in this order.
    order: u64,
    pub(super) tallies: Tallies,
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
    sent: Sent,
}

impl Direction {
    pub(super) fn new(way: usize) -> Direction {
        Direction {
            way,
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

    /// How many packets have not arrived yet.
    pub(super) fn waiting(&self) -> u64 {
        self.under_way.len() as u64
    }

    /// Takes what `from` has, as much as is one's turn. Tells whether there may be more.
    ///
    /// # Errors
    ///
    /// Where the device is gone.
    pub(super) fn receive(
        &mut self,
        from: &Device,
        clock: impl Fn() -> Instant,
        mut offer: impl FnMut(&mut Direction, Sent),
    ) -> io::Result<bool> {
        for _ in 0..TURN {
            let segments = match from.read(&mut self.packet, &mut [])? {
                TunRead::Nothing => return Ok(false),
                TunRead::Unknown => None,
                TunRead::Frame(offload, octets) => Segment::all(offload, &self.packet[..octets]),
            };
            let Some(segments) = segments else {
                self.tallies.malformed += 1;
                continue;
            };
            let time = clock();
            for segment in segments {
                let number = self.tallies.offered(segment.protocol(), segment.octets());
                offer(self, Sent { segment, number, way: self.way, time });
            }
        }
        Ok(true)
    }

    /// Holds a packet until it arrives, once or once more.
    pub(super) fn hold(&mut self, arrival: Instant, sent: Sent) {
        let octets = sent.octets() + HELD_EACH;
        if self.held + octets > HELD_MOST {
            self.tallies.held_too_many += 1;
            return;
        }
        self.held += octets;
        self.order += 1;
        self.under_way.push(Reverse(UnderWay { arrival, order: self.order, sent }));
    }

    /// Writes what has arrived, as much as is one's turn; neighbours of one super-packet together.
    /// Tells whether there was any.
    pub(super) fn deliver(&mut self, now: Instant, to: &Device) -> bool {
        let mut any = false;
        for _ in 0..TURN {
            let Some(first) = self.arrived(now) else { break };
            any = true;
            let mut count = 1;
            let mut last = first.segment.clone();
            while let Some(Reverse(next)) = self.under_way.peek()
                && next.arrival <= now
                && last.precedes(&next.sent.segment)
            {
                match self.arrived(now) {
                    Some(next) => last = next.segment,
                    None => break,
                }
                count += 1;
            }
            let rest = first.segment.encode(count, &mut self.head);
            let pieces = [IoSlice::new(&self.head), IoSlice::new(rest)];
            if to.write(&pieces).is_err() {
                self.tallies.refused += count as u64;
            }
        }
        any
    }

    /// The next that has arrived by now.
    fn arrived(&mut self, now: Instant) -> Option<Sent> {
        if self.next().is_none_or(|arrival| arrival > now) {
            return None;
        }
        let Reverse(UnderWay { sent, arrival, .. }) = self.under_way.pop()?;
        self.tallies.late(now.since(arrival));
        let octets = sent.octets();
        self.held -= octets + HELD_EACH;
        let segment = &sent.segment;
        self.tallies.delivered(segment.protocol(), sent.number, octets, segment.is_altered());
        Some(sent)
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
