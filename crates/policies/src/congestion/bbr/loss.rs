//! Whether loss comes of a queue.

use stackwright_transport::words::{MILLISECOND, Nanoseconds};

/// Of a hundred octets, so many may be lost in a round trip (§2.7, LossThresh), and so many whatever the round trip says.
const MANY: u64 = 2;
const TOO_MANY: u64 = 33;

/// No more octets are believed to have met congestion in a round trip.
const MARKED_MOST: u64 = 1 << 48;

/// What is left of what was in flight, in tenths (§2.7, Beta).
const LEFT: u64 = 7;

#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    /// Of this round trip, in octets.
    lost: u64,
    arrived: u64,
    /// Of what arrived, so much met congestion, as routers say.
    marked: u64,
    /// The shortest way there and back, and the most in flight, in this round trip.
    least: Nanoseconds,
    in_flight: u64,
    /// What may be in flight (`inflight_longterm`).
    most: u64,
}

impl Losses {
    pub(super) const fn new() -> Self {
        Losses { lost: 0, arrived: 0, marked: 0, least: Nanoseconds::MAX, in_flight: 0, most: u64::MAX }
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    pub(super) fn lost(&mut self, octets: u64) {
        self.lost += octets;
    }

    pub(super) fn marked(&mut self, octets: u64) {
        // A peer may say what he likes: it is compared with a hundred times what was sent.
        self.marked = self.marked.saturating_add(octets).min(MARKED_MOST);
    }

    pub(super) fn see(&mut self, octets: u64, took: Option<Nanoseconds>, in_flight: u64) {
        self.arrived += octets;
        self.least = self.least.min(took.unwrap_or(Nanoseconds::MAX));
        self.in_flight = self.in_flight.max(in_flight);
    }

    /// Where more is sent to see whether it passes, the bound gives way by a quarter of what arrives: as fast as the rate rises.
    pub(super) fn relent(&mut self, octets: u64) {
        self.most = self.most.saturating_add(octets / 4);
    }

    /// A round trip is over; the shortest ever is `least`. Whether it lost so much, with a queue, that it lost because of it,
    /// or would have without marks.
    pub(super) fn judge(&mut self, least: Nanoseconds, floor: u64) -> bool {
        let sent = self.lost + self.arrived;
        let exceeds = |octets: u64, percent: u64| 100 * octets > percent * sent;
        let queued = self.least != Nanoseconds::MAX && self.least > least + (least / 4).max(MILLISECOND);
        // A mark says that a queue stands, however short.
        let congested = exceeds(self.lost, TOO_MANY)
            || (queued || self.marked > 0) && exceeds(self.lost + self.marked, MANY);
        if congested {
            self.most = self.most.min(self.in_flight / 10 * LEFT).max(floor);
        }
        *self = Losses { most: self.most, ..Losses::new() };
        congested
    }
}
