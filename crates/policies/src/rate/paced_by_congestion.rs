//! Pacing at the rate that congestion control names.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Rate;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND, View};

/// What may leave at once, in time: a timer for each of these is enough, however fast the path.
const QUANTUM: Nanoseconds = MILLISECOND;

/// How much of its lateness a timer makes up for.
const LATE: Nanoseconds = 2 * MILLISECOND;

/// Binary places of a nanosecond: an octet takes less than one on a fast path.
const PARTS: u32 = 16;

/// Paces packets at the rate that the congestion slot names
/// ([`Congestion::pace`](stackwright_transport::slots::Congestion::pace)); where it names none,
/// they leave as fast as the windows allow. Packets of a millisecond leave together, at least one:
/// so there is at most one timer a millisecond. What a late timer missed is made up for, up to two
/// milliseconds of it.
///
/// Choose it with [`Bbr`](crate::congestion::Bbr) and [`Cubic`](crate::congestion::Cubic); it costs
/// two comparisons where there is no rate.
///
/// ```
/// use stackwright_policies::rate::PacedByCongestion;
/// let told = PacedByCongestion::default();
/// # let _ = told;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PacedByCongestion {
    pace: Option<NonZeroU64>,
    /// How long an octet takes, in 2⁻¹⁶ ns; 0 where there is no rate.
    each: u64,
    /// When all that was sent would have left at this rate, and when the next packet may leave.
    level: Instant,
    ready: Instant,
}

impl PacedByCongestion {
    /// Creates the policy without a rate.
    pub const fn new() -> Self {
        PacedByCongestion { pace: None, each: 0, level: Instant::START, ready: Instant::START }
    }
}

impl Rate for PacedByCongestion {
    #[inline]
    fn ready(&self, _: &View) -> Instant {
        self.ready
    }

    #[inline]
    fn heeds_sent(&self) -> bool {
        self.each > 0
    }

    #[inline]
    fn on_sent(&mut self, view: &View, _: usize, body: usize) {
        if self.each > 0 {
            self.count(view, body);
        }
    }

    #[inline]
    fn on_pace(&mut self, view: &View, pace: Option<NonZeroU64>) {
        if self.pace != pace {
            self.change(view, pace);
        }
    }
}

impl PacedByCongestion {
    #[inline(never)]
    fn count(&mut self, view: &View, octets: usize) {
        let earliest = view.now.sooner(LATE);
        let takes = (octets as u64).saturating_mul(self.each) >> PARTS;
        self.level = self.level.max(earliest).later(takes);
        if self.level >= view.now.later(QUANTUM) {
            self.ready = self.level;
        }
    }

    #[inline(never)]
    fn change(&mut self, view: &View, pace: Option<NonZeroU64>) {
        let Some(pace) = pace else {
            *self = PacedByCongestion::new();
            return;
        };
        let each = ((SECOND << PARTS) / pace).max(1);
        // What was sent takes its time at the new rate.
        if self.level > view.now && self.each > 0 {
            let left = u128::from(self.level.nanoseconds_since(view.now));
            let left = left * u128::from(each) / u128::from(self.each);
            self.level = view.now.later(u64::try_from(left).unwrap_or(u64::MAX));
        }
        if self.ready > view.now {
            self.ready = self.level;
        }
        (self.pace, self.each) = (Some(pace), each);
    }
}

component! {
    PacedByCongestion: "rate as told", "sends as fast as the congestion judge says",
    needs: Property::PACES,
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::Estimate;

    use super::*;

    fn view(now: u64) -> View {
        View {
            now: Instant::from_nanoseconds(now),
            rtt: Estimate::default(),
            idle: false,
            drained: false,
            ..View::START
        }
    }

    /// Returns how many octets leave in `time`, in packets of `packet` octets, where timers are
    /// `late`; and how many timers that took.
    fn leaves(pace: u64, packet: usize, time: Nanoseconds, late: Nanoseconds) -> (u64, u64) {
        let mut told = PacedByCongestion::new();
        let (mut now, mut octets, mut timers) = (SECOND, 0, 0);
        told.on_pace(&view(now), NonZeroU64::new(pace));
        while now < SECOND + time {
            while told.ready(&view(now)) <= view(now).now {
                told.on_sent(&view(now), packet + 28, packet);
                octets += packet as u64;
            }
            now = told.ready(&view(now)).nanoseconds() + late;
            timers += 1;
        }
        (octets, timers)
    }

    #[test]
    fn it_is_as_fast_as_told_with_one_timer_a_millisecond_even_when_those_are_late() {
        for pace in [100, 12_500_000, 4_000_000_000] {
            for late in [0, MILLISECOND] {
                let time = if pace == 100 { 1000 * SECOND } else { SECOND };
                let (octets, timers) = leaves(pace, 1000, time, late);
                let told = pace * time / SECOND;
                assert!(
                    octets.abs_diff(told) <= told / 100 + 2000,
                    "{octets} of {told}, late by {late}"
                );
                assert!(timers <= time / QUANTUM + 1, "{timers} timers");
            }
        }
    }

    #[test]
    fn nothing_waits_where_there_is_no_rate() {
        let mut told = PacedByCongestion::new();
        told.on_sent(&view(5), 1 << 30, 1 << 30);
        assert_eq!(told.ready(&view(5)), Instant::START);
    }
}
