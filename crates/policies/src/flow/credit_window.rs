//! An upper edge that never moves back.

use core::ops::Range;

use stackwright_transport::component;
use stackwright_transport::slots::Flow;
use stackwright_transport::words::{Dropped, Nanoseconds, View};

/// Each side says up to which number the other may send: what it has room for, in an edge that
/// never moves back (XTP's alloc, XSTP's N(MR)). Where the peer says nothing, `window` bounds what
/// is in flight, so that what the other side remembers of numbers is bounded by as much.
///
/// Numbers that were received and that the application has not taken count against the room: who
/// does not read stops the sender. A window that is shut is tried again after a timeout, because
/// what opens it may be lost; where the sender asks as long as something waits, it need not be
/// ([`asked_about`](CreditWindow::asked_about)).
///
/// ```
/// use stackwright_policies::flow::CreditWindow;
/// let flow = CreditWindow::new(4096);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CreditWindow {
    window: u64,
    /// Up to where we may send.
    theirs: Option<u64>,
    /// Up to where the peer may, as we said last.
    said: u64,
    asked_about: bool,
}

impl CreditWindow {
    /// Room for `window` numbers, which are octets or packets as the format counts.
    pub const fn new(window: u64) -> Self {
        CreditWindow { window, theirs: None, said: 0, asked_about: false }
    }

    /// A shut window is left alone: a question finds out when it opens (XTP §5). The inquiry slot
    /// must go on asking as long as something waits.
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
        // Where it stands at its end, or half of the window is free again.
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
    // A hole that nothing fills and nobody forgives would shut the window.
    needs_one_of: Property::REPEATS.and(Property::FORGIVES).and(Property::SETTLES),
}
