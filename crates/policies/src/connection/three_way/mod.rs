//! The policy with a request, its answer, and what confirms that: TCP's arrangement.
//!
//! | file | what |
//! | --- | --- |
//! | `receive.rs` | what the peer says |
//! | `send.rs` | what is to be said, and what was |

mod receive;
mod send;
#[cfg(test)]
mod tests;

use stackwright_contract::{Instant, Trouble};
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, PacketInfo};
use stackwright_transport::words::{
    Dropped, Ending, Nanoseconds, Occasion, Opening, Phase, SECOND, Signals, View,
};

use super::halves::Halves;

/// How often a request or its answer is sent, unless configured: the last waits for a minute (RFC
/// 9293 §3.8.3 demands three minutes in all for a SYN; most stacks give up sooner).
const TRIES_MOST: u32 = 6;

/// How long a peer may take to close its half when nobody reads it any more (RFC 9293 §3.6.1, and
/// Linux' `tcp_fin_timeout`).
const ORPHANED: Nanoseconds = 60 * SECOND;

/// For how long the end of a half is sent in vain before the peer counts as gone (R2, RFC 9293
/// §3.8.3).
const SILENCE: Nanoseconds = 100 * SECOND;

/// Opens with a SYN, its answer, and what confirms that, and closes each half by itself (RFC 9293
/// §3.5 and §3.6). A request and its answer are repeated after the first timeout, twice that, and
/// so on (RFC 6298 §5.7).
///
/// Where both sides ask at once, each answers the other (§3.5, figure 8). Data that nobody reads,
/// whether it has arrived when the layer above closes or arrives later, resets the association (RFC
/// 2525 §2.17), and so does an abort. A
/// peer that does not close its half for a minute, when nobody reads it, is forgotten.
///
/// The states of RFC 9293 are not kept: they follow from this policy and the two halves.
///
/// Choose it where TCP is spoken.
///
/// ```
/// use stackwright_policies::connection::ThreeWay;
/// use stackwright_transport::slots::Connection;
/// assert!(!ThreeWay::new(1_000_000_000).may_send(1), "no peer has asked yet");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ThreeWay {
    state: State,
    every: Nanoseconds,
    tries_most: u32,
    orphaned: Nanoseconds,
    silence: Nanoseconds,
    halves: Halves,
    /// What the peer is owed, at once.
    answer: Signals,
    /// When an association that nobody reads any more ends without the peer's end.
    orphan_until: Option<Instant>,
    /// When the end of our half left first.
    finished_at: Option<Instant>,
    heard: Instant,
    /// When the last of our requests or answers left, and the one before it.
    said_at: [Option<Instant>; 2],
    said_octets: usize,
    opening: Option<Opening>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// We ask.
    Asking(Question),
    /// We answer; `asked`: we had asked, too.
    Granting(Question, bool),
    Open,
    /// The peer is told that we abort.
    Aborting(Ending),
    Ended(Ending),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Question {
    /// When it is sent next.
    at: Instant,
    tries: u32,
}

/// Where an opening stands, and the halves: what the states of RFC 9293 §3.3.2 follow from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreeWayStage {
    /// Nobody has asked.
    Idle,
    /// This side has asked.
    Asking,
    /// This side has answered.
    Granting,
    /// It is open; these are the ends of the halves.
    Open {
        /// Whether the end of ours has left.
        finished: bool,
        /// Whether the peer has it.
        acknowledged: bool,
        /// Whether the peer's has arrived, and all before it.
        heard_all: bool,
    },
    /// It is over.
    Over,
}

/// The signals of its own.
impl ThreeWay {
    /// The peer acknowledges a SYN that this side did not send: it is told (RFC 9293 §3.10.7.3).
    pub const STRANGE: Signals = Signals::own(0);

    /// Creates the policy. The first answer is waited for `every` nanoseconds.
    pub const fn new(every: Nanoseconds) -> Self {
        ThreeWay {
            state: State::Idle,
            every,
            tries_most: TRIES_MOST,
            orphaned: ORPHANED,
            silence: SILENCE,
            halves: Halves::OPEN,
            answer: Signals::NONE,
            orphan_until: None,
            finished_at: None,
            heard: Instant::START,
            said_at: [None; 2],
            said_octets: 0,
            opening: None,
        }
    }

    /// Limits the number of requests, and of answers, to `most`.
    #[must_use]
    pub const fn tries(self, most: u32) -> Self {
        ThreeWay { tries_most: most, ..self }
    }

    /// Waits `wait` nanoseconds for the end of the peer's half, when nobody reads it any more.
    #[must_use]
    pub const fn orphaned(self, wait: Nanoseconds) -> Self {
        ThreeWay { orphaned: wait, ..self }
    }

    /// Sends the end of a half in vain for `silence` nanoseconds before the peer counts as gone.
    #[must_use]
    pub const fn silence(self, silence: Nanoseconds) -> Self {
        ThreeWay { silence, ..self }
    }

    /// Begins where a request was answered before the policy was made.
    #[must_use]
    pub const fn answered(self) -> Self {
        let question = Question { at: Instant::START, tries: 1 };
        ThreeWay { state: State::Granting(question, false), ..self }
    }

    /// Returns where it stands.
    pub fn stage(&self, view: &View) -> ThreeWayStage {
        match self.state {
            State::Idle => ThreeWayStage::Idle,
            State::Asking(_) => ThreeWayStage::Asking,
            State::Granting(..) => ThreeWayStage::Granting,
            State::Open => ThreeWayStage::Open {
                finished: self.finished_at.is_some(),
                acknowledged: self.finished_at.is_some() && self.halves.they_stop(),
                heard_all: self.halves.has_all(view),
            },
            State::Aborting(_) | State::Ended(_) => ThreeWayStage::Over,
        }
    }

