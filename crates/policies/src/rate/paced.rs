//! A fixed rate, with a burst.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Rate;
use stackwright_transport::words::{Nanoseconds, SECOND, View};

/// Paces packets at a fixed rate, and lets a burst leave at once (XTP's rate and burst). Packets
/// without data count, and do not wait.
///
/// Choose it where the rate of the narrowest link is known, or where its queue is short.
///
/// ```
/// use std::num::NonZeroU64;
/// use stackwright_policies::rate::Paced;
/// let paced = Paced::new(NonZeroU64::new(1200).unwrap(), 512);
/// # let _ = paced;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    rate: NonZeroU64,
    burst: Nanoseconds,
    /// When all that was sent would have left at this rate.
    level: Instant,
}

impl Paced {
    /// Creates the policy for `rate` octets per second and bursts of `burst` octets.
    pub const fn new(rate: NonZeroU64, burst: u32) -> Self {
        Paced { rate, burst: burst as u64 * SECOND / rate.get(), level: Instant::START }
    }

    /// Returns the policy with another rate and burst: what was sent takes its time at that rate.
    #[must_use]
    pub fn changed(self, view: &View, rate: NonZeroU64, burst: u32) -> Self {
        let left = u128::from(self.level.nanoseconds_since(view.now));
        let left = left * u128::from(self.rate.get()) / u128::from(rate.get());
        let level = view.now.later(u64::try_from(left).unwrap_or(u64::MAX));
        Paced { level, ..Paced::new(rate, burst) }
    }
}

impl Rate for Paced {
    #[inline]
    fn ready(&self, _: &View) -> Instant {
        Instant::from_nanoseconds(self.level.nanoseconds().saturating_sub(self.burst))
    }

    fn pace(&self) -> Option<NonZeroU64> {
        Some(self.rate)
    }

    fn on_sent(&mut self, view: &View, octets: usize, _: usize) {
        let takes = (octets as u64).saturating_mul(SECOND) / self.rate;
        self.level = self.level.max(view.now).later(takes);
    }
}

component! { Paced: "rate paced", "sends at a fixed rate" }
