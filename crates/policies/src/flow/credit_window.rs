//! A window whose right edge never moves back.

use core::ops::Range;

use stackwright_transport::component;
use stackwright_transport::slots::Flow;
use stackwright_transport::words::{Dropped, Nanoseconds, View};

/// Advertises up to which sequence number the peer may send: a right edge that never moves back
/// (XTP's `alloc`, XSTP's N(MR)). Where the peer advertises none, `window` bounds what is in
/// flight, and so how many numbers the peer has to remember.
///
/// Numbers that were received and that the application has not read count against the window, so a
/// receiver that does not read stops the sender. A sender tries a shut window again after a
/// retransmission timeout, because the advertisement that opens it may be lost; where the inquiry
/// slot asks as long as something waits, it need not ([`asked_about`](CreditWindow::asked_about)).
///
/// ```
/// use stackwright_policies::flow::CreditWindow;
/// let flow = CreditWindow::new(4096);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CreditWindow {
    window: u64,
    /// The right edge that the peer advertised.
    theirs: Option<u64>,
    /// The right edge that was last advertised to the peer.
    said: u64,
    asked_about: bool,
}

impl CreditWindow {
    /// Creates a window of `window` numbers: octets or packets, as the format counts.
    pub const fn new(window: u64) -> Self {
        CreditWindow { window, theirs: None, said: 0, asked_about: false }
    }

    /// Leaves a shut window to inquiries, which find out when it opens (XTP §5). The inquiry policy
    /// has to go on asking as long as something waits.
    #[must_use]
    pub const fn asked_about(self) -> Self {
        CreditWindow { asked_about: true, ..self }
    }

    fn edge(&self, view: &View) -> u64 {
        self.said.max(view.received_upto + self.window.saturating_sub(view.pending))
    }
}

impl Flow for CreditWindow {
    #[inline]
    fn limit(&self, view: &View) -> u64 {
        (view.settled_upto + self.window).min(self.theirs.unwrap_or(u64::MAX))
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

    #[inline]
    fn on_taken(&mut self, view: &View) -> bool {
        // The peer is at the edge, or half of the window is free again.
        let edge = self.edge(view);
        edge > self.said && (edge - self.said > self.window / 2 || self.said <= view.received_upto)
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
