//! A clock that is not everybody's.

use stackwright_contract::Instant;

const MILLION: i128 = 1_000_000;

/// The clock of a station, or of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriftingClock {
    /// How much faster than true time it is, in parts per million: more than −1 000 000.
    pub drift: i64,
}

impl DriftingClock {
    /// Returns what it shows at the time `now`.
    pub fn reads(self, now: Instant) -> Instant {
        let nanoseconds = i128::from(now.nanoseconds());
        let drift = nanoseconds * i128::from(self.drift) / MILLION;
        Instant::from_nanoseconds((nanoseconds + drift) as u64)
    }

    /// Returns when it shows `shown`, or has just shown it.
    pub fn shows(self, shown: Instant) -> Instant {
        let scaled = u128::from(shown.nanoseconds()) * MILLION as u128;
        let rate = (MILLION + i128::from(self.drift)) as u128;
        Instant::from_nanoseconds(u64::try_from(scaled.div_ceil(rate)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_has_come_when_it_is_shown_and_not_before() {
        for drift in [0, 1, -1, 50_000, -50_000, 999] {
            for shown in [0, 1, 999, 1_000_003, 123_456_789_012] {
                let (clock, shown) = (DriftingClock { drift }, Instant::from_nanoseconds(shown));
                let at = clock.shows(shown);
                assert!(clock.reads(at) >= shown, "{drift}: {shown:?}");
                let before = Instant::from_nanoseconds(at.nanoseconds().saturating_sub(2));
                assert!(clock.reads(before) < shown || at.nanoseconds() < 2, "{drift}: {shown:?}");
            }
        }
        assert_eq!(DriftingClock::default().shows(Instant::from_nanoseconds(7)).nanoseconds(), 7);
    }
}
