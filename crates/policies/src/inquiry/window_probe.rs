//! An inquiry where the peer's window is shut.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, SECOND, View};

/// How many times the wait for the window to open is doubled, at most, and the longest that it
/// becomes.
const DOUBLED_MOST: u32 = 12;
const WAIT_MOST: Nanoseconds = 60 * SECOND;

/// Asks where data waits and nothing is in flight: the peer's window is shut, and the report that
/// opened it may be lost (TCP's zero-window probe, RFC 9293 §3.8.6.1). The first inquiry leaves a
/// timeout after the last data, and each waits twice as long as the one before, up to a minute. A
/// peer counts as gone if it answers none, but not if its window never opens.
///
/// Choose it where any report answers an inquiry, inside of [`KeepAlive`](super::KeepAlive), which
/// knows how long nothing was heard.
///
/// ```
/// use stackwright_policies::inquiry::{KeepAlive, WindowProbe};
/// let asks = KeepAlive::new(WindowProbe::default(), u64::MAX, 100_000_000_000);
/// # let _ = asks;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowProbe {
    at: Instant,
    tries: u32,
    is_unanswered: bool,
}

/// Returns whether only the peer's window holds data back: nothing else does where nothing is in
/// flight.
fn is_shut(view: &View) -> bool {
    view.idle && !view.drained
}

impl Inquiry for WindowProbe {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        let carries = matches!(occasion, Occasion::Unit { .. });
        is_shut(view) && self.at <= view.now && !carries
    }

    fn heeds_sent(&self) -> bool {
        false
    }

    fn on_sent(&mut self, view: &View) {
        (self.at, self.tries) = (view.now.later(view.rtt.timeout), 0);
    }

    fn on_asked(&mut self, view: &View, _: u32) {
        self.tries = (self.tries + 1).min(DOUBLED_MOST);
        self.at = view.now.later((view.rtt.timeout << self.tries).min(WAIT_MOST));
        self.is_unanswered = true;
    }

    /// Any report answers it, also one that left before.
    fn believes(&self, _: u32) -> bool {
        false
    }

    fn on_answer(&mut self, _: &View, _: u32, _: Nanoseconds) {
        self.is_unanswered = false;
    }

    fn gives_up(&self) -> bool {
        self.is_unanswered
    }

    fn deadline(&self, view: &View) -> Instant {
        if is_shut(view) { self.at } else { Instant::END }
    }
}

component! {
    WindowProbe: "inquiry about a shut window", "asks whether the peer takes something again",
    needs: Property::INQUIRIES.and(Property::UNASKED),
}
