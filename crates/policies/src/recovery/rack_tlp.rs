//! Loss by time and order of transmission, with a probe of the tail.

use stackwright_transport::component;
use stackwright_transport::slots::Recovery;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, Opening, View};

use super::IndividualTimeout;
use super::reordering::ReorderingWindow;

/// How much later than two round trips, and the peer's longest delay of an acknowledgement (RFC
/// 8985 §7.2), the tail of a burst counts as lost.
const PROBE_SLACK: Nanoseconds = 10 * MILLISECOND;

/// How many packets the peer may keep waiting for a report.
const FEW: u64 = 2;

/// Counts a packet as lost when a packet that left later has arrived, and enough time has passed
/// for it to be merely late (RACK, RFC 8985 §6): a quarter of the shortest round trip, its
/// *reordering window*. Until reordering was seen, a number of later packets suffices, too (*packet
/// reordering threshold*). Whenever a packet that had been taken for lost arrives after
/// all, the window grows by a quarter more, up to a round trip, and shrinks after 16 recoveries in
/// which nothing was reordered.
///
/// When the tail of a burst stays unacknowledged, its last packet is sent once more after two round
/// trips and the peer's longest delay, so that a report on it tells about the rest (*tail loss
/// probe*, RFC 8985 §7). If nothing is reported at all, a timeout expires, as of an
/// [`IndividualTimeout`].
///
/// Choose it for networks where each packet is acknowledged by itself.
///
/// ```
/// use stackwright_policies::recovery::RackTlp;
/// use stackwright_transport::slots::Recovery;
/// let recovery = RackTlp::new(30_000_000_000);
/// assert_eq!(recovery.tolerance(), Some(3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RackTlp {
    timeout: IndividualTimeout,
    threshold: Option<u64>,
    window: ReorderingWindow,
    /// How long the peer may delay an acknowledgement.
    peer_delay: Nanoseconds,
}

impl RackTlp {
    /// Creates the policy with a packet reordering threshold of 3. The peer counts as gone after
    /// `silence` nanoseconds without an acknowledgement, while one is due.
    pub const fn new(silence: Nanoseconds) -> Self {
        RackTlp {
            timeout: IndividualTimeout::new(silence),
            threshold: Some(3),
            window: ReorderingWindow::new(),
            peer_delay: 0,
        }
    }

    /// Sets the packet reordering threshold; with `None`, neither order nor time of transmission
    /// count, nothing is probed, and only the timeout is left.
    #[must_use]
    pub const fn threshold(self, threshold: Option<u64>) -> Self {
        RackTlp { threshold, ..self }
    }
}

impl Recovery for RackTlp {
    fn on_opened(&mut self, opening: &Opening) {
        self.peer_delay = opening.peer_delay.unwrap_or(0);
    }

    fn on_lost(&mut self, view: &View) {
        self.window.on_lost(view);
    }

    fn on_reordered(&mut self, view: &View, was_lost: bool, by: Nanoseconds) {
        self.window.on_reordered(view, was_lost, by);
    }

    fn tolerance(&self) -> Option<u64> {
        let seen = self.window.has_seen();
        self.threshold.map(|threshold| if seen { u64::MAX } else { threshold })
    }

    fn lag(&self, view: &View) -> Option<Nanoseconds> {
        self.threshold?;
        self.window.length(view)
    }

    fn patience(&self, view: &View) -> Option<Nanoseconds> {
        self.timeout.patience(view)
    }

    fn probes_after(&self, view: &View) -> Option<Nanoseconds> {
        self.threshold?; // a report on the last one tells nothing then
        // Of several packets, the first are reported without delay.
        let few = view.sent_upto - view.settled_upto <= FEW;
        let delay = if few { self.peer_delay } else { 0 };
        (view.rtt.smoothed > 0).then(|| 2 * view.rtt.smoothed + delay + PROBE_SLACK)
    }

    fn dead_after(&self, view: &View, timeouts: u32) -> Option<Nanoseconds> {
        self.timeout.dead_after(view, timeouts)
    }
}

component! {
    RackTlp: "recovery by RACK-TLP", "sends a packet again when later ones have arrived, and probes the tail",
    needs: Property::UNASKED, gives: Property::REPEATS,
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{Estimate, SECOND};

    use super::*;

    fn view(settled_upto: u64, sent_upto: u64) -> View {
        let (smoothed, least) = (200 * MILLISECOND, 100 * MILLISECOND);
        let rtt = Estimate { smoothed, variation: 0, least, timeout: SECOND };
        View { rtt, settled_upto, sent_upto, ..View::START }
    }

    #[test]
    fn the_window_grows_with_reordering_up_to_a_round_trip_and_shrinks_after_sixteen_recoveries() {
        let mut recovery = RackTlp::new(SECOND);
        let window = |recovery: &RackTlp| recovery.lag(&view(0, 0)).unwrap() / MILLISECOND;
        assert_eq!((recovery.tolerance(), window(&recovery)), (Some(3), 25));
        let windows = [(); 3].map(|()| {
            recovery.on_reordered(&view(0, 0), true, 0);
            window(&recovery)
        });
        assert_eq!(windows, [25, 50, 75]);
        assert_eq!(recovery.tolerance(), Some(u64::MAX), "order alone is no sign any more");
        (0..100).for_each(|_| recovery.on_reordered(&view(0, 0), true, 0));
        assert_eq!(window(&recovery), 200, "the smoothed round trip");
        for nth in 0..15 {
            // What is lost together is one recovery.
            recovery.on_lost(&view(100 * nth, 100 * nth + 100));
            recovery.on_lost(&view(100 * nth + 50, 100 * nth + 150));
        }
        assert_eq!(window(&recovery), 200);
        recovery.on_lost(&view(2000, 2100));
        assert_eq!(window(&recovery), 25);
    }

    #[test]
    fn what_was_in_flight_at_one_time_widens_the_window_once_however_many_reports_tell() {
        let mut recovery = RackTlp::new(SECOND);
        let window = |recovery: &RackTlp| recovery.lag(&view(0, 0)).unwrap() / MILLISECOND;
        recovery.on_reordered(&view(0, 100), true, 0);
        for (trip, expected) in [50, 75, 100].into_iter().enumerate() {
            for report in 0..20 {
                let first = 100 * (trip as u64 + 1);
                recovery.on_reordered(&view(first + report, first + 100 + report), true, 0);
                assert_eq!(window(&recovery), expected);
            }
        }
    }

    #[test]
    fn the_tail_is_probed_when_the_peer_must_have_acknowledged_it() {
        let mut recovery = RackTlp::new(SECOND);
        assert_eq!(recovery.probes_after(&view(0, 1)), Some(410 * MILLISECOND));
        let peer_delay = Some(50 * MILLISECOND);
        recovery.on_opened(&Opening { took: SECOND, tries: 1, octets: 200, peer_delay });
        assert_eq!(recovery.probes_after(&view(0, 1)), Some(460 * MILLISECOND));
        assert_eq!(recovery.probes_after(&view(0, 3)), Some(410 * MILLISECOND), "it is not alone");
        assert_eq!(recovery.threshold(None).probes_after(&view(0, 1)), None);
    }
}
