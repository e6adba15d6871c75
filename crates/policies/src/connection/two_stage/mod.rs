//! The policy that asks before any data, and is granted or refused: ARTP's arrangement.
//!
//! | file | what |
//! | --- | --- |
//! | `receive.rs` | what the peer says |
//! | `send.rs` | what is to be said, and what was |
//! | `silence.rs` | a peer that is silent: probed, and gone |

mod receive;
mod send;
mod silence;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, PacketInfo};
use stackwright_transport::words::{
    Dropped, Ending, Nanoseconds, Occasion, Opening, Phase, SECOND, Signals, View,
};

/// How often a request is sent before the peer is taken to be gone, unless configured.
const TRIES_MOST: u32 = 10;

/// How often the wait for an answer is doubled, at most.
const DOUBLED_MOST: u32 = 3;

/// How often an end is sent, a timeout apart, before it counts without an answer: all data sent has
/// arrived anyhow.
const FAREWELLS_MOST: u32 = 4;

/// What may be sent to a peer that is not validated yet, in octets for each octet received from it:
/// a sender with a forged address must not make us flood its victim (RFC 9000 §8.1).
const AMPLIFICATION_MOST: u64 = 3;

/// Requests an association, which is granted or refused before any data flows (ARTP §1.4.3). The
/// side that requested it confirms that it received the answer. Until it confirms, reports anything
/// or ends the association, it is sent at most three times the octets that came from it. So it
/// confirms as often as it would have sent the request: a granting side that has spent its budget
/// sends nothing more of its own accord. One that probes, or answers a probe, has heard it. Where
/// data arrives without a confirmation, the answer is sent again at once, the first time: it
/// triggers another confirmation.
///
/// A side that hears nothing while nothing of its own is in flight probes whether the peer is
/// there, where that is configured ([`keepalive`](TwoStage::keepalive)), each time after twice the
/// wait. The peer is taken to be gone after a time for which it was silent
/// ([`idle`](TwoStage::idle)): each side tells for how long it bears silence, and the longer time
/// is that of both, so that neither gives up an association that the other one goes on with; where
/// none is agreed upon, after five probes, which take 31 timeouts, and as long as it
/// [bears](TwoStage::bearing). While data is in flight, the recovery decides, but not before that
/// time.
///
/// Where the peer says that it does not know this side's address, this side identifies itself, and
/// proves that it receives packets there, until the peer knows it again.
///
/// It is closed by telling the peer (stage 1 of §1.4.4) when all data sent has arrived; the peer
/// that is told loses what is still under way from its own side. The end says why it comes, and is
/// repeated three times, a timeout apart, until it is answered.
///
/// Choose it where the application decides which peers it serves. It costs a round trip before the
/// first datagram.
///
/// ```
/// use stackwright_policies::connection::TwoStage;
/// use stackwright_transport::slots::Connection;
/// assert!(!TwoStage::new(1_000_000_000).may_send(1), "no peer has asked yet");
/// ```
#[derive(Clone, Debug)]
pub struct TwoStage {
    state: State,
    /// How long the first answer is waited for.
    every: Nanoseconds,
    tries_most: u32,
    finishing: bool,
    /// Whether we requested it.
    asks: bool,
    /// After how long a silence the peer is probed, and after how long it is gone; [`NEVER`].
    keepalive: Nanoseconds,
    idle: Nanoseconds,
    /// How long a silence is borne at least, however many probes stay unanswered.
    borne: Nanoseconds,
    /// The shorter of the two; of the second, no less than round trips take.
    patience: Nanoseconds,
    /// When something was last received, or was in flight.
    quiet_since: Instant,
    /// When to see how long the silence is: no later than it matters.
    looks_at: Instant,
    /// The peer is being probed.
    probing: Option<Question>,
    /// We identify ourselves at another address.
    moving: Option<Moving>,
    /// When we may identify ourselves again.
    identifies_at: Instant,
    /// The answer that the peer is owed.
    answer: Signals,
    /// When we confirm again.
    confirming: Option<Question>,
    /// How it ends, where one side has abandoned it.
    abandoned: Option<Ending>,
    /// When the last of our requests, or grants, left, and the one before it.
    said_at: [Option<Instant>; 2],
    /// What the opening has shown of the path, until it is taken.
    opening: Option<Opening>,
    /// Nothing is to be said before this, and data needs no handling but that it came: packets are
    /// not asked about each of the fields above.
    rests_until: Instant,
}

