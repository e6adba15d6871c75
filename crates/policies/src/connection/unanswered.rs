//! The policy for data that nobody answers.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, PacketInfo};
use stackwright_transport::words::{Dropped, Ending, Nanoseconds, Occasion, Phase, Signals, View};

/// Opens with every packet, because any may be the first that arrives, and ends with the last: the
/// peer answers nothing (XTP's unacknowledged datagram). The receiving side ends when it hears the
/// end, or nothing for a while.
///
/// Choose it for data that is worth nothing if it is late, and for a path with one direction.
///
/// ```
/// use stackwright_policies::connection::Unanswered;
/// use stackwright_transport::slots::Connection;
/// assert!(!Unanswered::new(60_000_000_000).may_send(1), "no layer above has opened it");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Unanswered {
    state: State,
    patience: Nanoseconds,
    finishing: bool,
    /// Whether anything has left.
    called: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Sending,
    /// The peer sends; something was last heard at this time.
    Receiving(Instant),
    Ended(Ending),
}

impl Unanswered {
    /// Lets the receiving side end after `patience` nanoseconds without a packet.
    pub const fn new(patience: Nanoseconds) -> Self {
        Unanswered { state: State::Idle, patience, finishing: false, called: false }
    }

    fn is_last(&self, view: &View, occasion: Occasion) -> bool {
        let lone = matches!(occasion, Occasion::Unit { lone: true, .. });
        self.finishing && (view.drained || lone)
    }
}

impl Connection for Unanswered {
    fn open(&mut self, _: &View) {
        self.state = State::Sending;
    }

    /// What takes no more sends no more: there is one direction.
    fn stop(&mut self, _: bool) {
        self.finishing = true;
        if let State::Receiving(_) = self.state {
            self.state = State::Ended(Ending::Finished);
        }
    }

    fn finish(&mut self) {
        self.finishing = true;
    }

    fn on_time(&mut self, view: &View) {
        if self.deadline() <= view.now {
            self.state = State::Ended(Ending::Silent);
        }
    }

    fn heard_all(&self, _: &View) -> bool {
        matches!(self.state, State::Ended(_))
    }

    fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let opens = tidings.signals.has(Signals::OPEN);
        self.state = match self.state {
            State::Idle | State::Receiving(_) if opens => State::Receiving(view.now),
            // The peer tells that nobody is there.
            State::Sending if tidings.signals.has(Signals::REFUSE) => {
                State::Ended(Ending::Refused(tidings.signals.code()))
            }
            _ => return Err(Dropped::NotOurs),
        };
        if tidings.signals.has(Signals::END) {
            self.state = State::Ended(Ending::Finished);
        }
        Ok(())
    }

    fn may_send(&self, _: usize) -> bool {
        self.state == State::Sending
    }

    fn signals(&self, view: &View, occasion: Occasion) -> Signals {
        let last = Signals::FINISH.with(Signals::STOP).with(Signals::END);
        let is_last = self.is_last(view, occasion);
        Signals::OPEN.with(last.when(is_last)).when(self.state == State::Sending)
    }

    fn due(&self, view: &View) -> bool {
        self.state == State::Sending && self.called && self.is_last(view, Occasion::Nothing)
    }

    fn on_said(&mut self, _: &View, signals: Signals, _: usize) {
        self.called |= signals.has(Signals::OPEN);
        if signals.has(Signals::END) {
            self.state = State::Ended(Ending::Finished);
        }
    }

    /// Nothing that a peer says shows that it hears.
    fn is_stranger(&self) -> bool {
        matches!(self.state, State::Receiving(_))
    }

    fn heard(&self) -> Instant {
        if let State::Receiving(heard) = self.state { heard } else { Instant::START }
    }

    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            // No peer has heard of it.
            State::Sending if self.finishing && !self.called && view.drained => {
                Phase::Ended(Ending::Finished)
            }
            State::Sending | State::Receiving(_) => Phase::Open,
            State::Ended(ending) => Phase::Ended(ending),
        }
    }

    fn deadline(&self) -> Instant {
        match self.state {
            State::Receiving(heard) => heard.later(self.patience),
            _ => Instant::END,
        }
    }
}

component! {
    Unanswered: "connection unanswered", "opens with every packet, and is not answered",
    needs: Property::SIGNALS, shuns: Property::REPEATS,
}
