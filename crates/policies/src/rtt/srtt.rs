//! The round trip, smoothed.

use stackwright_transport::component;
use stackwright_transport::slots::Rtt;
use stackwright_transport::words::{Estimate, Nanoseconds, Sample};

use super::{BackOff, SampleSource, TIMEOUT_MOST};

/// Smooths the round trip with α = 0.875 (ARTP §1.4.2). The timeout is twice that, as in RFC 793
/// with β = 2, at least `floor`, and doubles when it expires, to a minute at most unless
/// [`at_most`](Srtt::at_most) says otherwise. Twice the round trip has a margin of its own. A
/// doubled timeout stays doubled until a sample (Karn's algorithm).
///
/// Choose it to do what the document does; [`Rfc6298`](super::Rfc6298) is better where delay
/// varies.
///
/// ```
/// use stackwright_policies::rtt::{SampleSource, Srtt};
/// use stackwright_transport::{slots::Rtt, words::Sample};
/// let mut rtt = Srtt::new(SampleSource::Units, 1_000_000_000, 10_000_000);
/// rtt.on_sample(Sample::OfUnit(40_000_000));
/// rtt.on_sample(Sample::OfUnit(80_000_000));
/// assert_eq!(rtt.estimate().smoothed, 45_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Srtt {
    source: SampleSource,
    estimate: Estimate,
    timeout: Nanoseconds,
    floor: Nanoseconds,
    ceiling: Nanoseconds,
    back_off: BackOff,
}

impl Srtt {
    /// Creates the policy. The timeout is `first` before anything was measured, and never less than
    /// `floor` after that; both in nanoseconds.
    pub const fn new(source: SampleSource, first: Nanoseconds, floor: Nanoseconds) -> Self {
        let estimate = Estimate { smoothed: 0, variation: 0, least: 0, timeout: first };
        Srtt {
            source,
            estimate,
            timeout: first,
            floor,
            ceiling: TIMEOUT_MOST,
            back_off: BackOff::NONE,
        }
    }

    /// Sets the longest timeout, in nanoseconds; a round trip that is longer overrides it.
    #[must_use]
    pub const fn at_most(self, ceiling: Nanoseconds) -> Self {
        Srtt { ceiling, ..self }
    }

    fn settle(&mut self) {
        self.estimate.timeout = self.back_off.of(self.timeout, self.ceiling);
    }
}

impl Rtt for Srtt {
    #[inline]
    fn estimate(&self) -> Estimate {
        self.estimate
    }

    fn on_sample(&mut self, sample: Sample) {
        let Some(took) = self.source.believes(sample) else { return };
        let estimate = &mut self.estimate;
        if estimate.smoothed == 0 {
            (estimate.smoothed, estimate.least) = (took, took);
        } else {
            estimate.smoothed = (7 * estimate.smoothed + took) / 8;
            estimate.least = estimate.least.min(took);
        }
        self.timeout = (2 * estimate.smoothed).max(self.floor);
        self.back_off = BackOff::NONE;
        self.settle();
    }

    fn on_timeout(&mut self) {
        self.back_off.expire();
        self.settle();
    }
}

component! { Srtt: "rtt smoothed", "smooths the round trip", needs: Property::REPORTS }

#[cfg(test)]
mod tests {
    use stackwright_transport::words::SECOND;

    use super::*;

    /// Returns the timeout after it has expired so often that it is not doubled any more.
    fn longest(mut rtt: Srtt) -> Nanoseconds {
        (0..100).for_each(|_| rtt.on_timeout());
        rtt.estimate().timeout
    }

    #[test]
    fn a_doubled_timeout_is_bounded_but_never_shorter_than_the_round_trip() {
        let measured = |took| {
            let mut rtt = Srtt::new(SampleSource::Units, SECOND, 0);
            rtt.on_sample(Sample::OfUnit(took));
            rtt
        };
        for (rtt, most) in [
            (measured(2 * SECOND), 60 * SECOND),
            (measured(2 * SECOND).at_most(10 * SECOND), 10 * SECOND),
            (measured(50 * SECOND), 2 * 100 * SECOND),
        ] {
            let longest = longest(rtt);
            assert!((most..=most + most / 4).contains(&longest), "{longest}");
        }
    }
}
