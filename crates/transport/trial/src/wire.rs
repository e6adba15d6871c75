//! The link between two ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Conditions, Event, Link, LinkPacket, Reorder};

struct Octets(Vec<u8>);

impl LinkPacket for Octets {
    fn octets(&self) -> usize {
        self.0.len()
    }

    fn twin(&self) -> Self {
        Octets(self.0.clone())
    }

    fn alter(&mut self, bit: u64) {
        if let Some(bit) = bit.checked_rem(8 * self.0.len() as u64) {
            self.0[bit as usize / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Two links, and what is on them, in the order of arrival.
pub(crate) struct Wire {
    links: [Link; 2],
    /// When, the how manyth, to whom; what lies in `packets`.
    arrivals: BinaryHeap<Reverse<(Instant, usize, usize)>>,
    packets: Vec<Option<Vec<u8>>>,
}

impl Wire {
    pub(crate) fn new(conditions: &Conditions, seed: u64) -> Self {
        let link =
            |side: u64| Link::new(conditions.clone(), seed.wrapping_mul(2).wrapping_add(side));
        Wire { links: [link(0), link(1)], arrivals: BinaryHeap::new(), packets: Vec::new() }
    }

    pub(crate) fn scripted(conditions: &Conditions, events: [Vec<Event>; 2]) -> Self {
        let links = events.map(|events| Link::scripted(conditions.clone(), events));
        Wire { links, arrivals: BinaryHeap::new(), packets: Vec::new() }
    }

    pub(crate) fn set_conditions(&mut self, conditions: &Conditions) {
        for link in &mut self.links {
            link.set_conditions(conditions.clone());
        }
    }

    pub(crate) fn carry(&mut self, now: Instant, side: usize, octets: Vec<u8>) {
        match self.links[side].carry(now, Octets(octets)) {
            Carried::Lost => {}
            Carried::Once(at, packet) => self.arrives(at, 1 - side, packet),
            Carried::Twice(both) => {
                for (at, packet) in both {
                    self.arrives(at, 1 - side, packet);
                }
            }
        }
    }

    fn arrives(&mut self, at: Instant, side: usize, packet: Octets) {
        self.arrivals.push(Reverse((at, self.packets.len(), side)));
        self.packets.push(Some(packet.0));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.arrivals.peek().map(|Reverse((at, ..))| *at)
    }

    /// Whether something else arrives at the same moment, at the same end.
    pub(crate) fn is_next(&self, at: Instant, side: usize) -> bool {
        self.arrivals.peek().is_some_and(|Reverse((next, _, to))| (*next, *to) == (at, side))
    }

    pub(crate) fn take(&mut self) -> Option<(Instant, usize, Vec<u8>)> {
        let Reverse((at, nth, side)) = self.arrivals.pop()?;
        let octets = self.packets[nth].take()?;
        if self.arrivals.is_empty() {
            self.packets.clear();
        }
        Some((at, side, octets))
    }
}

/// A link that loses, doubles and reorders packets, as follows from `seed`; and alters them, where
/// that is `checked`.
pub fn bad(seed: u64, checked: bool) -> Conditions {
    let mut random = Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(0..20)),
        jitter: Duration::from_millis(random.u64(0..20)),
        loss: (random.f64() * 0.2).into(),
        duplicate: random.f64() * 0.1,
        reorder: Reorder {
            probability: random.f64() * 0.1,
            by: Duration::from_millis(random.u64(1..60)),
        },
        corrupt: if checked { random.f64() * 0.1 } else { 0.0 },
        ..Conditions::IDEAL
    }
}
