//! The policy for one sender and a group of receivers.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, PacketInfo};
use stackwright_transport::words::{
    Dropped, Ending, MILLISECOND, Nanoseconds, Occasion, Phase, Signals, View,
};

/// How long the first packet waits for data, as in [`Implicit`](super::Implicit).
const DATA_WAIT: Nanoseconds = MILLISECOND;

/// How often the end is said: nobody answers it.
const ENDS: u32 = 5;

/// How often a receiver asks to join.
const JOINS_MOST: u32 = 8;

/// How often the wait before something is said again is doubled, at most.
const DOUBLED_MOST: u32 = 3;

/// One sends to a group, and the others only receive (XTP's multicast). The first packet opens, and
/// packets open until something was acknowledged. A receiver that hears one of them begins with the
/// first number; one that hears others asks to join, and begins where the sender tells (`ACCEPT`).
///
/// The sender ends when the [group](crate::membership) has acknowledged everything, and says so
/// several times, because nobody answers it. A receiver that closes leaves the group, and ends
/// nothing; it says so several times, too, unless the sender says that all is over. A receiver that
/// hears nothing for long ends: as finished if it has everything. One that misses what the sender
/// does not send again is told (`BEHIND`), and ends with the code of it.
///
/// Choose it with a membership; a sender without one believes the first receiver that answers.
///
/// ```
/// use stackwright_policies::connection::OneToMany;
/// use stackwright_transport::slots::Connection;
/// assert!(!OneToMany::new(30_000_000_000).may_send(1), "no layer above has opened it");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneToMany {
    state: State,
    patience: Nanoseconds,
    /// When something was last heard.
    heard: Instant,
    /// The sender's first number, and when its opening leaves if there is no data.
    first: u64,
    opens_at: Instant,
    /// Whether the layer above sends no more.
    finishing: bool,
    /// Whether somebody asks to join; and whether somebody misses what is not sent again.
    joins: bool,
    misses: bool,
    /// When the one that misses may be told again.
    told_at: Instant,
    /// The number after the sender's last.
    their_end: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Sending,
    /// We say that it is over, again at this time; the count is of those before.
    Parting(Instant, u32, Ending),
    /// We have not heard the opening, and ask to join, again at this time.
    Joining(Instant, u32),
    Receiving,
    /// We leave the group, and say so again at this time; the count is of those before.
    Leaving(Instant, u32, Ending),
    Ended(Ending),
}

impl OneToMany {
    /// What the peer misses is not sent again: the group has gone on without it.
    pub const BEHIND: Signals = Signals::own(0);

    /// Lets a receiver end after `patience` nanoseconds without a packet.
    pub const fn new(patience: Nanoseconds) -> Self {
        OneToMany {
            state: State::Idle,
            patience,
            heard: Instant::START,
            first: 0,
            opens_at: Instant::END,
            finishing: false,
            joins: false,
            misses: false,
            told_at: Instant::START,
            their_end: None,
        }
    }

    fn has_all(&self, view: &View) -> bool {
        self.their_end.is_some_and(|end| view.received_upto >= end)
    }

    /// Returns whether everything was acknowledged, and nothing follows.
    fn is_over(&self, view: &View) -> bool {
        self.state == State::Sending && self.finishing && view.idle && view.drained
    }

    fn tells_behind(&self, view: &View) -> bool {
        self.misses && self.told_at <= view.now
    }

    fn is_receiver(&self) -> bool {
        matches!(self.state, State::Joining(..) | State::Receiving)
    }

    fn hear_sender(&mut self, view: &View, tidings: &PacketInfo) {
        let signals = tidings.signals;
        self.heard = view.now;
        if signals.has(Signals::OPEN.with(Signals::ACCEPT)) {
            self.state = State::Receiving;
        }
        if signals.has(Signals::FINISH) && self.their_end.is_none() {
            self.their_end = tidings.next;
        }
        if !signals.has(Signals::END) {
            return;
        }
        let is_whole = signals.has(Signals::FINISH) && self.has_all(view);
        let ending = if is_whole { Ending::Finished } else { Ending::Reset(signals.code()) };
        self.state = State::Ended(ending);
    }
}

impl Connection for OneToMany {
    fn open(&mut self, view: &View) {
        (self.state, self.first) = (State::Sending, view.settled_upto);
        self.opens_at = view.now.later(DATA_WAIT);
    }

    fn finish(&mut self) {
        self.finishing = true;
    }

    /// What takes no more leaves: a receiver has nothing to send.
    fn stop(&mut self, _: bool) {
        if self.is_receiver() {
            self.state = State::Leaving(Instant::START, 0, Ending::Finished);
        }
    }

