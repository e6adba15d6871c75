//! The policy with a request and its answer, to open and to close.

use stackwright_contract::Instant;
use stackwright_contract::services::Code;
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, PacketInfo};
use stackwright_transport::words::{Dropped, Ending, Nanoseconds, Occasion, Phase, Signals, View};

use super::halves::Halves;

/// How often a request is sent at most (MaxCC, Q.2110), unless configured.
const TRIES_MOST: u32 = 4;

/// How many times an interval is doubled, at most.
const DOUBLED_MOST: u32 = 30;

/// Opens with a request and its answer (SSCOP's BGN and BGAK), and closes with a request and its
/// answer when all data sent has arrived (END and ENDAK). A request is repeated at an interval
/// (Timer_CC) until it is answered.
///
/// Each side may close its half before, and is told that all of it has arrived; where both halves
/// are closed, the association is over. An end that closes no half is an abort.
///
/// The side that is asked for an association sends as soon as it has agreed. Choose it where
/// addresses cannot be forged: [`TwoStage`](super::TwoStage) trusts an address only once its owner
/// has shown that it receives.
///
/// ```
/// use stackwright_policies::connection::Handshake;
/// use stackwright_transport::slots::Connection;
/// assert!(!Handshake::new(1_000_000_000).may_send(1), "no peer has asked yet");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    state: State,
    every: Nanoseconds,
    /// The longest interval that the first one is doubled to; 0: it stays the same.
    doubled_most: Nanoseconds,
    tries_most: u32,
    /// The same of requests to part.
    partings_most: u32,
    halves: Halves,
    /// The answer that the peer is owed.
    answer: Signals,
    /// The reason for which we leave.
    why: Ending,
    /// How the peer leaves, if it does: it has closed its half, or aborts with a code.
    left: Option<Result<(), Code>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// We ask, again at this time; the count is of the requests before.
    Asking(Instant, u32),
    /// It is open. `false`: we agreed, and have received nothing since.
    Open(bool),
    /// We tell that it is over, again at this time; the count is of the attempts before.
    Leaving(Instant, u32),
    Ended(Ending),
}

impl Handshake {
    /// Waits `every` for an answer.
    pub const fn new(every: Nanoseconds) -> Self {
        Handshake {
            state: State::Idle,
            every,
            doubled_most: 0,
            tries_most: TRIES_MOST,
            partings_most: TRIES_MOST,
            halves: Halves::OPEN,
            answer: Signals::NONE,
            why: Ending::Finished,
            left: None,
        }
    }

    /// Limits the number of requests to `most`.
    #[must_use]
    pub const fn tries(self, most: u32) -> Self {
        Handshake { tries_most: most, partings_most: most, ..self }
    }

    /// Limits the number of requests to part to `most`: they concern nobody above any more.
    #[must_use]
    pub const fn partings(self, most: u32) -> Self {
        Handshake { partings_most: most, ..self }
    }

    /// Doubles the interval with each request that is not answered, up to `most` nanoseconds: the
    /// peer may be out of reach for hours.
    #[must_use]
    pub const fn doubling(self, most: Nanoseconds) -> Self {
        Handshake { doubled_most: most, ..self }
    }

    /// Returns when the next request is due, after this many without an answer.
    fn again(&self, view: &View, tries: u32) -> Instant {
        let doubled = self.every.saturating_mul(1 << tries.min(DOUBLED_MOST));
        view.now.later(doubled.min(self.doubled_most).max(self.every))
    }

    fn leaves(&self, view: &View) -> bool {
        match self.state {
            State::Open(_) => {
                let both = self.halves.is_stopping()
                    || self.halves.they_stop() && self.halves.has_all(view);
                self.halves.is_finishing() && both && view.idle && view.drained
            }
            State::Leaving(at, tries) => at <= view.now && tries < self.partings_most,
            _ => false,
        }
    }

    /// Returns the signals that must leave for their own sake.
    fn says(&self, view: &View) -> Signals {
        let end = match self.why {
            // What the peer sent has arrived, though it may not know that yet.
            Ending::Finished => Signals::END
                .with(Signals::FINISH)
                .with(Signals::STOP.when(self.halves.has_all(view))),
            Ending::Aborted(code) => Signals::END.with(Signals::because(code)),
            _ => Signals::END,
        };
        self.answer
            .with(Signals::OPEN.when(self.asks(view)))
            .with(end.when(self.leaves(view)))
            .with(Signals::FINISH.when(self.closes_half(view) && self.halves.due(view)))
    }

    /// Returns whether to tell the peer that this half is closed. Where both halves are closed at
    /// once, the end tells it.
    fn closes_half(&self, view: &View) -> bool {
        matches!(self.state, State::Open(_))
            && !self.halves.is_stopping()
            && self.halves.has_said_all(view)
    }

