//! Times on packets, by the peer's clock.

use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Lifetime;
use stackwright_transport::words::{Dropped, Nanoseconds, Timestamp, View};

/// Puts on packets when they were sent and their lifetime, and drops what is late at both ends
/// (ARTP §1.4.2).
///
/// Clocks need not agree. Each report tells the difference: this clock − (the peer's + half the
/// round trip), which is wrong by at most half the round trip. Data then bear the time of the
/// peer's clock, as far as it is known, reports that of this side's. Before the first report,
/// nothing expires on the wire.
///
/// Of two reports the one with the shorter round trip counts, since it is less wrong; and the error
/// of the one that counts grows with time, because clocks drift. Otherwise one report that was
/// late, and wrong by half of that, would make all that follows look late to the peer, which does
/// not report what is late: there would never be a better one.
///
/// Time is monotonic: the clock of the day is read once, when the association begins, so that
/// setting it does no harm.
///
/// ```
/// use stackwright_policies::lifetime::Timestamps;
/// let lifetime = Timestamps::new(1_100_000_000_250_000);
/// # let _ = lifetime;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Timestamps {
    /// The time of day at the start of time, in microseconds since 1970.
    epoch: u64,
    /// This clock − the peer's, in microseconds.
    difference: Option<i64>,
    /// By how much that may be wrong, in nanoseconds, and when that was so.
    doubt: Nanoseconds,
    since: Instant,
}

/// The error grows by a nanosecond in this time: two clocks of 500 ppm.
const DOUBTED_EACH: Nanoseconds = 1000;

impl Timestamps {
    /// Creates the policy; `epoch` is the time of day at [`Instant::START`], in microseconds since
    /// 1970.
    pub const fn new(epoch: u64) -> Self {
        Timestamps { epoch, difference: None, doubt: 0, since: Instant::START }
    }

    /// Returns this clock − the peer's, in microseconds; `None` before the first report.
    pub fn difference(&self) -> Option<i64> {
        self.difference
    }

    fn now(&self, view: &View) -> u64 {
        self.epoch.saturating_add(view.now.nanoseconds() / 1000)
    }
}

impl Lifetime for Timestamps {
    fn is_over(&self, view: &View, since: Instant, lifetime: Option<NonZeroU32>) -> bool {
        lifetime.is_some_and(|lifetime| {
            view.now.nanoseconds_since(since) / 1000 >= u64::from(lifetime.get())
        })
    }

    #[inline]
    fn stamp(&self, view: &View, since: Instant, lifetime: Option<NonZeroU32>) -> Timestamp {
        let now = self.now(view);
        match self.difference {
            None => Timestamp { at: now, valid: 0 },
            Some(difference) => {
                let age = || view.now.nanoseconds_since(since) / 1000;
                let left = lifetime
                    .map_or(0, |lifetime| u64::from(lifetime.get()).saturating_sub(age()).max(1));
                Timestamp {
                    at: now.saturating_add_signed(difference.saturating_neg()),
                    valid: left as u32,
                }
            }
        }
    }

    #[inline]
    fn clock(&self, view: &View) -> u64 {
        self.now(view)
    }

    fn admit(&self, view: &View, stamp: Timestamp, reports: bool) -> Result<(), Dropped> {
        if stamp.valid == 0 {
            return Ok(()); // §1.4.2: 0 is always valid
        }
        let mut until = stamp.at.saturating_add(u64::from(stamp.valid));
        if reports {
            // The first report is always valid: it is what tells the difference.
            let Some(difference) = self.difference else { return Ok(()) };
            until = until.saturating_add_signed(difference);
        }
        if until < self.now(view) { Err(Dropped::Expired) } else { Ok(()) }
    }

    fn left(&self, view: &View, stamp: Timestamp) -> Option<NonZeroU32> {
        let valid = NonZeroU32::new(stamp.valid)?;
        let until = stamp.at.saturating_add(u64::from(stamp.valid));
        // A clock that is slow would give it more than it had.
        let left = until.saturating_sub(self.now(view)).min(u64::from(stamp.valid));
        Some(NonZeroU32::new(left as u32).unwrap_or(NonZeroU32::MIN).min(valid))
    }

    fn on_sample(&mut self, view: &View, took: Nanoseconds, stamp: Timestamp) {
        let doubted =
            self.doubt.saturating_add(view.now.nanoseconds_since(self.since) / DOUBTED_EACH);
        if self.difference.is_some() && took / 2 > doubted {
            return;
        }
        (self.doubt, self.since) = (took / 2, view.now);
        // ts_delta = CT − (ST + RTT/2)
        let sent = i128::from(stamp.at) + i128::from(took / 2000);
        self.difference = i64::try_from(i128::from(self.now(view)) - sent).ok();
    }
}

component! {
    Timestamps: "lifetime by timestamps", "drops what is late, by the peer's clock",
    // Without one of these, the receiver waits for what expired.
    needs: Property::TIMES, needs_one_of: Property::SETTLES.and(Property::FORGIVES), gives: Property::EXPIRES,
}
