//! An inquiry at the end of the window, and a handshake where no answer comes.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, SECOND, View};

/// How many times the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// The longest wait for an answer, unless the timeout is longer.
const WAIT_MOST: Nanoseconds = 8 * SECOND;

/// Asks with the last packet that the window allows, and with signals (XTP's SREQ). Where no answer
/// comes in time (WTIMER), data stop and inquiries of their own leave until the newest is answered,
/// at most `retries` in a row: the synchronizing handshake (XTP §5). Older answers count, but do
/// not end it.
///
/// Choose it where whole windows are sent at a time: it costs one report a window.
///
/// ```
/// use stackwright_policies::inquiry::WindowEnd;
/// use stackwright_transport::slots::Inquiry;
/// assert!(WindowEnd::new(6).heeds_last());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WindowEnd {
    retries: u32,
    /// When the answer is due.
    at: Instant,
    latest: u32,
    /// How many inquiries in a row were sent because no answer came.
    tries: u32,
    /// How many were sent since the last answer, for whatever reason.
    unanswered: u32,
}

impl WindowEnd {
    /// Creates the policy. A peer that does not answer `retries` inquiries in a row counts as gone;
    /// or twice as many where signals, which are repeated as well, ask in between.
    pub const fn new(retries: u32) -> Self {
        WindowEnd { retries, at: Instant::END, latest: 0, tries: 0, unanswered: 0 }
    }

    fn wait(&self, view: &View) -> Nanoseconds {
        (view.rtt.timeout << self.tries.min(DOUBLED_MOST)).min(WAIT_MOST.max(view.rtt.timeout))
    }
}

impl Inquiry for WindowEnd {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        matches!(occasion, Occasion::Unit { last: true, .. } | Occasion::Signal)
            || self.at <= view.now
    }

    fn heeds_last(&self) -> bool {
        true
    }

    fn on_sent(&mut self, view: &View) {
        // That nothing may follow is a promise about the future, which a window that shrinks
        // breaks.
        if self.at == Instant::END {
            self.at = view.now.later(self.wait(view));
        }
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        if self.at <= view.now {
            self.tries += 1;
        }
        self.unanswered += 1;
        self.latest = number;
        self.at = view.now.later(self.wait(view));
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        self.unanswered = 0;
        if number != self.latest {
            return;
        }
        self.tries = 0;
        // What is still in flight, or waits for credit, is asked about again.
        let over = view.idle && view.drained;
        self.at = if over { Instant::END } else { view.now.later(view.rtt.timeout) };
    }

    fn holds(&self, view: &View) -> bool {
        self.tries > 0 || self.at <= view.now
    }

    fn gives_up(&self) -> bool {
        self.tries > self.retries || self.unanswered / 2 > self.retries
    }

    fn deadline(&self, _: &View) -> Instant {
        self.at
    }
}

component! {
    WindowEnd: "inquiry at the window's end", "asks with the last packet that may leave, and insists",
    needs: Property::INQUIRIES.and(Property::ANSWERS), gives: Property::ASKS,
}
