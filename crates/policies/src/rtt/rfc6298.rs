//! The round trip and its deviation, smoothed.

use stackwright_transport::component;
use stackwright_transport::slots::Rtt;
use stackwright_transport::words::{Estimate, MILLISECOND, Nanoseconds, Opening, Sample};

use super::{BackOff, SampleSource, TIMEOUT_MOST};

/// What is added to the peer's longest delay of an acknowledgement: timers of both hosts have
/// coarse clocks.
const GRANULARITY: Nanoseconds = 10 * MILLISECOND;

/// Computes the retransmission timeout of RFC 6298: SRTT + max(G, 4 · RTTVAR), doubled each time it
/// expires.
///
/// G (2.3) is a `margin`, as in Linux (`tcp_rto_min`, 200 ms): it covers the peer's delayed
/// acknowledgement, as `max_ack_delay` does in RFC 9002 §6.2.1, and the jitter of a path so steady
/// that RTTVAR goes to 0. A floor below the *sum* would leave no margin on a round trip longer than
/// itself.
///
/// A doubled timeout stays doubled until a unit that was sent once is acknowledged (Karn's
/// algorithm, RFC 6298 (5.7)): where the round trip outgrew the timeout, nothing could be measured
/// otherwise.
///
/// Choose it for networks: their delay varies, and a timeout that does not take the variation into
/// account is too short or too long.
///
/// ```
/// use stackwright_policies::rtt::{SampleSource, Rfc6298};
/// use stackwright_transport::{slots::Rtt, words::Sample};
/// let mut rtt = Rfc6298::new(SampleSource::Units, 1_000_000_000, 10_000_000);
/// rtt.on_sample(Sample::OfUnit(40_000_000));
/// assert_eq!(rtt.estimate().timeout, 40_000_000 + 80_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rfc6298 {
    source: SampleSource,
    estimate: Estimate,
    timeout: Nanoseconds,
    margin: Nanoseconds,
    ceiling: Nanoseconds,
    back_off: BackOff,
}

impl Rfc6298 {
    /// Creates the policy. The timeout is `first` before anything was measured, and at least
    /// `margin` more than the smoothed round trip after that; both in nanoseconds.
    pub const fn new(source: SampleSource, first: Nanoseconds, margin: Nanoseconds) -> Self {
        let estimate = Estimate { smoothed: 0, variation: 0, least: 0, timeout: first };
        Rfc6298 {
            source,
            estimate,
            timeout: first,
            margin,
            ceiling: TIMEOUT_MOST,
            back_off: BackOff::NONE,
        }
    }

    /// Sets the longest timeout, in nanoseconds; a round trip that is longer overrides it.
    #[must_use]
    pub const fn at_most(self, ceiling: Nanoseconds) -> Self {
        Rfc6298 { ceiling, ..self }
    }

    /// Records a measurement.
    fn learn(&mut self, took: Nanoseconds) {
        let estimate = &mut self.estimate;
        if estimate.smoothed == 0 {
            (estimate.smoothed, estimate.variation, estimate.least) = (took, took / 2, took);
        } else {
            estimate.variation = (3 * estimate.variation + estimate.smoothed.abs_diff(took)) / 4;
            estimate.smoothed = (7 * estimate.smoothed + took) / 8;
            estimate.least = estimate.least.min(took);
        }
        self.timeout = estimate.smoothed + (4 * estimate.variation).max(self.margin);
    }

    fn settle(&mut self) {
        self.estimate.timeout = self.back_off.of(self.timeout, self.ceiling);
    }
}

impl Rtt for Rfc6298 {
    #[inline]
    fn estimate(&self) -> Estimate {
        self.estimate
    }

    fn on_opened(&mut self, opening: &Opening) {
        self.margin = self.margin.max(opening.peer_delay.map_or(0, |delay| delay + GRANULARITY));
        if opening.tries <= 1 {
            self.learn(opening.took.max(1));
        } else {
            // Which request was answered is unknown (Karn's algorithm).
            self.timeout = self.timeout.max(opening.took + self.margin);
        }
        self.settle();
    }

    fn on_sample(&mut self, sample: Sample) {
        let Some(took) = self.source.believes(sample) else { return };
        self.learn(took);
        self.back_off = BackOff::NONE;
        self.settle();
    }

    fn on_timeout(&mut self) {
        self.back_off.expire();
        self.settle();
    }
}

component! { Rfc6298: "rtt by RFC 6298", "smooths the round trip and its deviation", needs: Property::REPORTS }

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{MILLISECOND, SECOND};

    use super::*;

    fn measured(took: Nanoseconds, times: u32) -> Rfc6298 {
        let mut rtt = Rfc6298::new(SampleSource::Units, SECOND, 200 * MILLISECOND);
        (0..times).for_each(|_| rtt.on_sample(Sample::OfUnit(took)));
        rtt
    }

    #[test]
    fn a_steady_round_trip_of_any_length_has_the_margin_above_it() {
        for took in [MILLISECOND, 199 * MILLISECOND, 600 * MILLISECOND, 10 * SECOND] {
            assert_eq!(measured(took, 100).estimate().timeout, took + 200 * MILLISECOND);
        }
    }

    #[test]
    fn variation_replaces_the_margin_where_it_is_larger() {
        assert_eq!(measured(SECOND, 1).estimate().timeout, 3 * SECOND);
    }

    #[test]
    fn backing_off_ends_at_a_minute_but_always_doubles_once() {
        let longest = |mut rtt: Rfc6298| {
            (0..100).for_each(|_| rtt.on_timeout());
            rtt.estimate().timeout
        };
        for (took, most) in [(SECOND, 60 * SECOND), (50 * SECOND, 100_400 * MILLISECOND)] {
            let longest = longest(measured(took, 100));
            assert!((most..=most + most / 4).contains(&longest), "{longest}");
        }
    }

    /// Of a link that is up for a fifth of each twenty seconds, a minute is a multiple.
    #[test]
    fn a_timeout_that_is_as_long_as_it_may_be_meets_a_link_that_is_up_periodically() {
        for took in (100..300).map(|hundredth| hundredth * SECOND / 100) {
            let (mut rtt, mut now) = (measured(took, 100), 0);
            let up = (0..40).position(|_| {
                rtt.on_timeout();
                now += rtt.estimate().timeout;
                (10 * SECOND..14 * SECOND).contains(&(now % (20 * SECOND)))
            });
            assert!(up.is_some(), "{took}");
        }
    }

    #[test]
    fn a_doubled_timeout_stays_until_a_sample() {
        let base = 300 * MILLISECOND;
        let is_doubled = |rtt: &Rfc6298| (8 * base..=10 * base).contains(&rtt.estimate().timeout);
        let mut rtt = measured(100 * MILLISECOND, 100);
        (0..3).for_each(|_| rtt.on_timeout());
        assert!(is_doubled(&rtt));
        rtt.on_sample(Sample::OfAnswer(100 * MILLISECOND));
        assert!(is_doubled(&rtt), "it believes units only");
        rtt.on_sample(Sample::OfUnit(100 * MILLISECOND));
        assert_eq!(rtt.estimate().timeout, base);
    }
}
