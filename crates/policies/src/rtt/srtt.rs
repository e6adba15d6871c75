//! The round trip, smoothed.

use stackwright_transport::component;
use stackwright_transport::slots::Rtt;
use stackwright_transport::words::{Estimate, Nanoseconds, Sample};

use super::{DOUBLED_MOST, Of};

/// Smoothed with α = 0.875 (ARTP §1.4.2); the timeout is twice that, as in RFC 793 with β = 2, at least `floor`, and doubles
/// when it fires.
///
/// Choose it to do what the document does; [`Rfc6298`](super::Rfc6298) is better where delay varies.
///
/// ```
/// use stackwright_policies::rtt::{Of, Srtt};
/// use stackwright_transport::{slots::Rtt, words::Sample};
/// let mut rtt = Srtt::new(Of::Units, 1_000_000_000, 10_000_000);
/// rtt.on_sample(Sample::OfUnit(40_000_000));
/// rtt.on_sample(Sample::OfUnit(80_000_000));
/// assert_eq!(rtt.estimate().smoothed, 45_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Srtt {
    of: Of,
    estimate: Estimate,
    floor: Nanoseconds,
    doubled: u32,
}

impl Srtt {
    /// The timeout is `first` before anything was measured, and never less than `floor` after that.
    pub const fn new(of: Of, first: Nanoseconds, floor: Nanoseconds) -> Self {
        let estimate = Estimate { smoothed: 0, variation: 0, least: 0, timeout: first };
        Srtt { of, estimate, floor, doubled: 0 }
    }
}

impl Rtt for Srtt {
    #[inline]
    fn estimate(&self) -> Estimate {
        self.estimate
    }

    fn on_sample(&mut self, sample: Sample) {
        let Some(took) = self.of.believes(sample) else { return };
        let estimate = &mut self.estimate;
        if estimate.smoothed == 0 {
            (estimate.smoothed, estimate.least) = (took, took);
        } else {
            estimate.smoothed = (7 * estimate.smoothed + took) / 8;
            estimate.least = estimate.least.min(took);
        }
        self.doubled = 0;
        estimate.timeout = (2 * estimate.smoothed).max(self.floor);
    }

    fn on_timeout(&mut self) {
        if self.doubled < DOUBLED_MOST {
            self.doubled += 1;
            self.estimate.timeout *= 2;
        }
    }
}

component! { Srtt: "rtt smoothed", "smooths the round trip", needs: Property::REPORTS }
