//! A retransmission timeout for each packet.

use stackwright_transport::component;
use stackwright_transport::slots::Recovery;
use stackwright_transport::words::{Nanoseconds, View};

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
/// an acknowledgement and eight timeouts in a row, which take 255 to 319 times the first, or after
/// three times as long. That is a deadline of its own, whatever is due to be sent again.
///
/// Choose it where each packet is acknowledged by itself.
///
/// ```
/// use stackwright_policies::recovery::IndividualTimeout;
/// use stackwright_transport::slots::Recovery;
/// let recovery = IndividualTimeout::new(30_000_000_000);
/// assert_eq!(recovery.tolerance(), None, "what arrived later tells nothing");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IndividualTimeout {
    silence: Nanoseconds,
}

impl IndividualTimeout {
    /// Creates the policy. The peer counts as gone after `silence` nanoseconds without an
    /// acknowledgement, while one is due.
    pub const fn new(silence: Nanoseconds) -> Self {
        IndividualTimeout { silence }
    }
}

impl Recovery for IndividualTimeout {
    fn patience(&self, view: &View) -> Option<Nanoseconds> {
        Some(view.rtt.timeout)
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
