//! A policer: a token bucket that drops what exceeds its rate, without a queue (RFC 2475 §2.3.3.3).

use serde::{Deserialize, Serialize};
use stackwright_contract::Instant;

use super::queue::serialisation;

/// The limits of a policer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Policer {
    /// The rate in octets per second. At least 1.
    pub rate: u64,
    /// How many octets may come at once.
    pub burst: usize,
}

/// The bucket: when it is full again.
#[derive(Clone, Debug, Default)]
pub(super) struct Bucket(Instant);

impl Bucket {
    /// Returns whether a packet that is sent `now` passes, and takes what it costs if so.
    pub(super) fn admits(&mut self, policer: Policer, now: Instant, octets: usize) -> bool {
        let full = self.0.max(now) + serialisation(octets, policer.rate);
        let admits = full.since(now) <= serialisation(policer.burst, policer.rate);
        if admits {
            self.0 = full;
        }
        admits
    }
}
