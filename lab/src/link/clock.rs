//! The time since the link is up.

use rustix::time::{ClockId, clock_gettime};
use stackwright_contract::Instant;

/// The monotonic clock, from zero on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Nanoseconds it showed when this was made.
    start: u64,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock { start: nanoseconds() }
    }

    pub(super) fn now(self) -> Instant {
        Instant::from_nanoseconds(nanoseconds().saturating_sub(self.start))
    }
}

fn nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // Neither part is ever negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