    fn on_time(&mut self, view: &View) {
        if self.is_receiver() && self.heard.later(self.patience) <= view.now {
            let why = if self.has_all(view) { Ending::Finished } else { Ending::Silent };
            self.state = State::Ended(why);
        }
        if let State::Joining(at, tries) = self.state
            && at <= view.now
            && tries >= JOINS_MOST
        {
            self.state = State::Ended(Ending::Silent);
        }
    }

    fn heard_all(&self, view: &View) -> bool {
        self.has_all(view)
    }

    fn abandon(&mut self, view: &View, why: Ending) -> bool {
        self.state = match self.state {
            State::Sending => State::Parting(view.now, 0, why),
            State::Joining(..) | State::Receiving => State::Leaving(view.now, 0, why),
            State::Leaving(at, tries, _) => State::Leaving(at, tries, why),
            _ => return false,
        };
        true
    }

    fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let signals = tidings.signals;
        if signals.has(Signals::OVERHEARD) {
            return Ok(());
        }
        match self.state {
            State::Sending => {
                self.heard = view.now;
                self.joins |= signals.has(Signals::OPEN);
                self.misses |= signals.has(Self::BEHIND);
                Ok(())
            }
            State::Idle | State::Joining(..) | State::Receiving => {
                if self.state == State::Idle {
                    self.state = State::Joining(view.now, 0);
                }
                self.hear_sender(view, tidings);
                // Before the first number is known, nothing can be taken, and no question answered.
                let waits = matches!(self.state, State::Joining(..));
                if waits { Err(Dropped::NotOurs) } else { Ok(()) }
            }
            State::Leaving(.., why) if signals.has(Signals::END) => {
                self.state = State::Ended(why);
                Err(Dropped::NotOurs)
            }
            _ => Err(Dropped::NotOurs),
        }
    }

    fn may_send(&self, _: usize) -> bool {
        self.state == State::Sending
    }

    fn signals(&self, view: &View, occasion: Occasion) -> Signals {
        let over = Signals::END.with(Signals::FINISH).with(Signals::STOP);
        match self.state {
            State::Sending => {
                let lone = matches!(occasion, Occasion::Unit { lone: true, .. });
                let is_last = self.finishing && (view.drained || lone);
                Signals::OPEN
                    .when(view.settled_upto == self.first)
                    .with(Signals::ACCEPT.when(self.joins))
                    .with(Self::BEHIND.when(self.tells_behind(view)))
                    .with(Signals::FINISH.when(is_last))
                    .with(over.when(self.is_over(view)))
            }
            State::Parting(at, tries, why) if at <= view.now && tries < ENDS => match why {
                Ending::Finished => over,
                Ending::Aborted(code) => Signals::END.with(Signals::because(code)),
                _ => Signals::END,
            },
            State::Joining(at, tries) => Signals::OPEN.when(at <= view.now && tries < JOINS_MOST),
            State::Leaving(at, tries, _) => over.when(at <= view.now && tries < ENDS),
            _ => Signals::NONE,
        }
    }

    fn due(&self, view: &View) -> bool {
        match self.state {
            State::Sending => {
                self.opens_at <= view.now
                    || self.joins
                    || self.tells_behind(view)
                    || self.is_over(view)
            }
            State::Parting(at, tries, _) | State::Leaving(at, tries, _) => {
                at <= view.now && tries < ENDS
            }
            State::Joining(at, tries) => at <= view.now && tries < JOINS_MOST,
            _ => false,
        }
    }

    fn on_said(&mut self, view: &View, signals: Signals, _: usize) {
        let again = |tries: u32| view.now.later(view.rtt.timeout << tries.min(DOUBLED_MOST));
        if signals.has(Signals::ACCEPT) {
            self.joins = false;
        }
        if signals.has(Self::BEHIND) {
            (self.misses, self.told_at) = (false, again(0));
        }
        if signals.has(Signals::OPEN) {
            self.opens_at = Instant::END;
        }
        self.state = match self.state {
            State::Joining(_, tries) if signals.has(Signals::OPEN) => {
                State::Joining(again(tries), tries + 1)
            }
            State::Sending if signals.has(Signals::END) => {
                State::Parting(again(0), 1, Ending::Finished)
            }
            State::Parting(_, tries, why) if signals.has(Signals::END) => {
                State::Parting(again(tries), tries + 1, why)
            }
            State::Leaving(_, tries, why) if signals.has(Signals::END) => {
                State::Leaving(again(tries), tries + 1, why)
            }
            state => state,
        };
    }

    fn heard(&self) -> Instant {
        self.heard
    }

    fn has_parted(&self) -> bool {
        matches!(self.state, State::Parting(_, 3.., _) | State::Leaving(_, 3.., _))
    }

    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Parting(at, tries, why) | State::Leaving(at, tries, why)
                if at <= view.now && tries >= ENDS =>
            {
                Phase::Ended(why)
            }
            State::Ended(why) => Phase::Ended(why),
            _ => Phase::Open,
        }
    }

    fn deadline(&self) -> Instant {
        match self.state {
            State::Sending if self.misses => self.opens_at.min(self.told_at),
            State::Sending => self.opens_at,
            State::Parting(at, ..) | State::Leaving(at, ..) => at,
            State::Joining(at, _) => at.min(self.heard.later(self.patience)),
            State::Receiving => self.heard.later(self.patience),
            _ => Instant::END,
        }
    }
}

