//! How fast what was sent arrived (draft-ietf-ccwg-bbr §4.1, delivery rate estimation).

use alloc::collections::VecDeque;

use stackwright_contract::Instant;
use stackwright_transport::Acknowledged;
use stackwright_transport::words::{Nanoseconds, SECOND, View};

/// How many times of sending are remembered with what had arrived by then. A round trip is divided
/// into [`STEPS`], so that this is enough for a queue of three more.
const KEPT: usize = 256;
const STEPS: u64 = 64;

/// What had arrived when something left (§4.1.2.2).
///
/// The draft keeps this with each packet. Packets of a batch leave at one time, and what leaves
/// soon after may use an older one as well: its rate is then that of a little more than a round
/// trip. So packets carry nothing, and other policies do not pay for the rate.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Instant,
    delivered: u64,
    delivered_at: Instant,
    /// When that left which arrived last before it.
    first_sent_at: Instant,
    is_limited: bool,
}

/// The delivery rate that a report shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSample {
    /// In octets per second; `None` where too little time lies between.
    pub(super) rate: Option<u64>,
    /// What had arrived in all when it left.
    pub(super) prior: u64,
    /// Whether there was too little to send: the path may be faster.
    pub(super) is_limited: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Delivery {
    departures: VecDeque<Departure>,
    /// Octets, ever.
    pub(super) delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Until this many octets have arrived, there was too little to send (C.app_limited).
    limited_upto: u64,
}

impl Delivery {
    pub(super) const fn new() -> Self {
        Delivery {
            departures: VecDeque::new(),
            delivered: 0,
            delivered_at: Instant::START,
            first_sent_at: Instant::START,
            limited_upto: 0,
        }
    }

    /// Notes that something left; `least` is the shortest round trip.
    #[inline]
    pub(super) fn on_sent(&mut self, view: &View, least: Nanoseconds) {
        if let Some(last) = self.departures.back()
            && !view.idle
            && view.now.nanoseconds_since(last.at) <= least / STEPS
        {
            return;
        }
        self.depart(view);
    }

    #[inline(never)]
    fn depart(&mut self, view: &View) {
        if view.idle {
            self.departures.clear();
            (self.delivered_at, self.first_sent_at) = (view.now, view.now);
        }
        if self.departures.len() >= KEPT {
            return; // what leaves now uses the last one
        }
        self.departures.push_back(Departure {
            at: view.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_limited: self.limited_upto > self.delivered,
        });
    }

    /// Notes that there is less to send than could be: `in_flight` octets are in flight (§4.1.2.4).
    pub(super) fn on_limited(&mut self, in_flight: u64) {
        self.limited_upto = (self.delivered + in_flight).max(1);
    }

    /// Takes what arrived into account, and returns the rate. It is that of the newest unit which
    /// was sent once (§4.1.2.3): of the others it is not known which copy arrived.
    pub(super) fn on_acknowledged(
        &mut self,
        now: Instant,
        acknowledged: &Acknowledged,
        least: Nanoseconds,
    ) -> Option<RateSample> {
        self.delivered += acknowledged.octets;
        self.delivered_at = now;
        let sent_at = acknowledged.newest?;
        self.first_sent_at = self.first_sent_at.max(sent_at);
        while self.departures.get(1).is_some_and(|next| next.at <= sent_at) {
            self.departures.pop_front();
        }
        let departure = self.departures.front().filter(|departure| departure.at <= sent_at)?;
        let sending = departure.at.nanoseconds_since(departure.first_sent_at);
        let arriving = now.nanoseconds_since(departure.delivered_at);
        let (octets, took) = (self.delivered - departure.delivered, sending.max(arriving));
        let rate = (took > 0 && took >= least)
            .then(|| (octets as f64 * SECOND as f64 / took as f64) as u64);
        Some(RateSample { rate, prior: departure.delivered, is_limited: departure.is_limited })
    }
}
