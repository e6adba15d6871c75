//! What was lost together is one sign of congestion.

use stackwright_transport::words::View;

/// Counts all that was in flight when a loss was noticed as one episode: what else of it is lost is
/// no news (RFC 6582 §3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Episode {
    /// It is over when all before this number is settled.
    upto: u64,
    /// Whether the window stands still meanwhile; not after a retransmission timeout, when it
    /// begins anew.
    still: bool,
}

impl Episode {
    pub(super) const fn new() -> Self {
        Episode { upto: 0, still: false }
    }

    /// Notes a loss, and returns whether an episode begins with it.
    pub(super) fn begins(&mut self, view: &View) -> bool {
        let news = view.settled_upto >= self.upto;
        if news {
            *self = Episode { upto: view.sent_upto, still: true };
        }
        news
    }

    /// Begins an episode with a retransmission timeout.
    pub(super) fn is_silent(&mut self, view: &View) {
        *self = Episode { upto: view.sent_upto, still: false };
    }

    /// Returns whether an acknowledgement lets the window grow now.
    pub(super) fn grows(&self, view: &View) -> bool {
        !self.still || view.settled_upto >= self.upto
    }
}

/// The initial window in packets (RFC 5681 §3.1).
pub(super) const FIRST: u64 = 3;

/// The least slow-start threshold in packets (RFC 5681 §3.1).
pub(super) const LEAST: u64 = 2;

/// Returns whether the window was what held the sender back: else nothing shows that more would
/// have passed.
pub(super) fn is_used(view: &View, window: u64) -> bool {
    2 * view.in_flight >= window
}
