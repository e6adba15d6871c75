//! What was lost together is one sign of congestion.

use stackwright_transport::words::View;

/// All that was in flight when a loss was noticed is one episode: what else of it is lost is no
/// news (RFC 6582 §3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Episode {
    /// It is over when all before this number is settled.
    upto: u64,
    /// The window stands still meanwhile; not after a silence, when it begins anew.
    still: bool,
}

impl Episode {
    pub(super) const fn new() -> Self {
        Episode { upto: 0, still: false }
    }

    /// Something was lost: whether that is news.
    pub(super) fn begins(&mut self, view: &View) -> bool {
        let news = view.settled_upto >= self.upto;
        if news {
            *self = Episode { upto: view.sent_upto, still: true };
        }
        news
    }

    pub(super) fn is_silent(&mut self, view: &View) {
        *self = Episode { upto: view.sent_upto, still: false };
    }

    /// Whether what arrives now lets the window grow.
    pub(super) fn grows(&self, view: &View) -> bool {
        !self.still || view.settled_upto >= self.upto
    }
}

/// Before anything was measured (RFC 5681 §3.1), in packets.
pub(super) const FIRST: u64 = 3;

/// No loss makes the threshold lower (RFC 5681 §3.1), in packets.
pub(super) const LEAST: u64 = 2;

/// Whether the window was what held the sender back: else it is no sign that more would have
/// passed.
pub(super) fn is_used(view: &View, window: u64) -> bool {
    2 * view.in_flight >= window
}
