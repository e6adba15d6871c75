//! The clock: the only code that reads the system's.

use std::time::Duration;

use nix::time::ClockId;
use stackwright_contract::Instant;

/// Time since it was made, by the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The start, in nanoseconds of that clock.
    start: u64,
}

impl Clock {
    /// Makes a clock that starts now.
    pub fn start() -> Self {
        Clock { start: read(ClockId::CLOCK_MONOTONIC) }
    }

    /// Returns the time now.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanoseconds(read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.start))
    }

    /// Returns the time at the system's last tick, a few milliseconds ago at most: for a caller
    /// that reads it so often that it must cost nothing.
    #[inline]
    pub fn last_tick(&self) -> Instant {
        Instant::from_nanoseconds(read(ClockId::CLOCK_MONOTONIC_COARSE).saturating_sub(self.start))
    }

    /// Returns the same time by the system's monotonic clock.
    pub(crate) fn since_boot(&self, time: Instant) -> Duration {
        Duration::from_nanos(self.start) + time.since(Instant::START)
    }

    /// Returns the time at which the system's monotonic clock shows `since_boot`; the start, where
    /// that was before.
    #[cfg(feature = "air")]
    pub(crate) fn at(&self, since_boot: Duration) -> Instant {
        Instant::START + since_boot.saturating_sub(Duration::from_nanos(self.start))
    }
}

/// Calls the C library, and not rustix, which does not find the kernel's own function if a program
/// runs under valgrind.
#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock.now().expect("the system has these clocks");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tick_was_before_now() {
        let clock = Clock::start();
        for _ in 0..1000 {
            let (tick, now) = (clock.last_tick(), clock.now());
            assert!(tick <= now, "{tick:?} {now:?}");
        }
        while clock.last_tick() == Instant::START {}
    }
}
