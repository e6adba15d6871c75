//! An inquiry every `n` packets, and at an interval.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, View};

/// Asks every `most` packets, and at an interval as long as something is in flight or waits
/// (SSCOP's POLL, MaxPD and Timer_POLL). A peer that answers none for too long counts as gone
/// (Timer_NO-RESPONSE).
///
/// Choose it for a path whose delay varies: nothing depends on a timeout that fits, and one inquiry
/// more does no harm.
///
/// ```
/// use stackwright_policies::inquiry::Polls;
/// let polls = Polls::new(150_000_000, 16, 7_000_000_000);
/// # let _ = polls;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Polls {
    every: Nanoseconds,
    most: u32,
    silence: Nanoseconds,
    /// How many packets left since the last inquiry.
    since: u32,
    at: Instant,
    latest: u32,
    /// When an inquiry was last answered, or when it became of interest.
    heard: Instant,
    gone: bool,
}

impl Polls {
    /// Creates the policy: an inquiry every `every` nanoseconds, and every `most` packets. A peer
    /// that answers none for `silence` nanoseconds counts as gone.
    pub const fn new(every: Nanoseconds, most: u32, silence: Nanoseconds) -> Self {
        let (at, heard) = (Instant::END, Instant::START);
        Polls { every, most, silence, since: 0, at, latest: 0, heard, gone: false }
    }

    fn begin(&mut self, view: &View) {
        if self.at == Instant::END {
            (self.at, self.heard) = (view.now.later(self.every), view.now);
        }
    }
}

impl Inquiry for Polls {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        occasion == Occasion::Signal || self.since >= self.most || self.at <= view.now
    }

    fn on_sent(&mut self, view: &View) {
        self.since += 1;
        self.begin(view);
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        self.begin(view);
        // When nothing else is of interest, the answer to this one is, and has its time.
        let over = view.idle && view.drained;
        let wait = if over { self.every.max(view.rtt.timeout) } else { self.every };
        (self.since, self.latest, self.at) = (0, number, view.now.later(wait));
        self.gone = view.now.nanoseconds_since(self.heard) > self.silence;
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        self.heard = view.now;
        // An older one says nothing about the signals that were sent with the latest.
        if view.idle && view.drained && number == self.latest {
            (self.since, self.at) = (0, Instant::END);
        }
    }

    fn gives_up(&self) -> bool {
        self.gone
    }

    fn deadline(&self, _: &View) -> Instant {
        self.at
    }
}

component! {
    Polls: "inquiry by polls", "asks every n packets, and at an interval",
    needs: Property::INQUIRIES.and(Property::ANSWERS), gives: Property::ASKS,
}
