//! A question where the end of a burst stays unheard of.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, Occasion, SECOND, View};

/// How much later than two round trips: a report is not sent at once.
const SLACK: Nanoseconds = 10 * MILLISECOND;

/// How often the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// And no longer than this, unless the timeout is.
const WAIT_MOST: Nanoseconds = 8 * SECOND;

/// The receiver reports by itself, and so nothing is asked as long as packets follow each other.
/// Where the last of them stay unheard of for two round trips, nothing that follows shows what was
/// lost: then it asks, as RFC 8985 §7 does by sending one of them again, and insists, at most
/// `retries` times in a row.
///
/// Choose it with [`AckRanges`](crate::acknowledgement::AckRanges) and
/// [`SelectiveRepeat`](crate::recovery::SelectiveRepeat): nothing then waits for a timeout but the
/// question.
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
    /// The last question is not answered.
    waiting: bool,
    latest: u32,
    tries: u32,
}

impl TailProbe {
    /// Nobody is there who does not answer `retries` questions in a row.
    pub const fn new(retries: u32) -> Self {
        TailProbe { retries, at: Instant::END, waiting: false, latest: 0, tries: 0 }
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
        (self.waiting, self.latest) = (true, number);
        self.at = view.now.later(self.wait(view));
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        if number == self.latest {
            (self.waiting, self.tries) = (false, 0);
            self.at = view.now.later(self.wait(view));
        }
    }

    fn gives_up(&self) -> bool {
        self.tries > self.retries
    }

    fn deadline(&self, view: &View) -> Instant {
        if self.is_of_interest(view) { self.at } else { Instant::END }
    }
}

component! {
    TailProbe: "inquiry by tail probes", "asks where the end of a burst stays unheard of",
    needs: Property::INQUIRIES.and(Property::ANSWERS).and(Property::UNASKED), gives: Property::ASKS,
}
