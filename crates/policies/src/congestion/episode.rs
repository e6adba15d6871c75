//! What was lost together is one sign of congestion, and what it did can be undone.

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

/// Keeps what a timeout, or an episode of loss, changes until it is known whether it was spurious
/// (RFC 4015, RFC 9438 §4.9).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo<T> {
    /// What was there before; of a timeout, also the first number that was not settled then.
    saved: Option<(T, Option<u64>)>,
}

impl<T: Copy> Undo<T> {
    pub(super) const fn new() -> Self {
        Undo { saved: None }
    }

    /// Saves what is `now` there, before an episode of loss.
    pub(super) fn on_lost(&mut self, now: T) {
        self.saved = Some((now, None));
    }

    /// Saves what is `now` there, and returns `true`, unless the same data timed out before: then
    /// what preceded the first of these timeouts is kept, so that a path that becomes much longer
    /// costs one collapse, and the threshold stays what it is (RFC 5681 §3.1).
    pub(super) fn on_timeout(&mut self, view: &View, now: T) -> bool {
        let settled = Some(view.settled_upto);
        if self.saved.as_ref().is_some_and(|(_, saved)| *saved == settled) {
            return false;
        }
        self.saved = Some((now, settled));
        true
    }

    /// Returns what was there before, once.
    pub(super) fn take(&mut self) -> Option<T> {
        self.saved.take().map(|(saved, _)| saved)
    }
}

/// The initial window in packets (RFC 6928), and that of a path whose opening was repeated (RFC
/// 5681 §3.1).
pub(super) const FIRST: u64 = 10;
pub(super) const FIRST_REPEATED: u64 = 1;

/// The least slow-start threshold in packets (RFC 5681 §3.1).
pub(super) const LEAST: u64 = 2;

/// Returns whether the window was what held the sender back: else nothing shows that more would
/// have passed.
///
/// A sender that is `paced` and has more to send is held back by its pace, which follows the
/// window, and not by a lack of data (RFC 9002 §7.8). Where the path became shorter than the
/// smoothed round trip, its pace keeps far less in flight than the window: without this, neither
/// would ever grow again.
pub(super) fn is_used(view: &View, window: u64, is_paced: bool) -> bool {
    2 * view.in_flight >= window || is_paced && !view.drained
}