/// The signals of its own.
impl TwoStage {
    /// Asks for another `OPEN`, now: the answer to `OPEN` where the peer has to show first that it
    /// receives our packets.
    pub const AGAIN: Signals = Signals::own(0);
    /// Asks whether the peer is there.
    pub const PROBE: Signals = Signals::own(1);
    /// The answer to `PROBE`.
    pub const PRESENT: Signals = Signals::own(2);
    /// The peer knows no such association where packets of this side come from now. It is not
    /// proven: no more than a hint that this side's address has changed.
    pub const UNKNOWN: Signals = Signals::own(3);
    /// The peer has lost the association, and has proven it.
    pub const LOST: Signals = Signals::own(4);
    /// Tells the peer which association comes from another address now.
    pub const IDENTIFY: Signals = Signals::own(5);
    /// The answer to [`MOVED`](Signals::MOVED): the proof.
    pub const RESPOND: Signals = Signals::own(6);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// We ask, again at this time.
    Asking(Question),
    /// We have agreed, and say so again at this time, until the peer shows that it knows; but no
    /// longer than until the last of these.
    Granting(Question, Budget, Instant),
    Open,
    /// We tell that it is over, again at this time.
    Leaving(Question),
    Ended(Ending),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Question {
    at: Instant,
    tries: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Moving {
    question: Question,
    /// Whether the peer was answered that it has found us: what comes from it then shows that it
    /// sends to us again.
    answered: bool,
}

/// What may be sent to a peer that is not validated yet, in octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Budget {
    heard: u64,
    said: u64,
}

/// The longest silence that a peer may ask for: what it leaves behind is held for as long.
const AGREED_MOST: Nanoseconds = 600 * SECOND;

/// No silence is long enough.
const NEVER: Nanoseconds = Nanoseconds::MAX;

const fn or_never(silence: Option<Nanoseconds>) -> Nanoseconds {
    match silence {
        Some(silence) => silence,
        None => NEVER,
    }
}

impl Question {
    fn first(now: Instant) -> Self {
        Question { at: now, tries: 0 }
    }

    fn asked(self, now: Instant, every: Nanoseconds) -> Self {
        Question { at: now.later(every << self.tries.min(DOUBLED_MOST)), tries: self.tries + 1 }
    }

    /// Asks once more after `wait`, which does not grow.
    fn again(self, view: &View, wait: Nanoseconds) -> Self {
        Question { at: view.now.later(wait), tries: self.tries + 1 }
    }

    fn is_due(self, view: &View) -> bool {
        self.at <= view.now
    }
}

impl Budget {
    fn allows(self, octets: usize) -> bool {
        self.said + octets as u64 <= AMPLIFICATION_MOST * self.heard
    }
}

impl TwoStage {
    /// Waits `every` for the first answer, twice as long for the next, and so on.
    pub const fn new(every: Nanoseconds) -> Self {
        TwoStage {
            state: State::Idle,
            every,
            tries_most: TRIES_MOST,
            finishing: false,
            asks: false,
            keepalive: NEVER,
            idle: NEVER,
            borne: 0,
            patience: NEVER,
            quiet_since: Instant::START,
            looks_at: Instant::END,
            probing: None,
            moving: None,
            identifies_at: Instant::START,
            answer: Signals::NONE,
            confirming: None,
            abandoned: None,
            said_at: [None; 2],
            opening: None,
            rests_until: Instant::START,
        }
    }

    /// Limits the number of requests to `most`, and that of the confirmations that the answer came.
    #[must_use]
    pub const fn tries(self, most: u32) -> Self {
        TwoStage { tries_most: most, ..self }
    }

    /// Probes whether the peer is there from a silence this long on, or from two thirds of the one
    /// after which it is gone; `None`: never, as in the document.
    #[must_use]
    pub const fn keepalive(self, silence: Option<Nanoseconds>) -> Self {
        TwoStage { keepalive: or_never(silence), ..self }
    }

    /// Takes the peer to be gone after a silence this long, or as long as it says if that is
    /// longer, up to ten minutes, but not before three retransmission timeouts have passed; `None`:
    /// it does not say when.
    #[must_use]
    pub const fn idle(self, silence: Option<Nanoseconds>) -> Self {
        TwoStage { idle: or_never(silence), ..self }
    }

    /// Bears a silence this long at least where none is agreed upon, and goes on probing meanwhile:
    /// a receiver is as patient as its sender.
    #[must_use]
    pub const fn bearing(self, silence: Nanoseconds) -> Self {
        TwoStage { borne: silence, ..self }
    }

