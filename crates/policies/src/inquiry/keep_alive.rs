//! An inquiry where nothing was heard for long.

use stackwright_contract::Instant;
use stackwright_transport::rules::{Component, Facts};
use stackwright_transport::slots::{self, Inquiry};
use stackwright_transport::words::{Nanoseconds, Occasion, View};
use stackwright_transport::wraps;

/// How many times the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// How often a peer is asked before it counts as gone, at least: on a bad path the timeout may be
/// as long as the patience, and one question may be lost.
const TRIES_LEAST: u64 = 4;

/// Asks as another policy does, and also where nothing was received for a while though nothing is
/// on its way (XTP's CTIMER). A peer that does not answer for `patience` counts as gone (CTIMEOUT).
/// One that is heard within that time does not, whatever the other policy thinks: on a slow path,
/// answers are behind data.
///
/// Choose it where a peer may vanish without a word, and an application waits. Where the connection
/// policy does not keep when something was
/// [heard](stackwright_transport::slots::Connection::heard), only answers count.
///
/// ```
/// use stackwright_policies::inquiry::{KeepAlive, WindowEnd};
/// let asks = KeepAlive::new(WindowEnd::new(6, 1 << 19), 60_000_000_000, 120_000_000_000);
/// # let _ = asks;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KeepAlive<I> {
    other: I,
    every: Nanoseconds,
    patience: Nanoseconds,
    /// When it is looked whether something was heard.
    at: Instant,
    /// Since when it asks, and how often it has.
    since: Option<(Instant, u32)>,
    is_due: bool,
    /// When an inquiry was last answered.
    answered: Instant,
    gone: bool,
    /// Whether nothing was heard for `patience`.
    is_silent: bool,
}

impl<I> KeepAlive<I> {
    /// Asks as `other` does, and after `every` nanoseconds of silence until the peer has not
    /// answered for `patience` nanoseconds.
    pub const fn new(other: I, every: Nanoseconds, patience: Nanoseconds) -> Self {
        KeepAlive {
            other,
            every,
            patience,
            at: Instant::END,
            since: None,
            is_due: false,
            answered: Instant::START,
            gone: false,
            is_silent: true,
        }
    }

    fn rests(view: &View) -> bool {
        view.idle && view.drained
    }
}

wraps! { KeepAlive<I>: other }

impl<I: Inquiry> slots::WrapsInquiry for KeepAlive<I> {
    fn due(&self, view: &View, occasion: Occasion) -> bool {
        self.is_due && Self::rests(view) || self.other.due(view, occasion)
    }

    fn on_time(&mut self, view: &View, heard: Instant) {
        self.other.on_time(view, heard);
        let heard = heard.max(self.answered);
        self.is_silent = view.now.nanoseconds_since(heard) >= self.patience;
        // While something is on its way, the other policy insists.
        let rests = Self::rests(view);
        if !rests || self.since.is_some_and(|(since, _)| since < heard) {
            (self.since, self.at) = (None, Instant::END);
        }
        if let Some((since, _)) = self.since {
            self.is_due |= self.at <= view.now;
            self.gone = self.is_due && view.now.nanoseconds_since(since) >= self.patience;
        } else {
            let quiet = if rests { heard.later(self.every) } else { view.now.later(self.every) };
            (self.is_due, self.at) = (quiet <= view.now, quiet.max(view.now));
        }
    }

    fn on_sent(&mut self, view: &View) {
        self.other.on_sent(view);
        self.at = self.at.min(view.now.later(self.every));
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        self.other.on_asked(view, number);
        if core::mem::take(&mut self.is_due) {
            let (since, tries) = self.since.unwrap_or((view.now, 0));
            self.since = Some((since, tries + 1));
            let wait = view.rtt.timeout << tries.min(DOUBLED_MOST);
            self.at = view.now.later(wait.min(self.patience / TRIES_LEAST));
        }
    }

    fn on_answer(&mut self, view: &View, number: u32, took: Nanoseconds) {
        self.other.on_answer(view, number, took);
        (self.since, self.is_due, self.answered) = (None, false, view.now);
        self.at = view.now.later(self.every);
    }

    fn gives_up(&self) -> bool {
        self.gone || self.is_silent && self.other.gives_up()
    }

    fn deadline(&self, view: &View) -> Instant {
        self.at.min(self.other.deadline(view))
    }
}

impl<I: Component> Component for KeepAlive<I> {
    const FACTS: Facts = Facts {
        name: "inquiry to stay alive",
        does: "asks a silent peer whether it is there, and else as another policy does",
        ..I::FACTS
    };
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{Estimate, MILLISECOND, SECOND};

    use super::*;
    use crate::inquiry::Absent;

    /// Returns how often a peer that never answers is asked, and when it counts as gone.
    fn asked(timeout: Nanoseconds) -> (u32, Nanoseconds) {
        let mut policy = KeepAlive::new(Absent, 20 * SECOND, 30 * SECOND);
        let rtt = Estimate { smoothed: timeout, variation: 0, least: timeout, timeout };
        let mut view = View { rtt, idle: true, drained: true, ..View::START };
        let mut number = 0;
        loop {
            policy.on_time(&view, Instant::START);
            if policy.gives_up() {
                return (number, view.now.nanoseconds_since(Instant::START));
            }
            if policy.due(&view, Occasion::Nothing) {
                number += 1;
                policy.on_asked(&view, number);
            }
            view.now = policy.deadline(&view);
        }
    }

    #[test]
    fn a_silent_peer_is_asked_four_times_however_long_the_timeout() {
        for timeout in [100 * MILLISECOND, SECOND, 22 * SECOND, 100 * SECOND] {
            let (times, gone) = asked(timeout);
            assert!((4..12).contains(&times), "{timeout}: {times}");
            assert!((50 * SECOND..60 * SECOND).contains(&gone), "{timeout}: {gone}");
        }
    }
}
