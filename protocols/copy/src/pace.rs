//! The most octets a second that all jobs move together: reads that would be too early wait.
//!
//! Each read moves the time of the next one by what it takes at that rate. What was not used is
//! made up for within [`SLACK`]: a timer that is late costs nothing, and a pause is followed by no
//! burst. Reads are as long as the rate moves in half of that, so that a low rate is smooth, too.

use core::num::NonZeroU64;

use alloc::collections::VecDeque;

use stackwright_contract::{Handle, Instant};

use crate::state::READ_AT_ONCE;

/// How much of the past may be made up for, in nanoseconds.
const SLACK: u64 = 50_000_000;
const SECOND: u64 = 1_000_000_000;

/// When the next read may be requested, and which copies wait for that.
#[derive(Default)]
pub(crate) struct Pace {
    rate: Option<NonZeroU64>,
    /// When everything that was requested is moved at that rate.
    due: Instant,
    /// Copies that wait, the longest first.
    pub(crate) waiting: VecDeque<Handle>,
}

impl Pace {
    pub(crate) fn new(rate: Option<NonZeroU64>) -> Self {
        Pace { rate, ..Pace::default() }
    }

    /// Returns how many octets are read at once.
    pub(crate) fn at_once(&self) -> usize {
        let Some(rate) = self.rate else { return READ_AT_ONCE };
        let octets = u128::from(rate.get()) * u128::from(SLACK / 2) / u128::from(SECOND);
        usize::try_from(octets).unwrap_or(READ_AT_ONCE).clamp(1, READ_AT_ONCE)
    }

    /// Returns whether a read may be requested now.
    pub(crate) fn may_read(&self, now: Instant) -> bool {
        self.rate.is_none() || self.due <= now
    }

    /// Counts a read that is requested now.
    pub(crate) fn count(&mut self, now: Instant, octets: usize) {
        if self.rate.is_some() {
            self.due = self.due.max(now.sooner(SLACK)).later(self.takes(octets));
        }
    }

    /// Takes back what was counted and not read.
    pub(crate) fn take_back(&mut self, octets: usize) {
        self.due = self.due.sooner(self.takes(octets));
    }

    fn takes(&self, octets: usize) -> u64 {
        let rate = self.rate.map_or(u64::MAX, NonZeroU64::get);
        u64::try_from(octets as u128 * u128::from(SECOND) / u128::from(rate)).unwrap_or(u64::MAX)
    }

    /// Returns when the copies that wait may read.
    pub(crate) fn next(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads as soon as each may be, for ten seconds; how many octets a second that is.
    fn average(rate: u64, late: u64) -> f64 {
        let mut pace = Pace::new(NonZeroU64::new(rate));
        let (mut now, mut octets) = (Instant::START.later(5 * SECOND), 0);
        let end = now.later(10 * SECOND);
        while now < end {
            while pace.may_read(now) {
                pace.count(now, pace.at_once());
                octets += pace.at_once();
            }
            now = now.max(pace.due).later(late);
        }
        octets as f64 / 10.0
    }

    #[test]
    fn the_rate_holds_whatever_it_is_and_timers_that_are_late_cost_nothing() {
        for rate in [1_000, 10_000, 1_000_000, 100_000_000, 10_000_000_000] {
            for late in [0, 1_000_000, 10_000_000] {
                let average = average(rate, late);
                let error = (average / rate as f64 - 1.0).abs();
                assert!(error < 0.01, "{average} of {rate}, {late} ns late");
            }
        }
    }

    #[test]
    fn a_pause_is_followed_by_no_burst() {
        let mut pace = Pace::new(NonZeroU64::new(1_000_000));
        let now = Instant::START.later(3600 * SECOND);
        let mut octets = 0;
        while pace.may_read(now) {
            pace.count(now, pace.at_once());
            octets += pace.at_once();
        }
        assert!(octets <= 75_000, "{octets}");
        assert!(Pace::new(None).may_read(now));
    }
}
