//! The clock: the only place that looks at it.

use stackwright_contract::Instant;

/// Time since it was made, by the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Clock { start: std::time::Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        Instant::from_nanoseconds(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
