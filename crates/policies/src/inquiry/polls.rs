//! A question every so many packets, and every so often.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, View};

/// Asks every so many packets, and every so often as long as something is out or waits (SSCOP's
/// POLL, MaxPD and Timer_POLL). Who answers none for too long is not there (Timer_NO-RESPONSE).
///
/// Choose it for a way whose delay varies: nothing depends on a timeout that fits, and one question
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
    /// How many packets left since the last question.
    since: u32,
    at: Instant,
    latest: u32,
    /// When a question was last answered, or when it became of interest.
    heard: Instant,
    gone: bool,
}

impl Polls {
    /// Every `every`, and every `most` packets; nobody is there who answers none for `silence`.
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
        // When nothing else is of interest, this one's answer is, and has its time.
        let over = view.idle && view.drained;
        let wait = if over { self.every.max(view.rtt.timeout) } else { self.every };
        (self.since, self.latest, self.at) = (0, number, view.now.later(wait));
        self.gone = view.now.nanoseconds_since(self.heard) > self.silence;
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        self.heard = view.now;
        // An older one says nothing about the signals that the latest bore.
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
    Polls: "inquiry by polls", "asks every so many packets and every so often",
    needs: Property::INQUIRIES.and(Property::ANSWERS), gives: Property::ASKS,
}
