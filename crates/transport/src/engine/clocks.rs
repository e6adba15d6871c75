//! The times from which an association's timers run.

use stackwright_contract::Instant;

/// When something last happened to an association.
pub(super) struct Clocks {
    /// Since when something is in flight and nothing was received from the peer.
    pub(super) quiet_since: Instant,
    /// The number of timeouts since then.
    pub(super) timeouts: u32,
    /// When something was last acknowledged, or sent while nothing was in flight.
    pub(super) moved: Instant,
    /// When the first number that is not acknowledged last rose, or a timeout expired: the
    /// retransmission timer runs from then.
    pub(super) timer_since: Instant,
    /// When something was last acknowledged, or sent for the first time.
    pub(super) stirred: Instant,
    /// When a unit last left.
    pub(super) left_at: Instant,
}

impl Clocks {
    /// The clocks of an association without packets.
    pub(super) const START: Clocks = Clocks {
        quiet_since: Instant::START,
        timeouts: 0,
        moved: Instant::START,
        timer_since: Instant::START,
        stirred: Instant::START,
        left_at: Instant::START,
    };

    /// Records that the peer reports.
    #[inline]
    pub(super) fn on_report(&mut self, now: Instant) {
        (self.quiet_since, self.timeouts) = (now, 0);
    }

    /// Records that units were acknowledged. Progress `behind` a hole does not restart the timer:
    /// where only time tells what is lost, the hole's would never expire.
    #[inline]
    pub(super) fn on_acknowledged(&mut self, now: Instant, behind: bool) {
        (self.moved, self.stirred) = (now, now);
        if !behind {
            self.timer_since = now;
        }
    }

    /// Records that a timeout expired.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        (self.timeouts, self.timer_since) = (self.timeouts.saturating_add(1), now);
    }

    /// Records that something is sent while nothing is in flight.
    pub(super) fn go_on(&mut self, now: Instant) {
        (self.quiet_since, self.moved, self.timeouts) = (now, now, 0);
    }

    /// Records that the address of a side has changed.
    pub(super) fn on_moved(&mut self, now: Instant) {
        self.go_on(now);
        self.timer_since = now;
    }
}
