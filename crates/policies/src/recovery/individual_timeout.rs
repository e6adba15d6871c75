//! A retransmission timeout for each packet.

use stackwright_transport::component;
use stackwright_transport::slots::Recovery;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, Opening, View};

/// How much later than two round trips, and the peer's longest delay of an acknowledgement (RFC 8985
/// §7.2), the tail of a burst counts as lost.
const PROBE_SLACK: Nanoseconds = 10 * MILLISECOND;

/// The least time threshold: packets that leave at one moment do not take the same time through
/// both hosts.
const LAG_LEAST: Nanoseconds = MILLISECOND;

/// How many round trips, with their variation, a silence lasts at least before the peer counts as
/// gone: where a round trip takes longer than `silence`, silence is no sign.
const ROUND_TRIPS_LEAST: u64 = 3;

/// The timeouts in a row with which `silence` suffices, because a few losses are no sign; with
/// fewer, the silence lasts longer. With one, no answer can have come yet: this host may have
/// slept.
const TIMEOUTS_LEAST: u32 = 8;

/// How many times as long a silence lasts with fewer timeouts.
const FEW_TIMEOUTS_FACTOR: u64 = 3;

/// Sends each packet again when its retransmission timeout expires (ARTP §1.4.5), until it is
/// acknowledged or the peer counts as gone: after max(`silence`, 3 · (SRTT + 4 · RTTVAR)) without
/// an acknowledgement and eight timeouts in a row, which take 255 times the first, or after three
/// times as long. That is a deadline of its own, whatever is due to be sent again.
///
/// Two things make that quick without making it wrong. A packet counts as lost already when
/// `reordering` packets that left after it have arrived (*packet reordering threshold*), or one
/// that left later by a quarter of the shortest round trip (*time threshold*, RFC 9002 §6.1); with
/// `None` neither counts, as in the document. And when the tail of a burst stays unacknowledged,
/// its last packet is sent once more after two round trips, so that a report on it tells about the
/// rest.
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
    /// How long the peer may delay an acknowledgement.
    peer_delay: Nanoseconds,
}

impl IndividualTimeout {
    /// Creates the policy with a packet reordering threshold of 3. The peer counts as gone after
    /// `silence` nanoseconds without an acknowledgement, while one is due.
    pub const fn new(silence: Nanoseconds) -> Self {
        IndividualTimeout { silence, reordering: Some(3), peer_delay: 0 }
    }

    /// Sets the packet reordering threshold; with `None`, there is no time threshold and no probe
    /// either.
    #[must_use]
    pub const fn reordering(self, reordering: Option<u64>) -> Self {
        IndividualTimeout { reordering, ..self }
    }
}

impl Recovery for IndividualTimeout {
    fn on_opened(&mut self, opening: &Opening) {
        self.peer_delay = opening.peer_delay.unwrap_or(0);
    }

    fn tolerance(&self) -> Option<u64> {
        self.reordering
    }

    fn lag(&self, view: &View) -> Option<Nanoseconds> {
        self.reordering?;
        // RFC 8985 §6.2, step 4, without what it learns of packets that were late.
        (view.rtt.least > 0).then(|| (view.rtt.least / 4).max(LAG_LEAST))
    }

    fn patience(&self, view: &View) -> Option<Nanoseconds> {
        Some(view.rtt.timeout)
    }

    fn probes_after(&self, view: &View) -> Option<Nanoseconds> {
        self.reordering?; // a report on the last one tells nothing then
        (view.rtt.smoothed > 0).then(|| 2 * view.rtt.smoothed + self.peer_delay + PROBE_SLACK)
    }

    fn dead_after(&self, view: &View, timeouts: u32) -> Option<Nanoseconds> {
        // Not the timeout: backed off, it would put off the end by minutes.
        let round_trips = ROUND_TRIPS_LEAST * (view.rtt.smoothed + 4 * view.rtt.variation);
        let silence = self.silence.max(round_trips);
        match timeouts {
            0 | 1 => None,
            2..TIMEOUTS_LEAST => Some(FEW_TIMEOUTS_FACTOR.saturating_mul(silence)),
            _ => Some(silence),
        }
    }
}

component! {
    IndividualTimeout: "recovery by individual timeouts", "sends a packet again when it is not acknowledged in time",
    needs: Property::UNASKED, gives: Property::REPEATS,
}

#[cfg(test)]
mod tests {
    use stackwright_contract::Instant;
    use stackwright_transport::words::{Estimate, SECOND};

    use super::*;

    fn view(smoothed: Nanoseconds, variation: Nanoseconds, timeout: Nanoseconds) -> View {
        let rtt = Estimate { smoothed, variation, least: smoothed, timeout };
        View { now: Instant::START, rtt, idle: false, drained: false, ..View::START }
    }

    #[test]
    fn silence_does_not_bound_the_timeout() {
        let recovery = IndividualTimeout::new(SECOND);
        assert_eq!(recovery.patience(&view(20 * SECOND, 0, 60 * SECOND)), Some(60 * SECOND));
    }

    #[test]
    fn the_peer_is_gone_after_the_silence_or_three_round_trips_however_far_the_timeout_backed_off()
    {
        let dead_after = |view: View| IndividualTimeout::new(30 * SECOND).dead_after(&view, 8);
        let few = [0, 1, 2, 7]
            .map(|few| IndividualTimeout::new(SECOND).dead_after(&view(0, 0, SECOND), few));
        assert_eq!(few, [None, None, Some(3 * SECOND), Some(3 * SECOND)]);
        assert_eq!(dead_after(view(0, 0, SECOND)), Some(30 * SECOND));
        assert_eq!(dead_after(view(SECOND, SECOND, 60 * SECOND)), Some(30 * SECOND));
        assert_eq!(dead_after(view(20 * SECOND, 5 * SECOND, 60 * SECOND)), Some(120 * SECOND));
    }
}
