//! Steps: a rate, an MTU or a treatment of ECN that changes in the middle of a run, as on a path
//! that is routed anew. No sender is told.

use serde::{Deserialize, Serialize};
use stackwright_contract::{Duration, Instant};

use super::{Conditions, EcnTreatment};

/// A change of some of a link's conditions for the rest of the run, or until a later step changes
/// them again. `None` leaves one as it is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkStep {
    /// When it begins, after the run began.
    pub at: Duration,
    /// The rate in octets per second of packets that begin to leave then. At least 1.
    pub rate: Option<u64>,
    /// The longest packet that passes, of those sent then. Adapters are told the MTU of the link
    /// alone: a longer packet is dropped silently.
    pub mtu: Option<usize>,
    /// The treatment of packets sent then.
    pub ecn: Option<EcnTreatment>,
    /// The probability, 0 to 1, with which each packet sent then is lost, independently.
    pub loss: Option<f64>,
}

impl Conditions {
    /// Returns the rate at `time`.
    pub(crate) fn rate_at(&self, time: Instant) -> Option<u64> {
        self.stepped(time, |step| step.rate).or(self.rate)
    }

    /// Returns the longest packet that passes at `time`.
    pub(super) fn mtu_at(&self, time: Instant) -> Option<usize> {
        self.stepped(time, |step| step.mtu).or(self.mtu)
    }

    /// Returns what happens to ECN at `time`.
    pub(super) fn ecn_at(&self, time: Instant) -> EcnTreatment {
        self.stepped(time, |step| step.ecn).unwrap_or(self.ecn)
    }

    /// Returns with which probability a packet sent at `time` is lost, if a step says it.
    pub(super) fn loss_at(&self, time: Instant) -> Option<f64> {
        self.stepped(time, |step| step.loss)
    }

    /// Returns what the last of the steps that have begun says, in the order of the list.
    fn stepped<T>(&self, time: Instant, says: impl Fn(&LinkStep) -> Option<T>) -> Option<T> {
        let begun = self.steps.iter().rev().filter(|step| time >= Instant::START + step.at);
        begun.filter_map(says).next()
    }
}
