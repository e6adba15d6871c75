//! The round trip and its deviation, smoothed.

use stackwright_transport::component;
use stackwright_transport::slots::Rtt;
use stackwright_transport::words::{Estimate, Nanoseconds, Sample};

use super::{DOUBLED_HEARD, DOUBLED_MOST, Of, TIMEOUT_MOST};

/// Smoothed, with the mean deviation (RFC 6298): the timeout is the one plus four times the other, at least `floor`, and
/// doubles when it fires.
///
/// Choose it for networks: their delay varies, and a timeout that does not know by how much is too short or too long.
///
/// ```
/// use stackwright_policies::rtt::{Of, Rfc6298};
/// use stackwright_transport::{slots::Rtt, words::Sample};
/// let mut rtt = Rfc6298::new(Of::Units, 1_000_000_000, 10_000_000);
/// rtt.on_sample(Sample::OfUnit(40_000_000));
/// assert_eq!(rtt.estimate().timeout, 120_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rfc6298 {
    of: Of,
    estimate: Estimate,
    timeout: Nanoseconds,
    floor: Nanoseconds,
    ceiling: Nanoseconds,
    doubled: u32,
}

impl Rfc6298 {
    /// The timeout is `first` before anything was measured, and never less than `floor` after that.
    pub const fn new(of: Of, first: Nanoseconds, floor: Nanoseconds) -> Self {
        let estimate = Estimate { smoothed: 0, variation: 0, least: 0, timeout: first };
        Rfc6298 { of, estimate, timeout: first, floor, ceiling: TIMEOUT_MOST, doubled: 0 }
    }

    /// No timeout is longer than `ceiling`, unless the round trip is.
    #[must_use]
    pub const fn at_most(self, ceiling: Nanoseconds) -> Self {
        Rfc6298 { ceiling, ..self }
    }

    fn settle(&mut self) {
        self.estimate.timeout = (self.timeout << self.doubled).min(self.ceiling.max(self.timeout));
    }
}

impl Rtt for Rfc6298 {
    #[inline]
    fn estimate(&self) -> Estimate {
        self.estimate
    }

    fn on_sample(&mut self, sample: Sample) {
        let Some(took) = self.of.believes(sample) else { return };
        let estimate = &mut self.estimate;
        if estimate.smoothed == 0 {
            (estimate.smoothed, estimate.variation, estimate.least) = (took, took / 2, took);
        } else {
            estimate.variation = (3 * estimate.variation + estimate.smoothed.abs_diff(took)) / 4;
            estimate.smoothed = (7 * estimate.smoothed + took) / 8;
            estimate.least = estimate.least.min(took);
        }
        self.timeout = (estimate.smoothed + 4 * estimate.variation).max(self.floor);
        self.doubled = 0;
        self.settle();
    }

    fn on_timeout(&mut self) {
        self.doubled = (self.doubled + 1).min(DOUBLED_MOST);
        self.settle();
    }

    fn on_progress(&mut self) {
        if self.doubled > DOUBLED_HEARD {
            self.doubled = DOUBLED_HEARD;
            self.settle();
        }
    }
}

component! { Rfc6298: "rtt by RFC 6298", "smooths the round trip and its deviation", needs: Property::REPORTS }