    /// Notes until when nothing is to be said; after each change but those that data makes.
    fn rest(&mut self) {
        let is_busy = self.finishing
            || self.probing.is_some()
            || self.moving.is_some()
            || self.answer != Signals::NONE;
        self.rests_until = match self.state {
            State::Open if !is_busy => self.confirming.map_or(Instant::END, |question| question.at),
            _ => Instant::START,
        };
    }
}

/// The octets of an answer, and of an end, for the budget: upper bounds.
const GRANT: usize = 128;
const FAREWELL: usize = 64;

/// The octets before data: an upper bound as well.
const HEADER: usize = 64;

impl Connection for TwoStage {
    fn open(&mut self, view: &View) {
        self.asks = true;
        self.state = State::Asking(Question::first(view.now));
        self.rest();
    }

    fn finish(&mut self) {
        self.finishing = true;
        self.rest();
    }

    fn on_begun(&mut self, idle: Option<Nanoseconds>) {
        // Who says nothing does not make the other one wait for ever.
        self.idle = match (self.idle, idle) {
            (own, None) => own,
            (NEVER, Some(peer)) => peer,
            (own, Some(peer)) => own.max(peer.min(AGREED_MOST)),
        };
        self.patience = self.patience.min(self.idle);
        self.looks_at = self.looks_at.min(self.silent_at(self.idle));
    }

    fn agreed_silence(&self) -> Nanoseconds {
        if self.idle == NEVER { 0 } else { self.idle }
    }

    fn abandon(&mut self, view: &View, why: Ending) -> bool {
        self.abandoned = Some(why);
        self.state = match self.state {
            State::Open => State::Leaving(Question::first(view.now)),
            // Of what it may be sent, the end takes what is left.
            State::Granting(_, budget, _) if budget.allows(FAREWELL) => {
                State::Leaving(Question { at: view.now, tries: FAREWELLS_MOST - 1 })
            }
            state => state,
        };
        self.rest();
        matches!(self.state, State::Leaving(_))
    }

    fn on_time(&mut self, view: &View) {
        self.look(view);
        self.rest();
    }

    #[inline]
    fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let is_data = tidings.signals == Signals::NONE;
        if is_data && view.now < self.rests_until {
            self.quiet_since = view.now;
            return Ok(());
        }
        self.heed(view, tidings)
    }

    #[inline]
    fn may_send(&self, octets: usize) -> bool {
        match self.state {
            State::Open => true,
            State::Granting(_, budget, _) => budget.allows(HEADER + octets),
            _ => false,
        }
    }

    #[inline]
    fn signals(&self, view: &View, _: Occasion) -> Signals {
        if view.now < self.rests_until {
            debug_assert_eq!(self.says(view), Signals::NONE, "each change is noted");
            return Signals::NONE;
        }
        self.says(view)
    }

    #[inline]
    fn due(&self, view: &View) -> bool {
        self.signals(view, Occasion::Nothing) != Signals::NONE
    }

    #[inline]
    fn on_said(&mut self, view: &View, signals: Signals, octets: usize) {
        if signals != Signals::NONE || matches!(self.state, State::Granting(..)) {
            self.say(view, signals, octets);
            self.rest();
        }
    }

    #[inline]
    fn take_opening(&mut self) -> Option<Opening> {
        self.opening.take()
    }

    #[inline]
    fn is_half_open(&self) -> bool {
        matches!(self.state, State::Granting(..))
    }

    fn has_parted(&self) -> bool {
        matches!(self.state, State::Leaving(Question { tries: 1.., .. }))
    }

    #[inline]
    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Asking(question)
                if question.is_due(view) && question.tries >= self.tries_most =>
            {
                Phase::Ended(Ending::Silent)
            }
            State::Granting(_, _, until) if until <= view.now => Phase::Ended(Ending::Silent),
            State::Leaving(question)
                if question.is_due(view) && question.tries >= FAREWELLS_MOST =>
            {
                Phase::Ended(self.abandoned.unwrap_or(Ending::Finished))
            }
            State::Asking(_) => Phase::Opening,
            State::Granting(..) | State::Open | State::Leaving(_) => Phase::Open,
            State::Ended(ending) => Phase::Ended(ending),
        }
    }

    #[inline]
    fn deadline(&self) -> Instant {
        if self.answer != Signals::NONE {
            return Instant::START;
        }
        match self.state {
            State::Asking(question) => question.at,
            State::Leaving(question) => {
                self.moving.map_or(question.at, |moving| moving.question.at.min(question.at))
            }
            State::Granting(question, budget, until) if budget.allows(GRANT) => {
                question.at.min(until)
            }
            State::Granting(_, _, until) => until,
            State::Open => {
                let silent = self.looks_at;
                let silent = self.moving.map_or(silent, |moving| moving.question.at.min(silent));
                self.confirming.map_or(silent, |question| question.at.min(silent))
            }
            _ => Instant::END,
        }
    }
}

component! {
    TwoStage: "connection in two stages", "is granted or refused by the other application before any data",
    needs: Property::SIGNALS,
}