    fn asks(&self, view: &View) -> bool {
        matches!(self.state, State::Asking(at, tries) if at <= view.now && tries < self.tries_most)
    }
}

impl Connection for Handshake {
    fn open(&mut self, view: &View) {
        self.state = State::Asking(view.now, 0);
    }

    fn finish(&mut self) {
        self.halves.finish();
    }

    fn stop(&mut self, _: bool) {
        self.halves.stop();
    }

    fn abandon(&mut self, view: &View, why: Ending) -> bool {
        self.why = why;
        let tells = matches!(self.state, State::Open(_) | State::Leaving(..));
        if tells {
            self.state = State::Leaving(view.now, 0);
        }
        tells
    }

    fn heard_all(&self, view: &View) -> bool {
        self.halves.has_all(view) || self.left == Some(Ok(()))
    }

    fn admit(&mut self, _: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let signals = tidings.signals;
        self.state = match self.state {
            State::Idle if signals.has(Signals::OPEN) => State::Open(false),
            State::Asking(..) if signals.has(Signals::REFUSE) => {
                State::Ended(Ending::Refused(signals.code()))
            }
            State::Asking(..) if signals.has(Signals::OPEN.with(Signals::ACCEPT)) => {
                State::Open(true)
            }
            State::Idle | State::Asking(..) => return Err(Dropped::NotOurs),
            State::Open(heard) => State::Open(heard || !signals.has(Signals::OPEN)),
            State::Leaving(..) if signals.has(Signals::ENDED) => State::Ended(self.why),
            state => state,
        };
        self.halves.on_heard(tidings);
        if signals.has(Signals::OPEN) {
            self.answer = self.answer.with(Signals::ACCEPT);
        }
        if signals.has(Signals::END) {
            self.answer = Signals::ENDED;
            self.left =
                Some(if signals.has(Signals::FINISH) { Ok(()) } else { Err(signals.code()) });
        }
        Ok(())
    }

    fn may_send(&self, _: usize) -> bool {
        matches!(self.state, State::Open(_))
    }

    fn signals(&self, view: &View, _: Occasion) -> Signals {
        // Requests also carry that our half is closed, and answers that the peer's is.
        self.says(view).with(Signals::FINISH.when(self.closes_half(view))).with(
            Signals::STOP.when(matches!(self.state, State::Open(_)) && self.halves.has_all(view)),
        )
    }

    fn due(&self, view: &View) -> bool {
        self.says(view) != Signals::NONE
    }

    fn on_said(&mut self, view: &View, signals: Signals, _: usize) {
        if signals == Signals::NONE {
            return;
        }
        self.answer = self.answer.without(signals);
        if signals.has(Signals::FINISH) && matches!(self.state, State::Open(_)) {
            self.halves.on_finish_said(view, self.every);
        }
        self.state = match self.state {
            _ if signals.has(Signals::ENDED) => State::Ended(match self.left {
                _ if self.why != Ending::Finished => self.why,
                Some(Err(code)) => Ending::Reset(code),
                // It has all that it sent acknowledged; the peer takes no more of our data that has
                // not arrived.
                _ if view.idle && view.drained || self.halves.they_stop() => Ending::Finished,
                _ => Ending::Reset(0),
            }),
            State::Asking(_, tries) if signals.has(Signals::OPEN) => {
                State::Asking(self.again(view, tries), tries.saturating_add(1))
            }
            State::Open(_) if signals.has(Signals::END) => State::Leaving(self.again(view, 0), 1),
            State::Leaving(_, tries) if signals.has(Signals::END) => {
                State::Leaving(self.again(view, tries), tries.saturating_add(1))
            }
            state => state,
        };
    }

    fn is_half_open(&self) -> bool {
        self.state == State::Open(false)
    }

    fn has_parted(&self) -> bool {
        matches!(self.state, State::Leaving(_, 1..))
    }

    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Asking(at, tries) if at <= view.now && tries >= self.tries_most => {
                Phase::Ended(Ending::Silent)
            }
            // All data that we sent has arrived, or is of no use: only the answer is missing.
            State::Leaving(at, tries) if at <= view.now && tries >= self.partings_most => {
                Phase::Ended(self.why)
            }
            State::Asking(..) => Phase::Opening,
            State::Open(_) | State::Leaving(..) => Phase::Open,
            State::Ended(ending) => Phase::Ended(ending),
        }
    }

    fn deadline(&self) -> Instant {
        match self.state {
            _ if self.answer != Signals::NONE => Instant::START,
            State::Asking(at, _) | State::Leaving(at, _) => at,
            State::Open(_) if !self.halves.is_stopping() => self.halves.deadline(),
            _ => Instant::END,
        }
    }
}

component! {
    Handshake: "connection by a handshake", "asks for an association and for its end",
    needs: Property::SIGNALS,
}
