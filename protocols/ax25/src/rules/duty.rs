//! How much of the time the station may transmit.

use stackwright_contract::{Duration, Instant};

/// The time of which the station may use a share at once.
pub(super) const PERIOD: Duration = Duration::from_secs(600);

/// Air time that may be spent: it accrues with time, up to the share of [`PERIOD`], and is never
/// overdrawn.
#[derive(Debug)]
pub(super) struct Duty {
    percent: Option<u8>,
    /// In nanoseconds, at this time.
    allowance: i64,
    counted: Instant,
}

impl Duty {
    pub(super) fn new(percent: Option<u8>) -> Self {
        Duty { percent, allowance: most(percent.unwrap_or(0)), counted: Instant::START }
    }

    /// Returns whether a frame of so much air time may ever leave.
    pub(super) fn fits(&self, air: Duration) -> bool {
        self.percent.is_none_or(|percent| nanoseconds(air) <= most(percent))
    }

    /// Returns whether a frame of so much air time may leave now.
    pub(super) fn permits(&mut self, now: Instant, air: Duration) -> bool {
        let Some(percent) = self.percent else { return true };
        let accrued = nanoseconds(now.since(self.counted)) / 100 * i64::from(percent);
        self.allowance = self.allowance.saturating_add(accrued).min(most(percent));
        self.counted = now;
        self.allowance >= nanoseconds(air)
    }

    pub(super) fn spend(&mut self, air: Duration) {
        if self.percent.is_some() {
            self.allowance -= nanoseconds(air);
        }
    }

    /// Returns when a frame of so much air time may leave.
    pub(super) fn permits_at(&self, air: Duration) -> Instant {
        let missing = u64::try_from(nanoseconds(air) - self.allowance).unwrap_or(0);
        match self.percent {
            // Accrual is counted in steps of 100 ns.
            Some(percent) if missing > 0 => {
                let steps = missing.div_ceil(u64::from(percent));
                self.counted + Duration::from_nanos(steps.saturating_mul(100))
            }
            _ => self.counted,
        }
    }
}

fn most(percent: u8) -> i64 {
    nanoseconds(PERIOD) / 100 * i64::from(percent)
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
