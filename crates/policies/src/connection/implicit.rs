//! The first packet opens, and all that was said closes.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, Tidings};
use stackwright_transport::words::{Dropped, Ending, Nanoseconds, Phase, Signals, View};

/// The first packet opens, with data in it (XTP's FIRST); no answer is waited for. It is closed in one round trip, gracefully
/// (XTP §5, *abbreviated*): who has sent all says so and that he takes no more, and who has all of that says the same and
/// that it is over.
///
/// Nothing here has a timer but the linger of who says last: the questions of the inquiry slot carry the signals and are
/// repeated. The linger must be longer than the other side's patience.
///
/// Choose it for short exchanges. Who answers knows nothing of who asks: whoever lets strangers in bounds what one may cost.
///
/// ```
/// use stackwright_policies::connection::Implicit;
/// use stackwright_transport::slots::Connection;
/// assert!(!Implicit::new(60_000_000_000).may_send(1), "nobody has asked for it");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Implicit {
    state: State,
    linger: Nanoseconds,
    /// `OPEN` has left.
    called: bool,
    finishing: bool,
    /// `FINISH` has left, and was not answered since.
    said: bool,
    /// The peer's number after its last.
    their_end: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// We opened, and nothing was heard.
    Calling,
    Active,
    /// We have said that it is over, and say it again until then.
    Lingering(Instant, Ending),
    Ended(Ending),
}

impl Implicit {
    /// Who says last that it is over answers for so long.
    pub const fn new(linger: Nanoseconds) -> Self {
        let state = State::Idle;
        Implicit { state, linger, called: false, finishing: false, said: false, their_end: None }
    }

    /// All that the peer has sent is here, and it said that there is no more.
    fn has_all(&self, view: &View) -> bool {
        self.their_end.is_some_and(|end| view.received_upto >= end)
    }

    /// All that we have to send has left. Not before something was heard: an opening has no number.
    fn has_said_all(&self, view: &View) -> bool {
        self.finishing && view.drained && self.state == State::Active
    }
}

impl Connection for Implicit {
    fn open(&mut self, _: &View) {
        self.state = State::Calling;
    }

    fn finish(&mut self) {
        self.finishing = true;
    }

    fn admit(&mut self, view: &View, tidings: &Tidings) -> Result<(), Dropped> {
        let signals = tidings.signals;
        self.state = match self.state {
            State::Idle if !signals.has(Signals::OPEN) => return Err(Dropped::NotOurs),
            State::Idle | State::Calling => State::Active,
            state => state,
        };
        if signals.has(Signals::FINISH) && self.their_end.is_none() {
            self.their_end = tidings.next;
        }
        if signals.has(Signals::END) {
            // Who says that has all that we sent, if we have said that it is all.
            let ending = if self.said { Ending::Finished } else { Ending::Reset(0) };
            self.state = match self.state {
                State::Active => State::Ended(ending),
                State::Lingering(_, ending) => State::Ended(ending),
                state => state,
            };
        } else if tidings.reports && view.idle && view.drained {
            self.said = false; // it has not heard that this was all
        }
        Ok(())
    }

    fn may_send(&self, _: usize) -> bool {
        matches!(self.state, State::Calling | State::Active)
    }

    fn signals(&self, view: &View) -> Signals {
        let over = self.has_all(view);
        Signals::OPEN
            .when(self.state == State::Calling)
            .with(Signals::FINISH.with(Signals::STOP).when(over || self.has_said_all(view)))
            .with(Signals::END.when(over))
    }

    fn due(&self, view: &View) -> bool {
        (self.state == State::Calling && !self.called) || (self.has_said_all(view) && !self.said)
    }

    fn on_said(&mut self, view: &View, signals: Signals, _: usize) {
        self.called |= signals.has(Signals::OPEN);
        self.said |= signals.has(Signals::FINISH);
        if signals.has(Signals::END) && matches!(self.state, State::Active) {
            let ending = if view.idle && view.drained { Ending::Finished } else { Ending::Reset(0) };
            self.state = State::Lingering(view.now.later(self.linger), ending);
        }
    }

    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Lingering(until, ending) if until <= view.now => Phase::Ended(ending),
            State::Calling | State::Active | State::Lingering(..) => Phase::Open,
            State::Ended(ending) => Phase::Ended(ending),
        }
    }

    fn deadline(&self) -> Instant {
        if let State::Lingering(until, _) = self.state { until } else { Instant::END }
    }
}

component! {
    Implicit: "connection implicit", "opens with the first packet",
    // Questions carry and repeat what it says; and it is over only when nothing is missing.
    needs: Property::SIGNALS.and(Property::ASKS).and(Property::REPEATS),
    shuns: Property::EXPIRES,
}
