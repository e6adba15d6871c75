//! Each packet is sent again when nothing was heard of it in time.

use stackwright_transport::component;
use stackwright_transport::slots::Recovery;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, View};

/// How much later than two round trips the end of a burst is believed to be lost: a report is not sent at once.
const PROBE_SLACK: Nanoseconds = 10 * MILLISECOND;

/// One that is overtaken in less time than this is not lost: what leaves at one moment takes ways of its own through both hosts.
const LAG_LEAST: Nanoseconds = MILLISECOND;

/// How many timeouts a silence has at least, so that one loss more is not taken for a death.
const TIMEOUTS_LEAST: u64 = 12;

/// Each packet is sent again when nothing was heard of it in time (ARTP §1.4.5), until something is heard or `silence` has
/// passed without a word from the peer. However often a timeout has doubled, no wait is longer than a twelfth of that silence,
/// unless the way is.
///
/// Two things make that quick without making it wrong. A packet is lost already when `reordering` packets that left after it
/// have arrived, or one that left later by a quarter of the shortest round trip (`None`: neither means anything, as in the
/// document). And when the end of a burst stays unheard of, its last
/// packet is sent once more after two round trips, so that what is heard of it tells about the rest.
///
/// Choose it where each packet is acknowledged by itself.
///
/// ```
/// use stackwright_policies::recovery::IndividualTimeout;
/// use stackwright_transport::slots::Recovery;
/// let recovery = IndividualTimeout::new(30_000_000_000).reordering(Some(3));
/// assert_eq!(recovery.tolerance(), Some(3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IndividualTimeout {
    silence: Nanoseconds,
    reordering: Option<u64>,
}

impl IndividualTimeout {
    /// The peer is dead after so long a silence, in nanoseconds.
    pub const fn new(silence: Nanoseconds) -> Self {
        IndividualTimeout { silence, reordering: Some(3) }
    }

    /// How many packets may overtake one that is not lost.
    #[must_use]
    pub const fn reordering(self, reordering: Option<u64>) -> Self {
        IndividualTimeout { reordering, ..self }
    }
}

impl Recovery for IndividualTimeout {
    fn tolerance(&self) -> Option<u64> {
        self.reordering
    }

    fn lag(&self, view: &View) -> Option<Nanoseconds> {
        self.reordering?;
        // RFC 8985 §6.2, step 4, without what it learns of packets that were late.
        (view.rtt.least > 0).then(|| (view.rtt.least / 4).max(LAG_LEAST))
    }

    fn patience(&self, view: &View) -> Option<Nanoseconds> {
        let way = 2 * view.rtt.smoothed + 4 * view.rtt.variation;
        Some(view.rtt.timeout.min(way.max(self.silence / TIMEOUTS_LEAST)))
    }

    fn probes_after(&self, view: &View) -> Option<Nanoseconds> {
        self.reordering?; // what is heard of the last one tells nothing then
        (view.rtt.smoothed > 0).then(|| 2 * view.rtt.smoothed + PROBE_SLACK)
    }

    fn gives_up(&self, times: u16, silence: Nanoseconds) -> bool {
        times > 1 && silence >= self.silence
    }
}

component! {
    IndividualTimeout: "recovery by individual timeouts", "sends a packet again when nothing was heard of it in time",
    needs: Property::UNASKED, gives: Property::REPEATS,
}

#[cfg(test)]
mod tests {
    use stackwright_contract::Instant;
    use stackwright_transport::words::{Estimate, SECOND};

    use super::*;

    /// How long is waited where a timeout has doubled to `timeout`, and the way takes `smoothed`.
    fn patience(smoothed: Nanoseconds, variation: Nanoseconds, timeout: Nanoseconds) -> Nanoseconds {
        let view = View {
            now: Instant::START,
            rtt: Estimate { smoothed, variation, least: smoothed, timeout },
            idle: false,
            drained: false,
            ..View::START
        };
        IndividualTimeout::new(60 * SECOND).patience(&view).expect("it waits")
    }

    #[test]
    fn a_doubled_timeout_leaves_a_dozen_tries_in_a_silence_but_is_no_shorter_than_the_way() {
        assert_eq!(patience(0, 0, 12 * SECOND), 5 * SECOND);
        assert_eq!(patience(SECOND, 0, 2 * SECOND), 2 * SECOND);
        assert_eq!(patience(20 * SECOND, 0, 300 * SECOND), 40 * SECOND);
        assert_eq!(patience(20 * SECOND, 5 * SECOND, 40 * SECOND), 40 * SECOND);
    }
}
