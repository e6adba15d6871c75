//! The policy that asks before any data, and is granted or refused: ARTP's arrangement.

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

/// How often a silent peer is probed before it is taken to be gone, where no silence is agreed upon
/// that decides. Each wait is twice as long as the last, from a timeout on: an outage, or loss,
/// that is shorter than all of them is no end.
const PROBES_MOST: u32 = 5;

/// By what part of it the side that asked for the association probes sooner than the other: as a
/// rule, one of them probes.
const SOONER: u64 = 16;

/// How many timeouts a silence lasts at least before the peer is taken to be gone.
const TIMEOUTS_LEAST: u64 = 3;

/// How late a timer is of a host that was suspended: what the peer sent meanwhile is lost, and the
/// silence says nothing.
const SUSPENDED: Nanoseconds = 5 * SECOND;

/// How often this side identifies itself to a peer that does not know where its packets come from,
/// and how long it waits at least before it does so again: whether it is asked to is not proven.
const IDENTIFIED_MOST: u32 = 6;
const IDENTIFIED_EVERY: Nanoseconds = SECOND / 3;

/// What may be sent to a peer that is not validated yet, in octets for each octet received from it:
/// a sender with a forged address must not make us flood its victim (RFC 9000 §8.1).
const AMPLIFICATION_MOST: u64 = 3;

