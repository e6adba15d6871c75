//! Pacing at a rate that the two sides tell each other.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Rate;
use stackwright_transport::words::{Terms, View};

use super::Paced;

/// Paces packets at the lower of two rates, and with the smaller of two bursts: those of this side,
/// and those that the peer tells (XTP's traffic specifier). The peer is told how fast this side
/// takes data; a change leaves at once, and is in force when it arrives. What was sent before takes
/// its time at the new rate. Where no side has a rate, packets leave as fast as the windows allow;
/// where no side has a burst, they leave one by one.
///
/// A change that is lost is told with the next packet that carries terms: an answer to an inquiry.
///
/// ```
/// use stackwright_policies::rate::PacedByTerms;
/// use stackwright_transport::words::Terms;
/// let paced = PacedByTerms::new(Terms { rate: 125_000, burst: 3000 }, Terms::NONE);
/// # let _ = paced;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PacedByTerms {
    sends: Terms,
    takes: Terms,
    theirs: Terms,
    /// Whether the peer was not told of a change.
    owes: bool,
    paced: Option<Paced>,
}

impl PacedByTerms {
    /// Creates the policy of a side that sends as fast as `sends` says, and takes as fast as
    /// `takes` says.
    pub fn new(sends: Terms, takes: Terms) -> Self {
        let mut policy =
            PacedByTerms { sends, takes, theirs: Terms::NONE, owes: false, paced: None };
        policy.apply(&View::START);
        policy
    }

    fn apply(&mut self, view: &View) {
        let rate = least(self.sends.rate, self.theirs.rate);
        let burst = least(self.sends.burst, self.theirs.burst);
        self.paced = NonZeroU64::new(rate.into()).map(|rate| match self.paced {
            Some(paced) => paced.changed(view, rate, burst),
            None => Paced::new(rate, burst),
        });
    }
}

/// Returns the lower of two bounds, of which 0 is none.
fn least(one: u32, other: u32) -> u32 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

impl Rate for PacedByTerms {
    fn ready(&self, view: &View) -> Instant {
        self.paced.map_or(Instant::START, |paced| paced.ready(view))
    }

    fn pace(&self) -> Option<NonZeroU64> {
        self.paced?.pace()
    }

    fn heeds_sent(&self) -> bool {
        self.paced.is_some()
    }

    fn on_sent(&mut self, view: &View, octets: usize, body: usize) {
        if let Some(paced) = &mut self.paced {
            paced.on_sent(view, octets, body);
        }
    }

    fn on_terms(&mut self, view: &View, terms: Terms) {
        if terms != self.theirs {
            self.theirs = terms;
            self.apply(view);
        }
    }

    fn terms(&self) -> Option<Terms> {
        Some(self.takes)
    }

    fn set_terms(&mut self, terms: Terms) -> bool {
        self.owes |= terms != self.takes;
        self.takes = terms;
        true
    }

    fn owes_terms(&self) -> bool {
        self.owes
    }

    fn on_terms_said(&mut self) {
        self.owes = false;
    }
}

component! {
    PacedByTerms: "rate by terms", "sends as fast as both sides say",
    needs: Property::TERMS,
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::SECOND;

    use super::*;

    fn at(milliseconds: u64) -> View {
        View { now: Instant::from_nanoseconds(SECOND + milliseconds * 1_000_000), ..View::START }
    }

    /// Returns how many octets leave from `from` to `upto`, in packets of 100.
    fn leaves(policy: &mut PacedByTerms, from: u64, upto: u64) -> u64 {
        let (mut octets, mut now) = (0, at(from));
        while now.now < at(upto).now {
            if policy.ready(&now) <= now.now {
                policy.on_sent(&now, 100, 80);
                octets += 100;
            } else {
                now.now = policy.ready(&now);
            }
        }
        octets
    }

    #[test]
    fn the_lower_rate_and_the_smaller_burst_are_in_force() {
        let terms = |rate, burst| Terms { rate, burst };
        for (own, theirs, rate) in [
            (terms(10_000, 0), terms(0, 0), 10_000),
            (terms(10_000, 500), terms(5000, 0), 5000),
            (terms(5000, 0), terms(10_000, 500), 5000),
            (terms(0, 0), terms(7000, 100), 7000),
        ] {
            let mut policy = PacedByTerms::new(own, Terms::NONE);
            policy.on_terms(&at(0), theirs);
            let octets = leaves(&mut policy, 0, 10_000);
            let burst = u64::from(own.burst.max(theirs.burst)) + 100;
            assert!((10 * rate..=10 * rate + burst).contains(&octets), "{octets}");
        }
        let mut free = PacedByTerms::new(Terms::NONE, Terms::NONE);
        free.on_sent(&at(0), 1 << 30, 1 << 30);
        assert!(!free.heeds_sent() && free.ready(&at(0)) <= at(0).now);
    }

    #[test]
    fn a_change_is_in_force_at_once_whatever_left_before() {
        let burst = 1000;
        for (before, after) in [(100_000, 1000), (1000, 100_000), (0, 1000)] {
            let mut policy = PacedByTerms::new(Terms { rate: before, burst }, Terms::NONE);
            if before > 0 {
                leaves(&mut policy, 0, 5000);
            }
            policy.sends = Terms::NONE;
            policy.on_terms(&at(5000), Terms { rate: after, burst });
            let octets = leaves(&mut policy, 5000, 15_000);
            let most = u64::from(10 * after + burst) + 100;
            assert!((u64::from(10 * after) - 100..=most).contains(&octets), "{octets}");
        }
    }

    #[test]
    fn a_change_is_told_once() {
        let mut policy = PacedByTerms::new(Terms::NONE, Terms::NONE);
        assert!(!policy.owes_terms());
        let terms = Terms { rate: 9, burst: 1 };
        assert!(policy.set_terms(terms) && policy.owes_terms());
        assert_eq!(policy.terms(), Some(terms));
        policy.on_terms_said();
        assert!(policy.set_terms(terms) && !policy.owes_terms(), "they are the same");
    }
}
