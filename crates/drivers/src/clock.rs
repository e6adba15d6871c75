//! The clock: the only place that looks at it.

use rustix::time::{ClockId, Timespec, clock_gettime};
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
        Clock { start: read(ClockId::Monotonic) }
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanoseconds(read(ClockId::Monotonic).saturating_sub(self.start))
    }

    /// The time at the system's last tick, a few milliseconds ago at most: for who asks so often that it may cost nothing.
    #[inline]
    pub fn last_tick(&self) -> Instant {
        Instant::from_nanoseconds(read(ClockId::MonotonicCoarse).saturating_sub(self.start))
    }
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
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