/// Requests an association, which is granted or refused before any data flows (ARTP §1.4.3). The
/// side that requested it confirms that it received the answer. Until it confirms, reports anything
/// or ends the association, it is sent at most three times the octets that came from it. So it
/// confirms as often as it would have sent the request, and nothing that it receives shows that it
/// need not: a granting side that has spent its budget sends nothing more of its own accord. Where
/// data arrives without a confirmation, the answer is sent again at once, the first time: it
/// triggers another confirmation.
///
/// A side that hears nothing while nothing of its own is in flight probes whether the peer is
/// there, where that is configured ([`keepalive`](TwoStage::keepalive)), each time after twice the
/// wait. The peer is taken to be gone after a time for which it was silent
/// ([`idle`](TwoStage::idle)); where none is agreed upon, after five probes, which take 31
/// timeouts. While data is in flight, the recovery decides.
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
    /// shorter, but not before three retransmission timeouts have passed; `None`: it does not say
    /// when.
    #[must_use]
    pub const fn idle(self, silence: Option<Nanoseconds>) -> Self {
        TwoStage { idle: or_never(silence), ..self }
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

    /// Returns what is to be said now.
    #[inline(never)] // rarely anything
    fn says(&self, view: &View) -> Signals {
        let asks = matches!(self.state, State::Asking(question) if question.is_due(view));
        self.answer
            .with(Signals::OPEN.when(asks))
            .with(Signals::CONFIRM.when(self.confirms(view)))
            .with(Signals::ACCEPT.when(self.grants(view)))
            .with(Signals::PROBE.when(self.probes(view)))
            .with(Signals::IDENTIFY.when(self.identifies(view)))
            .with(
                Signals::end(self.abandoned.unwrap_or(Ending::Finished)).when(self.farewell(view)),
            )
    }

    /// Returns how long an answer takes at most, as a rule: the retransmission timeout, which need
    /// not be as long as losses have made it.
    fn timeout(&self, view: &View) -> Nanoseconds {
        view.rtt.timeout.min(view.rtt.smoothed + 4 * view.rtt.variation + self.every)
    }

    /// Returns whether to probe now if the peer is there.
    fn probes(&self, view: &View) -> bool {
        let asks = |question: Question| question.is_due(view) && self.may_probe(question);
        self.state == State::Open && self.probing.is_some_and(asks)
    }

    /// Returns whether another probe may bring an answer in time.
    fn may_probe(&self, question: Question) -> bool {
        self.idle != NEVER || question.tries < PROBES_MOST
    }

    /// Returns how long a silence lasts before the peer is probed, and before it is gone.
    fn silences(&self, view: &View) -> (Nanoseconds, Nanoseconds) {
        let gone = self.idle.max(TIMEOUTS_LEAST.saturating_mul(view.rtt.timeout));
        if self.keepalive == NEVER {
            return (NEVER, gone);
        }
        // Probes that are wanted keep it alive: there is time for one before it is gone.
        let probed = self.keepalive.min(gone - gone / 3);
        (if self.asks { probed - probed / SOONER } else { probed }, gone)
    }

    /// Something was received, or is in flight.
    fn stirs(&mut self, view: &View) {
        let (probed, gone) = self.silences(view);
        (self.quiet_since, self.patience, self.probing) = (view.now, probed.min(gone), None);
        self.looks_at = self.silent_at(gone);
    }

    /// Returns when the silence is long enough that something is to be done; it is an end after
    /// `gone`.
    fn silent_at(&self, gone: Nanoseconds) -> Instant {
        let after = |silence| self.quiet_since.later(silence);
        self.probing.map_or_else(|| after(self.patience), |question| question.at.min(after(gone)))
    }

    /// Looks how long the silence is.
    fn look(&mut self, view: &View) {
        if self.state != State::Open {
            return;
        }
        let (probed, gone) = self.silences(view);
        let due = self.silent_at(gone);
        if !view.idle {
            return self.stirs(view); // the recovery waits for an answer
        }
        if due > view.now {
            self.looks_at = due;
            return;
        }
        let silence = view.now.nanoseconds_since(self.quiet_since);
        let is_gone = match self.probing {
            _ if view.now.nanoseconds_since(due) > SUSPENDED => {
                self.quiet_since = view.now.sooner(probed.min(gone));
                self.probing = Some(Question::first(view.now));
                false
            }
            Some(question) => silence >= gone || !self.may_probe(question),
            None if silence >= probed => {
                self.probing = Some(Question::first(view.now));
                false
            }
            None => silence >= gone,
        };
        self.patience = probed.min(gone);
        self.looks_at = self.silent_at(gone);
        if is_gone {
            self.abandoned = Some(Ending::Silent);
            self.state = State::Ended(Ending::Silent);
        }
    }

    fn farewell(&self, view: &View) -> bool {
        match self.state {
            State::Open => self.finishing && view.idle && view.drained,
            State::Leaving(question) => question.is_due(view) && question.tries < FAREWELLS_MOST,
            _ => false,
        }
    }

    fn confirms(&self, view: &View) -> bool {
        let asked = |question: Question| question.is_due(view) && question.tries < self.tries_most;
        self.state == State::Open && self.confirming.is_some_and(asked)
    }

    fn identifies(&self, view: &View) -> bool {
        let lives = matches!(self.state, State::Open | State::Leaving(_));
        lives && self.moving.is_some_and(|moving| moving.question.is_due(view))
    }

    /// Handles that the peer does not know where our packets come from: no sign of life, because
    /// anybody may say so.
    fn is_unknown(&mut self, view: &View) {
        if matches!(self.state, State::Open | State::Leaving(_)) && self.moving.is_none() {
            let question = Question::first(view.now.max(self.identifies_at));
            self.moving = Some(Moving { question, answered: false });
        }
    }

    /// Handles that the peer has lost the association.
    fn is_lost(&mut self) {
        let ending = match self.state {
            // It needs no answer any more.
            State::Leaving(_) => Ending::Finished,
            State::Ended(_) => return,
            _ => Ending::Reset(0),
        };
        self.state = State::Ended(self.abandoned.unwrap_or(ending));
    }

    fn grants(&self, view: &View) -> bool {
        match self.state {
            State::Granting(question, budget, _) => question.is_due(view) && budget.allows(GRANT),
            _ => false,
        }
    }

    /// Measures the opening with the packet of `octets` octets that ends it, where our request or
    /// grant was sent `tries` times.
    fn measure(&self, view: &View, octets: usize, tries: u32) -> Option<Opening> {
        // Which of several was answered is unknown. On a slow path it was the last but one; where
        // more were lost, the time since the first would tell nothing of the path.
        let [last, before] = self.said_at;
        let took = view.now.nanoseconds_since(before.or(last)?);
        // After so long, the peer may have repeated what answers it.
        let tries = if took >= self.every { tries.max(2) } else { tries };
        Some(Opening { took, tries, octets: 2 * (octets + LOWER_HEADERS), peer_delay: None })
    }

    /// Does what [`hear`](Self::hear) does.
    #[inline(never)] // nearly every packet is data of an association at rest
    fn heed(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let admitted = self.hear(view, tidings);
        self.rest();
        admitted
    }

    /// Handles signals, anything that arrives before the association is open, and the time at which
    /// the peer is to be probed.
    fn hear(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let signals = tidings.signals;
        let asks = self.probing.is_some() || self.moving.is_some();
        if signals == Signals::NONE && matches!(self.state, State::Open) && !asks {
            self.quiet_since = view.now;
            return Ok(());
        }
        if signals.has(Signals::LOST | Signals::UNKNOWN) {
            match signals.has(Signals::LOST) {
                true => self.is_lost(),
                false => self.is_unknown(view),
            }
            return Ok(());
        }
        // As long as the other side may go on asking.
        let patience =
            view.now.later((self.every << DOUBLED_MOST).saturating_mul(u64::from(self.tries_most)));
        if signals.has(Signals::OPEN) && self.state == State::Idle {
            self.state = State::Granting(Question::first(view.now), Budget::default(), patience);
        }
        if let State::Granting(question, budget, until) = &mut self.state {
            budget.heard += tidings.octets as u64;
            if signals.has(Signals::OPEN) {
                (question.at, *until) = (view.now, patience); // it was lost, or is late
            } else if signals == Signals::NONE && question.tries == 1 {
                question.at = view.now; // the sender has it: its confirmation is lost, or late
            }
            // An end, too, shows that our answer was received. What the peer sent with it is
            // delivered before it is answered: afterwards it never would be.
            let tries = question.tries;
            if signals.has(Signals::CONFIRM | Signals::END) || tidings.reports {
                self.state = State::Open;
                if signals.has(Signals::CONFIRM) {
                    self.opening = self.measure(view, GRANT, tries);
                }
            }
        }
        let was_asking = matches!(self.state, State::Asking(_));
        match self.state {
            // It was granted, and is over before we know.
            State::Asking(_) if signals.has(Signals::END) => {
                self.state = State::Ended(signals.ending().unwrap_or(Ending::Reset(0)));
                return Ok(());
            }
            State::Asking(_) if signals.has(Signals::REFUSE) => {
                self.state = State::Ended(Ending::Refused(0))
            }
            State::Asking(question) if signals.has(Signals::AGAIN) && question.tries <= 1 => {
                self.state = State::Asking(Question { at: view.now, ..question });
            }
            State::Asking(question) if signals.has(Signals::ACCEPT) => {
                self.opening = self.measure(view, tidings.octets, question.tries);
                self.state = State::Open;
                self.confirming = Some(Question::first(view.now));
            }
            State::Idle | State::Asking(_) => return Err(Dropped::NotOurs),
            _ => {}
        }
        if signals.has(Signals::ACCEPT) && !was_asking {
            self.answer = self.answer.with(Signals::CONFIRM);
        }
        if signals.has(Signals::CHALLENGE) {
            self.answer = self.answer.with(Signals::RESPOND);
            self.moving = self.moving.map(|moving| Moving { answered: true, ..moving });
        } else {
            self.moving = self.moving.filter(|moving| !moving.answered);
        }
        if matches!(self.state, State::Open) {
            // A peer that repeats what it knows did not receive our answer.
            self.answer = self
                .answer
                .with(Signals::ACCEPT.when(signals.has(Signals::OPEN)))
                .with(Signals::PRESENT.when(signals.has(Signals::PROBE)));
            self.stirs(view);
        }
        if signals.has(Signals::END) {
            self.answer = Signals::ENDED;
            self.abandoned = self.abandoned.or(signals.ending());
        }
        if signals.has(Signals::ENDED) && matches!(self.state, State::Leaving(_)) {
            self.state = State::Ended(self.abandoned.unwrap_or(Ending::Finished));
        }
        // Anything else that arrives has nowhere to go.
        if self.abandoned.is_some() && signals == Signals::NONE {
            Err(Dropped::NotOurs)
        } else {
            Ok(())
        }
    }

    /// Handles signals that left, and anything that left before the association is open.
    fn say(&mut self, view: &View, signals: Signals, octets: usize) {
        if let State::Granting(question, budget, _) = &mut self.state {
            budget.said += octets as u64;
            if signals.has(Signals::ACCEPT) {
                *question = question.asked(view.now, self.every);
            }
        }
        if signals == Signals::NONE {
            return;
        }
        if signals.has(Signals::OPEN | Signals::ACCEPT) {
            self.said_at = [Some(view.now), self.said_at[0]];
        }
        self.answer = self.answer.without(signals);
        let timeout = self.timeout(view);
        if signals.has(Signals::PROBE) {
            let wait = |tries: u32| timeout << tries.min(PROBES_MOST);
            self.probing = self.probing.map(|question| question.again(view, wait(question.tries)));
            self.looks_at = self.silent_at(self.silences(view).1);
        }
        if signals.has(Signals::IDENTIFY) {
            self.identifies_at = view.now.later(IDENTIFIED_EVERY);
            let again = self.moving.map(|Moving { question, answered }| {
                let question = question.asked(view.now, timeout.max(IDENTIFIED_EVERY));
                Moving { question, answered }
            });
            self.moving = again.filter(|moving| moving.question.tries < IDENTIFIED_MOST);
        }
        if signals.has(Signals::CONFIRM) {
            let again = self.confirming.map(|question| question.asked(view.now, self.every));
            self.confirming = again.filter(|question| question.tries < self.tries_most);
        }
        self.state = match self.state {
            State::Asking(question) if signals.has(Signals::OPEN) => {
                State::Asking(question.asked(view.now, self.every))
            }
            State::Open if signals.has(Signals::END) => {
                State::Leaving(Question::first(view.now).again(view, timeout))
            }
            State::Leaving(question) if signals.has(Signals::END) => {
                State::Leaving(question.again(view, timeout))
            }
            // A peer that leaves has all that it sent acknowledged; it takes no more of what we
            // sent.
            _ if signals.has(Signals::ENDED) => {
                let all_arrived = view.idle && view.drained;
                let ending = if all_arrived { Ending::Finished } else { Ending::Reset(0) };
                State::Ended(self.abandoned.unwrap_or(ending))
            }
            state => state,
        };
    }
}

/// The octets of an answer, and of an end, for the budget: upper bounds.
const GRANT: usize = 128;
const FAREWELL: usize = 64;

/// The octets of headers of lower layers, as in IPv4 and UDP.
const LOWER_HEADERS: usize = 28;

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
        self.idle = self.idle.min(or_never(idle));
        self.patience = self.patience.min(self.idle);
        self.looks_at = self.looks_at.min(self.silent_at(self.idle));
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
