//! An inquiry where the tail of a burst stays unacknowledged.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, Occasion, SECOND, View};

/// How much later than two round trips the probe leaves: a report may be delayed.
const SLACK: Nanoseconds = 10 * MILLISECOND;

/// How many times the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// The longest wait for an answer, unless the timeout is longer.
const WAIT_MOST: Nanoseconds = 8 * SECOND;

/// Asks where the tail of a burst stays unacknowledged for two round trips. As long as packets
/// follow each other, the receiver reports by itself and nothing is asked; but no packet follows
/// the last ones and shows what was lost. RFC 8985 §7 sends one of them again for that. Asks at
/// most `retries` times in a row.
///
/// Choose it with [`AckRanges`](crate::acknowledgement::AckRanges) and
/// [`SelectiveRepeat`](crate::recovery::SelectiveRepeat): nothing but the inquiry then waits for a
/// timeout.
///
/// ```
/// use stackwright_policies::inquiry::TailProbe;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(TailProbe::FACTS.needs.has(Property::UNASKED));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TailProbe {
    retries: u32,
    at: Instant,
    /// Whether the last inquiry is unanswered.
    waiting: bool,
    latest: u32,
    tries: u32,
    /// How many were sent since the last answer, for whatever reason.
    unanswered: u32,
}

impl TailProbe {
    /// Creates the policy. A peer that does not answer `retries` inquiries in a row counts as gone;
    /// or twice as many where signals, which are repeated as well, ask in between.
    pub const fn new(retries: u32) -> Self {
        TailProbe { retries, at: Instant::END, waiting: false, latest: 0, tries: 0, unanswered: 0 }
    }

    fn wait(&self, view: &View) -> Nanoseconds {
        let first = match view.rtt.smoothed {
            0 => view.rtt.timeout,
            smoothed => (2 * smoothed + SLACK).min(view.rtt.timeout),
        };
        (first << self.tries.min(DOUBLED_MOST)).min(WAIT_MOST.max(first))
    }

    fn is_of_interest(&self, view: &View) -> bool {
        self.waiting || !view.idle
    }
}

impl Inquiry for TailProbe {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        occasion == Occasion::Signal || self.is_of_interest(view) && self.at <= view.now
    }

    fn on_sent(&mut self, view: &View) {
        if !self.waiting {
            self.at = view.now.later(self.wait(view));
        }
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        if self.waiting && self.at <= view.now {
            self.tries += 1;
        }
        self.unanswered += 1;
        (self.waiting, self.latest) = (true, number);
        self.at = view.now.later(self.wait(view));
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        self.unanswered = 0;
        if number == self.latest {
            (self.waiting, self.tries) = (false, 0);
            self.at = view.now.later(self.wait(view));
        }
    }

    fn gives_up(&self) -> bool {
        self.tries > self.retries || self.unanswered > 2 * self.retries + 1
    }

    fn deadline(&self, view: &View) -> Instant {
        if self.is_of_interest(view) { self.at } else { Instant::END }
    }
}

component! {
    TailProbe: "inquiry by tail probes", "asks where the tail of a burst stays unacknowledged",
    needs: Property::INQUIRIES.and(Property::ANSWERS).and(Property::UNASKED), gives: Property::ASKS,
}
