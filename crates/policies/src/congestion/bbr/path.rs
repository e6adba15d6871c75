//! The model: the rate, the round trip, and the aggregation of reports.

use stackwright_contract::Instant;
use stackwright_transport::words::{Nanoseconds, SECOND};

use super::delivery::RateSample;
use super::greatest::Greatest;

/// For how many round trips the greatest rate counts.
const ROUNDS: u64 = 10;

/// For how long the shortest round trip counts (§2.5, MinRTTFilterLen).
const STALE: Nanoseconds = 10 * SECOND;

/// A round trip that is longer by less than this part shows the same as the shortest: no queue
/// stands, and a probe would show no more.
pub(super) const HARDLY: u64 = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    rates: Greatest,
    lumps: Greatest,
    least: Nanoseconds,
    least_at: Instant,
    /// Round trips, counted by packets: one is over when something arrives that left after the last
    /// one was.
    pub(super) rounds: u64,
    round_upto: u64,
    lump_since: Instant,
    lump: u64,
}

impl Path {
    pub(super) const fn new() -> Self {
        Path {
            rates: Greatest::new(),
            lumps: Greatest::new(),
            least: 0,
            least_at: Instant::START,
            rounds: 0,
            round_upto: 0,
            lump_since: Instant::START,
            lump: 0,
        }
    }

    /// Returns the rate in octets per second; 0 before anything was measured.
    pub(super) fn rate(&self) -> u64 {
        self.rates.get()
    }

    /// Returns the shortest round trip; 0 before anything was measured.
    #[inline]
    pub(super) fn least(&self) -> Nanoseconds {
        self.least
    }

    /// Returns `gain` times what the path holds, in octets.
    pub(super) fn in_flight(&self, gain: f64) -> u64 {
        (self.rate() as f64 * self.least as f64 * (gain / SECOND as f64)) as u64
    }

    /// Returns by how many octets reports run ahead of the rate (§5.5.9, extra_acked).
    pub(super) fn lump(&self) -> u64 {
        self.lumps.get()
    }

    /// Takes a round trip into account, and returns whether the shortest was too long ago to count.
    pub(super) fn see_round_trip(&mut self, now: Instant, took: Nanoseconds) -> bool {
        let is_stale = self.least > 0 && now.nanoseconds_since(self.least_at) > STALE;
        if took <= self.least || self.least == 0 || is_stale {
            (self.least, self.least_at) = (took, now);
        } else if took <= self.least + self.least / HARDLY {
            self.least_at = now;
        }
        is_stale
    }

    /// Renews the shortest round trip, which was probed.
    pub(super) fn confirm(&mut self, now: Instant) {
        self.least_at = now;
    }

    /// Takes a rate into account, and returns whether a round trip is over. `delivered`: octets,
    /// ever.
    pub(super) fn see_rate(&mut self, sample: &RateSample, delivered: u64) -> bool {
        let is_over = sample.prior >= self.round_upto;
        if is_over {
            (self.round_upto, self.rounds) = (delivered, self.rounds + 1);
        }
        if let Some(rate) = sample.rate
            && (!sample.is_limited || rate >= self.rates.get())
        {
            self.rates.see(rate, self.rounds, ROUNDS);
        }
        is_over
    }

    /// Takes into account that `octets` were reported at once.
    pub(super) fn see_lump(&mut self, now: Instant, octets: u64, window: u64) {
        let since = now.nanoseconds_since(self.lump_since);
        let mut expected = (self.rate() as f64 * since as f64 / SECOND as f64) as u64;
        if self.lump <= expected {
            (self.lump, self.lump_since, expected) = (0, now, 0);
        }
        self.lump += octets;
        self.lumps.see((self.lump - expected).min(window), self.rounds, ROUNDS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the shortest round trip is too long ago after twenty seconds of round trips
    /// of this length.
    fn goes_stale(took: Nanoseconds) -> bool {
        let (mut path, least) = (Path::new(), 16_000_000);
        path.see_round_trip(Instant::START, least);
        (1..200)
            .any(|tenth| path.see_round_trip(Instant::from_nanoseconds(tenth * SECOND / 10), took))
    }

    #[test]
    fn a_round_trip_that_is_hardly_longer_need_not_be_probed() {
        assert!(!goes_stale(16_000_000) && !goes_stale(16_900_000));
        assert!(goes_stale(17_100_000) && goes_stale(32_000_000));
    }
}
