//! What came of a workload, in figures.

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

/// What a client has to tell when its work is over, or interrupted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    /// Messages that it sent.
    pub(crate) sent: u64,
    /// Replies that came.
    pub(crate) replies: u64,
    /// Requests that nobody answered in time.
    pub(crate) unanswered: u64,
    /// From a request to its reply, for as many as are kept.
    pub(crate) round_trips: Vec<Duration>,
}

/// How many round trips are kept.
const KEPT_MOST: usize = 100_000;

impl Account {
    pub(super) fn reply(&mut self, after: Duration) {
        self.replies += 1;
        if self.round_trips.len() < KEPT_MOST {
            self.round_trips.push(after);
        }
    }

    /// Of the round trips, the one that so many in a hundred do not exceed.
    pub(crate) fn round_trip(&self, percent: usize) -> Option<Duration> {
        let mut sorted = self.round_trips.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        sorted.get(last * percent / 100).copied()
    }
}
