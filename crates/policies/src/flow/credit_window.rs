//! A window whose right edge never moves back.

use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Flow;
use stackwright_transport::words::{Dropped, Nanoseconds, View};

/// How many times the window is what arrives within a round trip.
const AHEAD: u64 = 4;

/// Advertises up to which sequence number the peer may send: a right edge that never moves back
/// (XTP's `alloc`, XSTP's N(MR)). Where the peer advertises none, `window` bounds what is in
/// flight, and so how many numbers the peer has to remember.
///
/// Numbers that were received and that the application has not read count against the window, so a
/// receiver that does not read stops the sender. A sender tries a shut window again after a
/// retransmission timeout, because the advertisement that opens it may be lost; where the inquiry
/// slot asks as long as something waits, it need not ([`asked_about`](CreditWindow::asked_about)).
///
/// The window [may grow](CreditWindow::growing_to): where the application keeps up, it is four
/// times what arrives within a round trip (as Linux's dynamic right-sizing,
/// `tcp_rcv_space_adjust`). One hole keeps the left edge for a round trip, and a sender in slow
/// start doubles.
///
/// ```
/// use stackwright_policies::flow::CreditWindow;
/// let flow = CreditWindow::new(4096);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CreditWindow {
    window: u64,
    most: u64,
    /// When the current round trip is over, and what had been received when it began. A window
    /// that may not grow has no round trips.
    round: (Instant, u64),
    /// The right edge that the peer advertised.
    theirs: Option<u64>,
    /// The right edge that was last advertised to the peer.
    said: u64,
    asked_about: bool,
}

impl CreditWindow {
    /// Creates a window of `window` numbers: octets or packets, as the format counts.
    pub const fn new(window: u64) -> Self {
        let round = (Instant::END, 0);
        CreditWindow { window, most: window, round, theirs: None, said: 0, asked_about: false }
    }

    /// Lets the window grow to `most` numbers, as far as the path holds them.
    #[must_use]
    pub const fn growing_to(self, most: u64) -> Self {
        if most > self.window {
            return CreditWindow { most, round: (Instant::START, 0), ..self };
        }
        self
    }

    /// Leaves a shut window to inquiries, which find out when it opens (XTP §5). The inquiry policy
    /// has to go on asking as long as something waits.
    #[must_use]
    pub const fn asked_about(self) -> Self {
        CreditWindow { asked_about: true, ..self }
    }

    /// Looks once a round trip how much arrived.
    #[cold]
    #[inline(never)]
    fn tune(&mut self, view: &View) {
        let (until, from) = self.round;
        let came = view.received_upto.saturating_sub(from);
        let keeps_up = 4 * view.pending <= self.window;
        if until != Instant::START && keeps_up {
            self.window = self.window.max((AHEAD * came).min(self.most));
        }
        let is_grown = self.window == self.most;
        let next = if is_grown { Instant::END } else { view.now.later(view.rtt.smoothed) };
        self.round = (next, view.received_upto);
    }

    fn edge(&self, view: &View) -> u64 {
        self.said.max(view.received_upto + self.window.saturating_sub(view.pending))
    }
}

impl Flow for CreditWindow {
    #[inline]
    fn limit(&self, view: &View) -> u64 {
        match self.theirs {
            Some(theirs) => theirs.min(view.settled_upto + self.most),
            None => view.settled_upto + self.window,
        }
    }

    fn on_credit(&mut self, credit: u64) {
        self.theirs = self.theirs.max(Some(credit));
    }

    #[inline]
    fn admit(&self, view: &View, span: &Range<u64>) -> Result<(), Dropped> {
        if span.end > view.received_upto + self.window {
            return Err(Dropped::BeyondWindow);
        }
        if span.end > self.said && view.pending >= self.window {
            return Err(Dropped::NoRoom);
        }
        Ok(())
    }

    #[inline]
    fn credit(&self, view: &View) -> Option<u64> {
        Some(self.edge(view))
    }

    fn on_credit_said(&mut self, credit: u64) {
        self.said = credit;
    }

    #[inline(always)] // for each message
    fn on_taken(&mut self, view: &View) -> bool {
        if view.now >= self.round.0 && view.rtt.smoothed > 0 {
            self.tune(view);
        }
        // A peer that was told no edge has a limit of its own, and is told with the first report.
        // Later it is at the edge, or half of the window is free again.
        let edge = self.edge(view);
        self.said > 0
            && edge > self.said
            && (edge - self.said > self.window / 2 || self.said <= view.received_upto)
    }

    fn tries_after(&self, view: &View) -> Option<Nanoseconds> {
        (!self.asked_about).then_some(view.rtt.timeout)
    }
}

component! {
    CreditWindow: "flow by credit", "lets the peer send what there is room for",
    needs: Property::CREDIT.and(Property::REPORTS),
    // A gap that nothing fills and no policy forgives would shut the window.
    needs_one_of: Property::REPEATS.and(Property::FORGIVES).and(Property::SETTLES),
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{Estimate, MILLISECOND};

    use super::*;

    /// Returns the credit beyond what was received after `trips` round trips, in each of which
    /// `share` of the window arrives, in hundredths, and `pending` of it stays unread.
    fn after(trips: u64, share: u64, pending: u64) -> u64 {
        let mut flow = CreditWindow::new(1000).growing_to(10_000);
        let rtt = Estimate { smoothed: 100 * MILLISECOND, ..Estimate::default() };
        let mut view = View { rtt, now: Instant::START.later(MILLISECOND), ..View::START };
        for _ in 0..=trips {
            for _ in 0..10 {
                let window = flow.window;
                view.received_upto += window * share / 1000;
                view.pending = window * pending / 100;
                view.now = view.now.later(10 * MILLISECOND);
                flow.on_taken(&view);
            }
        }
        flow.window
    }

    #[test]
    fn the_window_grows_with_what_arrives_in_a_round_trip_while_the_application_keeps_up() {
        assert_eq!(after(1, 100, 0), 4000);
        assert!((1400..2500).contains(&after(2, 30, 20)));
        assert_eq!(after(20, 100, 0), 10_000, "the most");
        assert_eq!(after(20, 25, 0), 1000, "the sender does not use it");
        assert_eq!(after(20, 100, 50), 1000, "the application does not keep up");
    }

    #[test]
    fn it_does_not_grow_unless_it_may() {
        let flow = CreditWindow::new(1000);
        assert_eq!((flow.window, flow.most), (1000, 1000));
        assert_eq!(flow.growing_to(10).most, 1000);
    }
}
