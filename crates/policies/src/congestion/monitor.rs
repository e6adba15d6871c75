//! What the last round trips show of a path.

use stackwright_contract::Instant;
use stackwright_transport::Acknowledged;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND, View};

/// For how long the shortest round trip counts: twice this at the most.
const LEAST_COUNTS: Nanoseconds = 2 * SECOND;

/// A round trip counts for this part of what is lost, or for as much as it has of these octets of
/// packets: that of many packets says more.
const SMOOTHED: f64 = 1.0 / 16.0;
const PACKETS: f64 = 256.0;

/// The part of the greatest rate that each round trip leaves: with a queue, the path was full, and
/// shows its rate; without one, there may have been too little to send, or too small a window.
const RATE_LEFT: f64 = 31.0 / 32.0;
const RATE_LEFT_UNFILLED: f64 = 511.0 / 512.0;

/// In how many of 16 round trips something has to be lost: one burst is no share.
const LOSSY: u32 = 4;

/// Packets in flight times the root of the share that is lost, of a window that takes each loss for
/// congestion (Mathis et al.).
const MATHIS: f64 = 1.2;

/// Counts what arrives and what is lost in each round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Monitor {
    packet: f64,
    /// Of this round trip, in octets; the shortest time that a packet took.
    lost: u64,
    arrived: u64,
    shortest: Nanoseconds,
    /// When it began, and the number that ends it.
    began: Instant,
    upto: u64,
    /// The smoothed share of what is sent that is lost without a queue, and in which of the last
    /// round trips something was.
    share: f64,
    lossy: u16,
    /// The shortest time of late, and of the time before that.
    least: [Nanoseconds; 2],
    least_since: Instant,
    /// The greatest rate of late, in octets per nanosecond.
    rate: f64,
}

impl Monitor {
    pub(super) const fn new(packet: u64) -> Self {
        Monitor {
            packet: packet as f64,
            lost: 0,
            arrived: 0,
            shortest: Nanoseconds::MAX,
            began: Instant::START,
            upto: 0,
            share: 0.0,
            lossy: 0,
            least: [Nanoseconds::MAX; 2],
            least_since: Instant::START,
            rate: 0.0,
        }
    }

    /// Returns the share of what is sent that is lost without a queue.
    pub(super) fn lost(&self) -> f64 {
        self.share
    }

    /// Returns the shortest round trip of late; 0 before one was measured.
    pub(super) fn least(&self) -> Nanoseconds {
        let least = self.least[0].min(self.least[1]);
        if least == Nanoseconds::MAX { 0 } else { least }
    }

    /// Returns how many octets the path holds.
    pub(super) fn holds(&self) -> u64 {
        (self.rate * self.least() as f64) as u64
    }

    /// Returns whether something is lost again and again.
    pub(super) fn is_sure(&self) -> bool {
        self.lossy.count_ones() >= LOSSY
    }

    /// Returns how much more arrives where loss is not taken for congestion than where it is.
    pub(super) fn gain(&self) -> f64 {
        let holds = self.holds() as f64 / self.packet;
        let keeps = MATHIS / libm::sqrt(self.share.max(1e-9));
        (1.0 - self.share) / (keeps / holds.max(1.0)).min(1.0)
    }

    pub(super) fn on_lost(&mut self, octets: u64) {
        self.lost += octets;
    }

    /// Records what was acknowledged. Returns whether a round trip is over.
    pub(super) fn see(&mut self, view: &View, acknowledged: &Acknowledged) -> bool {
        self.arrived += acknowledged.octets;
        if let Some(at) = acknowledged.measured() {
            self.shortest = self.shortest.min(view.now.nanoseconds_since(at));
        }
        if view.settled_upto < self.upto {
            return false;
        }
        self.end(view);
        self.upto = view.sent_upto;
        true
    }

    /// Ends a round trip.
    fn end(&mut self, view: &View) {
        if view.now.nanoseconds_since(self.least_since) > LEAST_COUNTS {
            self.least = [Nanoseconds::MAX, self.least[0]];
            self.least_since = view.now;
        }
        self.least[0] = self.least[0].min(self.shortest);
        let least = self.least();
        let queued = self.shortest != Nanoseconds::MAX
            && self.shortest > least + (least / 4).max(MILLISECOND);
        // What is lost of a queue is congestion: it says nothing of the path.
        let lost = if queued { 0 } else { self.lost } as f64;
        let sent = lost + self.arrived as f64;
        if sent > 0.0 {
            let weight = (sent / self.packet / (sent / self.packet + PACKETS)).max(SMOOTHED);
            self.share += (lost / sent - self.share) * weight;
        }
        self.lossy = self.lossy << 1 | u16::from(lost > 0.0);
        let took = view.now.nanoseconds_since(self.began).max(1);
        let left = if queued { RATE_LEFT } else { RATE_LEFT_UNFILLED };
        self.rate = (self.arrived as f64 / took as f64).max(self.rate * left);
        (self.lost, self.arrived, self.shortest) = (0, 0, Nanoseconds::MAX);
        self.began = view.now;
    }
}