component! {
    OneToMany: "connection from one to many", "opens with the first packets; others may join later",
    // What the group acknowledges ends it.
    needs: Property::SIGNALS.and(Property::ASKS).and(Property::REPEATS).and(Property::GROUP),
    shuns: Property::EXPIRES,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: Nanoseconds = 1_000_000_000;

    fn at(seconds: u64) -> View {
        View { now: Instant::from_nanoseconds(seconds * SECONDS), ..View::START }
    }

    fn tells(signals: Signals, next: u64) -> PacketInfo {
        PacketInfo { signals, next: Some(next), ..PacketInfo::default() }
    }

    #[test]
    fn who_hears_the_opening_receives_and_who_hears_another_packet_asks_to_join() {
        let mut first = OneToMany::new(30 * SECONDS);
        first.admit(&at(0), &tells(Signals::OPEN, 0)).unwrap();
        assert!(!first.due(&at(0)));
        let mut late = OneToMany::new(30 * SECONDS);
        let other = late.admit(&at(0), &tells(Signals::NONE, 500));
        assert_eq!(other, Err(Dropped::NotOurs));
        assert!(late.due(&at(0)));
        assert_eq!(late.signals(&at(0), Occasion::Signal), Signals::OPEN);
        late.admit(&at(0), &tells(Signals::ACCEPT, 900)).unwrap();
        assert!(!late.due(&at(0)));
    }

    #[test]
    fn nobody_that_answers_ends_the_joining() {
        let mut late = OneToMany::new(3000 * SECONDS);
        late.admit(&at(0), &tells(Signals::NONE, 500)).unwrap_err();
        let mut said = 0;
        for second in 0..1000 {
            let mut view = at(second);
            view.rtt.timeout = SECONDS;
            late.on_time(&view);
            if late.due(&view) {
                late.on_said(&view, Signals::OPEN, 100);
                said += 1;
            }
        }
        assert_eq!(said, JOINS_MOST);
        assert_eq!(late.phase(&at(1000)), Phase::Ended(Ending::Silent));
    }

    #[test]
    fn a_receiver_ends_as_finished_if_it_has_everything() {
        for (has, end, ending) in [
            (900, Signals::END.with(Signals::FINISH), Ending::Finished),
            (899, Signals::END.with(Signals::FINISH), Ending::Reset(0)),
            (900, Signals::END.with(Signals::because(7)), Ending::Reset(7)),
        ] {
            let mut receiver = OneToMany::new(30 * SECONDS);
            receiver.admit(&at(0), &tells(Signals::OPEN, 0)).unwrap();
            let view = View { received_upto: has, ..at(1) };
            receiver.admit(&view, &tells(end, 900)).unwrap();
            assert_eq!(receiver.phase(&view), Phase::Ended(ending));
        }
        for (has, ending) in [(900, Ending::Finished), (899, Ending::Silent)] {
            let mut receiver = OneToMany::new(30 * SECONDS);
            let view = View { received_upto: has, ..at(0) };
            receiver.admit(&view, &tells(Signals::OPEN.with(Signals::FINISH), 900)).unwrap();
            receiver.on_time(&View { received_upto: has, ..at(30) });
            assert_eq!(receiver.phase(&at(30)), Phase::Ended(ending), "the end was lost");
        }
    }

    #[test]
    fn the_end_is_said_several_times_and_a_leaver_ends_nothing() {
        let mut sender = OneToMany::new(30 * SECONDS);
        sender.open(&at(0));
        sender.admit(&at(0), &tells(Signals::END.with(Signals::FINISH), 0)).unwrap();
        assert_eq!(sender.phase(&at(0)), Phase::Open);
        sender.finish();
        let mut said = 0;
        for second in 0..100 {
            let mut view = at(second);
            view.rtt.timeout = SECONDS;
            if sender.due(&view) {
                let signals = sender.signals(&view, Occasion::Signal);
                assert!(signals.has(Signals::END) && signals.has(Signals::FINISH));
                sender.on_said(&view, signals, 52);
                said += 1;
            }
        }
        assert_eq!((said, sender.phase(&at(100))), (ENDS, Phase::Ended(Ending::Finished)));
    }
}
