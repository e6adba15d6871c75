//! So many octets a second, after a burst.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Rate;
use stackwright_transport::words::{Nanoseconds, SECOND, View};

/// So many octets a second, of which a burst may leave at once (XTP's rate and burst). What is no
/// data is counted and does not wait.
///
/// Choose it where the narrowest link is known, or where its queue is short.
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
    /// When all that has left would have left at this rate.
    level: Instant,
}

impl Paced {
    /// In octets per second, and in octets.
    pub const fn new(rate: NonZeroU64, burst: u32) -> Self {
        Paced { rate, burst: burst as u64 * SECOND / rate.get(), level: Instant::START }
    }
}

impl Rate for Paced {
    #[inline]
    fn ready(&self, _: &View) -> Instant {
        Instant::from_nanoseconds(self.level.nanoseconds().saturating_sub(self.burst))
    }

    fn on_sent(&mut self, view: &View, octets: usize, _: usize) {
        let takes = (octets as u64).saturating_mul(SECOND) / self.rate;
        self.level = self.level.max(view.now).later(takes);
    }
}

component! { Paced: "rate paced", "sends so many octets a second" }
