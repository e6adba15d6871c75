//! How much of the time the station may transmit.

use stackwright_contract::{Duration, Instant};

/// The time of which the station may use a share.
const PERIOD: Duration = Duration::from_secs(600);

/// Air time that may be spent: it accrues with time, up to the share of [`PERIOD`]. A frame may
/// overdraw it, so that the longest one gets through.
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

    /// Returns whether a frame may leave now.
    pub(super) fn permits(&mut self, now: Instant) -> bool {
        let Some(percent) = self.percent else { return true };
        let accrued = nanoseconds(now.since(self.counted)) / 100 * i64::from(percent);
        self.allowance = self.allowance.saturating_add(accrued).min(most(percent));
        self.counted = now;
        self.allowance > 0
    }

    pub(super) fn spend(&mut self, air: Duration) {
        if self.percent.is_some() {
            self.allowance = self.allowance.saturating_sub(nanoseconds(air));
        }
    }

    /// Returns when a frame may leave.
    pub(super) fn permits_at(&self) -> Instant {
        let missing = u64::try_from(1 - self.allowance).unwrap_or(0);
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
