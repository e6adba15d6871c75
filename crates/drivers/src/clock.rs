//! The clock: the only place that looks at it.

use std::time::Duration;

use nix::time::ClockId;
use stackwright_contract::Instant;

/// Time since it was made, by the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// In nanoseconds of that clock.
    start: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Clock { start: read(ClockId::CLOCK_MONOTONIC) }
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanoseconds(read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.start))
    }

    /// The time at the system's last tick, a few milliseconds ago at most: for who asks so often
    /// that it may cost nothing.
    #[inline]
    pub fn last_tick(&self) -> Instant {
        Instant::from_nanoseconds(read(ClockId::CLOCK_MONOTONIC_COARSE).saturating_sub(self.start))
    }

    /// The same time as the system's monotonic clock tells it.
    pub(crate) fn since_boot(&self, time: Instant) -> Duration {
        Duration::from_nanos(self.start) + time.since(Instant::START)
    }
}

/// By way of the C library, and not of rustix, which does not find the kernel's own function where
/// a program runs under valgrind.
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
