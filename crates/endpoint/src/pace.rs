//! How long what is sent now waits until it has left: measured where the stack gives room back.

use std::time::{Duration, Instant};

use stackwright_contract::services::Credit;

/// With less on its way the application is what is slow, and its rate says nothing about the
/// network's: then so few are unanswered that acknowledgements may be gathered.
const BUSY_LEAST: Credit = Credit { octets: 64 << 10, messages: 16 };
/// How long a rate is measured.
const MEASURE: Duration = Duration::from_millis(50);

/// The pace of one association.
#[derive(Default)]
pub(crate) struct Pace {
    /// Octets a second, while the stack was busy.
    rate: Option<f64>,
    /// Since when it is busy without a break, and what it gave back since.
    busy: Option<(Instant, usize)>,
    /// The shortest time from a message's hand-over until as much was given back as waited then,
    /// the message included: no less than a round trip where room comes with acknowledgements, and
    /// hardly anything where it comes when octets leave.
    shortest: Option<Duration>,
    /// A message whose time is taken: when it was handed over, and how many octets are to be given
    /// back.
    timed: Option<(Instant, usize)>,
}

impl Pace {
    /// So much waits, with what was just handed over.
    pub(crate) fn handed_over(&mut self, now: Instant, waits: usize) {
        self.timed.get_or_insert((now, waits));
    }

    /// So much was given back; `waited` is what had waited before.
    pub(crate) fn given_back(&mut self, now: Instant, octets: usize, waited: Credit) {
        if let Some((since, left)) = &mut self.timed {
            *left = left.saturating_sub(octets);
            if *left == 0 {
                let took = now.duration_since(*since);
                self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
                self.timed = None;
            }
        }
        if waited.octets < BUSY_LEAST.octets && waited.messages < BUSY_LEAST.messages {
            self.busy = None;
            return;
        }
        // What came back first tells when measuring begins, and not how much came meanwhile.
        let Some((since, came)) = &mut self.busy else {
            self.busy = Some((now, 0));
            return;
        };
        *came += octets;
        let took = now.duration_since(*since);
        if took >= MEASURE {
            let measured = *came as f64 / took.as_secs_f64();
            // It rises at once and falls slowly: a refusal is final.
            self.rate = Some(
                self.rate.map_or(measured, |rate| measured.max((3.0 * rate + measured) / 4.0)),
            );
            self.busy = Some((now, 0));
        }
    }

    /// Returns how long a message takes to arrive behind `waits` octets, as far as was measured.
    pub(crate) fn estimate(&self, waits: usize) -> Duration {
        let shortest = self.shortest.unwrap_or_default();
        let leaves = match self.rate {
            Some(rate) if rate > 0.0 => {
                Duration::try_from_secs_f64(waits as f64 / rate).unwrap_or(Duration::MAX)
            }
            _ => Duration::ZERO,
        };
        // What is on its way is part of what waits, until its answer is back: a round trip, of
        // which half is over on arrival.
        if leaves.is_zero() { leaves } else { leaves.max(shortest) - shortest / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that takes an octet each microsecond, and answers 10 ms later.
    fn measured() -> Pace {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        pace.handed_over(begin, 1000);
        pace.given_back(
            begin + Duration::from_millis(10),
            1000,
            Credit { octets: 1000, messages: 1 },
        );
        for millisecond in 10..200 {
            let now = begin + Duration::from_millis(millisecond);
            pace.given_back(now, 1000, Credit { octets: 500_000, messages: 500 });
        }
        pace
    }

    #[test]
    fn the_estimate_is_what_waits_by_the_rate_less_half_a_round_trip() {
        let estimate = measured().estimate(1_000_000).as_secs_f64();
        assert!((estimate - 0.995).abs() < 0.001, "{estimate}");
    }

    #[test]
    fn where_hardly_anything_waits_it_is_half_a_round_trip() {
        assert_eq!(measured().estimate(100), Duration::from_millis(5));
        assert_eq!(
            measured().estimate(0),
            Duration::ZERO,
            "and nothing is known of an idle network"
        );
    }

    #[test]
    fn a_slow_application_is_no_slow_network() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        for second in 1..100 {
            let now = begin + Duration::from_secs(second);
            pace.handed_over(now, 200);
            pace.given_back(
                now + Duration::from_millis(50),
                100,
                Credit { octets: 200, messages: 2 },
            );
        }
        assert_eq!(pace.estimate(200), Duration::ZERO);
    }

    #[test]
    fn a_rate_rises_at_once_and_falls_slowly() {
        let mut pace = measured();
        let before = pace.rate.unwrap();
        let later = Instant::now() + Duration::from_secs(10);
        let waited = Credit { octets: 500_000, messages: 500 };
        pace.busy = Some((later, 0));
        pace.given_back(later + MEASURE, 500, waited);
        let slower = pace.rate.unwrap();
        assert!(slower < before && slower > before / 2.0, "{before} {slower}");
        pace.given_back(later + 2 * MEASURE, 500_000, waited);
        assert!(pace.rate.unwrap() > 9_000_000.0);
    }
}
