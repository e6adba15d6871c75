//! The two halves of an association, each with an end of its own.

use stackwright_contract::Instant;
use stackwright_transport::slots::PacketInfo;
use stackwright_transport::words::{Nanoseconds, Signals, View};

/// How often the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 3;

/// Which half is closed, and which side knows. `FINISH` closes a half. `STOP` answers it when all
/// data of that half is received; a side that takes no more, whatever arrives, sends it as well.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Halves {
    finishing: bool,
    stopping: bool,
    /// When `FINISH`, which has left, leaves again unless it is answered; and how often it left
    /// before.
    said: Option<(Instant, u32)>,
    /// The peer's number after its last.
    their_end: Option<u64>,
    /// Whether the peer takes no more.
    they_stop: bool,
    /// Whether the peer is not told that we take no more.
    untold: bool,
}

impl Halves {
    pub(super) const OPEN: Self = Halves {
        finishing: false,
        stopping: false,
        said: None,
        their_end: None,
        they_stop: false,
        untold: false,
    };

    pub(super) fn finish(&mut self) {
        self.finishing = true;
    }

    pub(super) fn stop(&mut self) {
        self.stopping = true;
        // The peer does not know that yet: `FINISH` leaves again at once.
        self.said = self.said.map(|(_, tries)| (Instant::START, tries));
    }

    /// Records that we take no more, where the peer is not told.
    pub(super) fn take_no_more(&mut self) {
        (self.stopping, self.untold) = (true, true);
    }

    pub(super) fn on_heard(&mut self, tidings: &PacketInfo) {
        if tidings.signals.has(Signals::FINISH) && self.their_end.is_none() {
            self.their_end = tidings.next;
        }
        self.they_stop |= tidings.signals.has(Signals::STOP);
    }

    /// Returns whether we send no more once all data has left.
    pub(super) const fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// Returns whether we take no more.
    pub(super) const fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Returns whether the peer takes no more: it has all data, or wants none.
    pub(super) const fn they_stop(&self) -> bool {
        self.they_stop
    }

    /// Returns whether the peer has said where its data ends.
    pub(super) const fn knows_end(&self) -> bool {
        self.their_end.is_some()
    }

    /// Returns whether all data that the peer sent is here, and it said that there is no more.
    pub(super) fn has_all(&self, view: &View) -> bool {
        self.their_end.is_some_and(|end| view.received_upto >= end)
    }

    /// Returns whether all data that we have to send has left: the number after the last is known,
    /// even if some of it has to leave again.
    pub(super) fn has_said_all(&self, view: &View) -> bool {
        self.finishing && (view.drained || self.said.is_some())
    }

    /// Returns whether `FINISH` must leave now, for the first time or again.
    pub(super) fn due(&self, view: &View) -> bool {
        self.has_said_all(view)
            && !self.is_answered()
            && self.said.is_none_or(|(again, _)| again <= view.now)
    }

    /// Records that `FINISH` left; an answer takes `wait`, as a rule.
    pub(super) fn on_finish_said(&mut self, view: &View, wait: Nanoseconds) {
        let tries = self.said.map_or(0, |(_, tries)| tries);
        self.said =
            Some((view.now.later(wait << tries.min(DOUBLED_MOST)), tries.saturating_add(1)));
    }

    pub(super) fn deadline(&self) -> Instant {
        match self.said {
            Some((again, _)) if !self.is_answered() => again,
            _ => Instant::END,
        }
    }

    /// Returns whether the peer knows all that we have to tell of our half. That we take no more is
    /// answered only by an end.
    const fn is_answered(&self) -> bool {
        self.they_stop && (!self.stopping || self.untold)
    }
}
