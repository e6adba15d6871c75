//! An inquiry every `n` packets, and at an interval.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Inquiry;
use stackwright_transport::words::{Nanoseconds, Occasion, SECOND, View};

/// How many times an interval is doubled, at most.
const DOUBLED_MOST: u32 = 30;

/// How many questions at the ends of bursts are on their way at a time, at most.
const AT_ONCE: u32 = 4;

/// Asks every `most` packets, and at an interval, but not more often than twice a round trip, as
/// long as something is in flight or waits (SSCOP's POLL, MaxPD and Timer_POLL). A peer that
/// answers none for too long counts as gone (Timer_NO-RESPONSE).
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
    /// Whether the last packet of a burst asks, too.
    at_ends: bool,
    /// How many questions are on their way with a window of packets, at least; 0: as it comes.
    in_window: u64,
    /// The longest interval that the first one is doubled to; 0: it stays the same.
    patience: Nanoseconds,
    /// The octets per second at which what is in flight is still leaving; `None`: it has left.
    leaves: Option<NonZeroU64>,
    /// How many questions in a row were asked while an answer was late.
    unanswered: u32,
    /// How many packets left since the last inquiry.
    since: u32,
    at: Instant,
    asked_at: Instant,
    latest: u32,
    /// The last question that was answered.
    answered: u32,
    /// When an inquiry was last answered, or when it became of interest.
    heard: Instant,
    gone: bool,
}

/// Returns the round trip, or before it was measured half of the wait for it.
fn round_trip(view: &View) -> Nanoseconds {
    if view.rtt.smoothed > 0 { view.rtt.smoothed } else { view.rtt.timeout / 2 }
}

impl Polls {
    /// Creates the policy: an inquiry every `every` nanoseconds, and every `most` packets. A peer
    /// that answers none for `silence` nanoseconds counts as gone.
    pub const fn new(every: Nanoseconds, most: u32, silence: Nanoseconds) -> Self {
        let (at, heard) = (Instant::END, Instant::START);
        Polls {
            every,
            most,
            silence,
            at_ends: false,
            in_window: 0,
            patience: 0,
            leaves: None,
            unanswered: 0,
            since: 0,
            at,
            asked_at: Instant::START,
            latest: 0,
            answered: 0,
            heard,
            gone: false,
        }
    }

    /// Asks with the last packet of a burst, too: on a link that carries one direction at a time,
    /// the peer answers when this side falls silent.
    #[must_use]
    pub const fn at_ends(self) -> Self {
        Polls { at_ends: true, ..self }
    }

    /// Asks `times` in each window of packets, too, but not more often than every second packet:
    /// what one answer frees leaves while the next is on its way. Where only the end of a window
    /// asked, nothing would be on its way while that is answered. While more questions than these
    /// are on their way, as in a long queue, the interval doubles.
    #[must_use]
    pub const fn in_window(self, times: u32) -> Self {
        Polls { in_window: times as u64, ..self }
    }

    /// Doubles the interval with each question that is not answered, up to `most` nanoseconds: a
    /// peer that is out of reach costs little, and need not be gone.
    #[must_use]
    pub const fn patient(self, most: Nanoseconds) -> Self {
        Polls { patience: most, ..self }
    }

    /// Adds to the interval what is in flight takes at `rate` octets per second: on a slow link it
    /// is still leaving, and a question would wait behind it.
    #[must_use]
    pub const fn leaving_at(self, rate: NonZeroU64) -> Self {
        Polls { leaves: Some(rate), ..self }
    }

    /// Returns after how long the next question is due.
    fn interval(&self, view: &View) -> Nanoseconds {
        let leaving = self.leaves.map_or(0, |rate| view.in_flight.saturating_mul(SECOND) / rate);
        let every = self.every.max(round_trip(view) / 2).saturating_add(leaving);
        let doubled = every.saturating_mul(1 << self.unanswered.min(DOUBLED_MOST));
        doubled.min(self.patience).max(every)
    }

    /// Returns whether more questions are on their way than a window asks, up to that of `number`.
    fn are_many(&self, number: u32) -> bool {
        self.in_window > 0 && u64::from(number.wrapping_sub(self.answered)) > self.in_window
    }

    fn begin(&mut self, view: &View) {
        if self.at == Instant::END {
            (self.at, self.heard) = (view.now.later(self.every), view.now);
        }
    }
}

impl Inquiry for Polls {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        let packets = view.sent_upto.saturating_sub(view.settled_upto);
        let share = packets.checked_div(self.in_window).unwrap_or(u64::MAX).max(2);
        let most = u64::from(self.most).min(share);
        let ends = self.at_ends
            && matches!(occasion, Occasion::Unit { last: true, .. })
            && self.latest.wrapping_sub(self.answered) < AT_ONCE;
        occasion == Occasion::Signal || ends || u64::from(self.since) >= most || self.at <= view.now
    }

    fn on_sent(&mut self, view: &View) {
        self.since += 1;
        self.begin(view);
    }

    fn on_unasked(&mut self, view: &View) {
        // Behind a burst it follows alone.
        if self.at_ends {
            self.at = self.at.min(view.now);
        }
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        self.begin(view);
        if self.asked_at == Instant::START {
            self.answered = number.wrapping_sub(1);
        }
        // When nothing else is of interest, the answer to this one is, and has its time.
        let over = view.idle && view.drained;
        let every = self.interval(view);
        let is_late = self.are_many(number)
            || view.now.nanoseconds_since(self.heard) > every.max(view.rtt.timeout);
        self.unanswered = if is_late { self.unanswered.saturating_add(1) } else { 0 };
        let wait = if over { every.max(view.rtt.timeout) } else { every };
        (self.since, self.latest, self.at) = (0, number, view.now.later(wait));
        self.asked_at = view.now;
        self.gone = view.now.nanoseconds_since(self.heard) > self.silence;
    }

    fn on_answer(&mut self, view: &View, number: u32, _: Nanoseconds) {
        (self.heard, self.answered) = (view.now, number);
        if !self.are_many(self.latest) {
            self.unanswered = 0;
            if self.in_window > 0 {
                self.at = self.at.min(view.now.later(self.interval(view)));
            }
        }
        // An older one says nothing about the signals that were sent with the latest.
        if view.idle && view.drained && number == self.latest {
            (self.since, self.at) = (0, Instant::END);
        }
    }

    fn heeds_last(&self) -> bool {
        self.at_ends
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
