//! An upper edge that never moves back.

use core::ops::Range;

use stackwright_transport::component;
use stackwright_transport::slots::Flow;
use stackwright_transport::words::{Dropped, Nanoseconds, View};

/// Each side says up to which number the other may send: what it has room for, in an edge that never moves back (XTP's alloc,
/// XSTP's N(MR)). Where the peer says nothing, `window` bounds what is in flight, so that what the other side remembers of
/// numbers is bounded by as much.
///
/// Numbers that were received and that the application has not taken count against the room: who does not read stops the
/// sender. A window that is shut is tried again after a timeout, because what opens it may be lost.
///
/// ```
/// use stackwright_policies::flow::Credit;
/// let flow = Credit::new(4096);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    window: u64,
    /// Up to where we may send.
    theirs: Option<u64>,
    /// Up to where the peer may, as we said last.
    said: u64,
}

impl Credit {
    /// Room for `window` numbers, which are octets or packets as the format counts.
    pub const fn new(window: u64) -> Self {
        Credit { window, theirs: None, said: 0 }
    }

    fn edge(&self, view: &View) -> u64 {
        self.said.max(view.received_upto + self.window.saturating_sub(view.pending))
    }
}

impl Flow for Credit {
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
        Some(view.rtt.timeout)
    }
}

component! {
    Credit: "flow by credit", "lets the peer send what there is room for",
    needs: Property::CREDIT.and(Property::REPORTS),
}