    /// Returns whether both halves are closed, and both sides know.
    fn is_over(&self, view: &View) -> bool {
        self.finished_at.is_some()
            && self.halves.they_stop()
            && self.halves.has_all(view)
            && self.answer == Signals::NONE
    }

    /// Returns whether only the end of the peer's half is awaited, and nobody reads that.
    fn is_orphan(&self) -> bool {
        self.halves.is_stopping() && self.finished_at.is_some() && self.halves.they_stop()
    }

    /// Returns whether nothing but an acknowledgement of the end of our half is missing: all data
    /// of both has arrived.
    fn has_only_end(&self, view: &View) -> bool {
        self.finished_at.is_some() && self.halves.has_all(view) && view.idle && view.drained
    }

    /// Returns when the peer counts as gone, because it does not acknowledge the end of our half.
    fn unheard_at(&self) -> Option<Instant> {
        let at = self.finished_at.filter(|_| !self.halves.they_stop())?;
        Some(at.max(self.heard).later(self.silence))
    }
}

impl Connection for ThreeWay {
    fn open(&mut self, view: &View) {
        self.state = State::Asking(Question { at: view.now, tries: 0 });
    }

    fn finish(&mut self) {
        self.halves.finish();
    }

    fn stop(&mut self, unread: bool) {
        self.halves.take_no_more();
        if unread && self.state == State::Open {
            self.state = State::Aborting(Ending::Aborted(0));
        }
    }

    fn abandon(&mut self, _: &View, why: Ending) -> bool {
        let tells = matches!(self.state, State::Granting(..) | State::Open | State::Aborting(_));
        if tells {
            self.state = State::Aborting(why);
        }
        tells
    }

    fn on_time(&mut self, view: &View) {
        if self.is_orphan() && self.orphan_until.is_none() {
            self.orphan_until = Some(view.now.later(self.orphaned));
        }
    }

    /// An opening ends with it: the layer above may know another address. Later it may pass, and
    /// the user timeout decides (RFC 5461 §4.1, RFC 1122 §4.2.3.9).
    fn on_trouble(&mut self, _: &View, what: Trouble) {
        if let State::Asking(_) = self.state {
            self.state = match what {
                Trouble::Refused => State::Ended(Ending::Refused(0)),
                Trouble::Unreachable | Trouble::Prohibited => State::Ended(Ending::Silent),
                _ => self.state,
            };
        }
    }

    fn heard_all(&self, view: &View) -> bool {
        self.halves.has_all(view)
    }

    fn heard(&self) -> Instant {
        self.heard
    }

    #[inline]
    fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        // The usual case: data of an association that is open.
        if tidings.signals == Signals::NONE
            && self.state == State::Open
            && !self.halves.is_stopping()
            && !self.halves.knows_end()
        {
            self.heard = view.now;
            return Ok(());
        }
        self.heed(view, tidings)
    }

    #[inline]
    fn may_send(&self, _: usize) -> bool {
        self.state == State::Open
    }

    #[inline]
    fn signals(&self, view: &View, occasion: Occasion) -> Signals {
        if self.state == State::Open && self.answer == Signals::NONE && !self.halves.is_finishing()
        {
            return Signals::NONE;
        }
        self.says(view, occasion)
    }

    #[inline]
    fn due(&self, view: &View) -> bool {
        self.signals(view, Occasion::Nothing) != Signals::NONE
    }

    #[inline]
    fn on_said(&mut self, view: &View, signals: Signals, octets: usize) {
        if signals != Signals::NONE {
            self.say(view, signals, octets);
        }
    }

    fn take_opening(&mut self) -> Option<Opening> {
        self.opening.take()
    }

    fn is_half_open(&self) -> bool {
        matches!(self.state, State::Granting(_, false))
    }

    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Asking(question) | State::Granting(question, _)
                if question.at <= view.now && question.tries >= self.tries_most =>
            {
                Phase::Ended(Ending::Silent)
            }
            State::Asking(_) | State::Granting(_, true) => Phase::Opening,
            State::Open if self.is_over(view) => Phase::Ended(Ending::Finished),
            State::Open if self.orphan_until.is_some_and(|until| until <= view.now) => {
                Phase::Ended(Ending::Finished)
            }
            State::Open if self.unheard_at().is_some_and(|at| at <= view.now) => {
                let ending =
                    if self.has_only_end(view) { Ending::Finished } else { Ending::Silent };
                Phase::Ended(ending)
            }
            State::Granting(_, false) | State::Open | State::Aborting(_) => Phase::Open,
            State::Ended(ending) => Phase::Ended(ending),
        }
    }

    fn deadline(&self) -> Instant {
        match self.state {
            State::Ended(_) | State::Idle => Instant::END,
            State::Aborting(_) => Instant::START,
            _ if self.answer != Signals::NONE => Instant::START,
            State::Asking(question) | State::Granting(question, _) => question.at,
            State::Open if self.is_orphan() => self.orphan_until.unwrap_or(Instant::START),
            State::Open => self.halves.deadline(),
        }
    }
}

component! {
    ThreeWay: "connection by a three-way handshake",
    "asks, answers and confirms, and closes each half by itself",
    needs: Property::SIGNALS,
}
