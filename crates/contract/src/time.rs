//! Time is an argument: only a driver reads a clock.

pub use core::time::Duration;

/// A point in time, in nanoseconds since the run began. It is ours, so that a run can be repeated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The beginning of the run.
    pub const START: Instant = Instant(0);

    /// The end of time: a deadline that never comes.
    pub const END: Instant = Instant(u64::MAX);

    /// Returns the instant `nanoseconds` after the run began.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Instant(nanoseconds)
    }

    /// Nanoseconds since the run began.
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Returns the instant `nanoseconds` later. Saturates: a deadline past the end of time never
    /// comes.
    pub const fn later(self, nanoseconds: u64) -> Self {
        Instant(self.0.saturating_add(nanoseconds))
    }

    /// Returns the instant `nanoseconds` sooner. Saturates: nothing is before the beginning of the
    /// run.
    pub const fn sooner(self, nanoseconds: u64) -> Self {
        Instant(self.0.saturating_sub(nanoseconds))
    }

    /// Returns the nanoseconds from `earlier` to this instant; 0 where `earlier` is the later one.
    pub const fn nanoseconds_since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time from `earlier` to this instant; zero where `earlier` is the later one.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Duration> for Instant {
    type Output = Instant;

    /// Saturates: a deadline past the end of time never comes.
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Returns the earlier of two deadlines, where `None` is "never".
#[inline]
pub fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}
