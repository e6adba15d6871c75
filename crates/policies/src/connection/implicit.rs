//! The policy without an exchange before data: the first packet opens, and closed halves close.

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::{Connection, PacketInfo};
use stackwright_transport::words::{
    Dropped, Ending, MILLISECOND, Nanoseconds, Occasion, Opening, Phase, SECOND, Signals, View,
};

use super::halves::Halves;

/// How often an abort is sent, at most: nothing answers it.
const ABORTS_MOST: u32 = 8;

/// How often an end is said again, at most, to a peer that cannot ask for it.
const ENDS_MOST: u32 = 5;

/// How often the wait before it is sent again is doubled, at most.
const DOUBLED_MOST: u32 = 3;

/// How often the side that opened leaves it to the other one to say that it is over.
const YIELDS_MOST: u32 = 2;

/// Opens with the first packet (XTP's FIRST), and waits for no answer. It has data in it if the
/// layer above sends some within a millisecond.
///
/// Each side closes its half with its last data (WCLOSE), or later, and is told that all has
/// arrived (RCLOSE). Where both halves are closed, it is over (END). A side that also takes no more
/// says so with its half, and closes both in one round trip (XTP §5, *abbreviated*): the other one
/// has all of that, says the same, and that it is over. An end that closes no half is an abort: it
/// is sent several times, and whenever something arrives, because nothing answers it.
///
/// The inquiries of the inquiry slot carry the signals.
///
/// Who says last that it is over has to answer a peer that did not hear it. At the side that was
/// opened the protocol does so ([`Host::bury`]), and the association is gone. The side that opened
/// therefore leaves the last word to it, as long as it answers; otherwise it lingers.
///
/// [`Host::bury`]: stackwright_transport::Host::bury
///
/// Choose it for short exchanges. The side that answers knows nothing of the one that asks: a
/// listener bounds what one peer may cost.
///
/// ```
/// use stackwright_policies::connection::Implicit;
/// use stackwright_transport::slots::Connection;
/// assert!(!Implicit::new(60_000_000_000).may_send(1), "no peer has asked for it");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Implicit {
    state: State,
    linger: Nanoseconds,
    /// How often this side, which opened, has to tell the other one yet that nothing is missing
    /// before it says that it is over; none: it was opened.
    yields: Option<u32>,
    /// Whether `OPEN` has left; and when it leaves without data.
    called: bool,
    opens_at: Instant,
    /// What the first packet, which opened, and its answer show of the path.
    opening: Option<FirstExchange>,
    /// Whether the first data that is followed by none closes this half.
    single: bool,
    /// Whether a peer that opens has to show that it hears us.
    validates: bool,
    /// The octets that a peer has sent that has not shown it, and those that it was sent.
    stranger: Option<(u64, u64)>,
    /// Whether the peer does not know yet that we hear it (`ACCEPT`), and so can say little.
    waited_for: bool,
    /// When such a peer is told so again, or the end is said again to it; and how often the end was
    /// said.
    again: (Instant, u32),
    /// When something was last received.
    heard: Instant,
    /// Up to which number the peer has taken our data while they wait for it though this side takes
    /// no more, and since when.
    stands: Option<(u64, Instant)>,
    halves: Halves,
}

/// How many times as much as it has sent a peer is sent before it shows that it hears us: the
/// address that it sends from may be another's.
const AMPLIFIED_MOST: u64 = 3;

/// The octets of headers that a packet has at most, besides its data.
const HEADERS: u64 = 128;

/// How long a peer may be silent that has not shown that it hears us: a genuine one repeats itself.
const STRANGE_MOST: Nanoseconds = 60 * SECOND;

/// How long the first packet waits for data: a layer above that sends at once is told before that
/// the association is open.
const DATA_WAIT: Nanoseconds = MILLISECOND;

/// How long a side that takes no more waits for a peer that answers and takes nothing: no
/// application is left that could give up.
const STANDSTILL_MOST: Nanoseconds = 600 * SECOND;

/// The first packet of the side that opens, and what came of it.
#[derive(Clone, Copy, Debug)]
enum FirstExchange {
    /// It left at `at`, with `octets` octets; from `again` on, an answer is overdue, and what opens
    /// once more is another try.
    Asked { at: Instant, octets: usize, again: Instant, tries: u32 },
    /// It was answered.
    Answered(Opening),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    /// We opened, and have received nothing.
    Calling,
    Active,
    /// We have said that it is over, and say it again until then.
    Lingering(Instant, Ending),
    /// We say that it is over at once, again at this time; the count is of the attempts before.
    Aborting(Instant, u32, Ending),
    Ended(Ending),
}

impl Implicit {
    /// Lets the side that opened answer for `linger` if it has the last word: longer than the other
    /// side's timeout.
    pub const fn new(linger: Nanoseconds) -> Self {
        Implicit {
            state: State::Idle,
            linger,
            yields: None,
            called: false,
            opens_at: Instant::END,
            opening: None,
            single: false,
            validates: false,
            stranger: None,
            waited_for: false,
            again: (Instant::END, 0),
            heard: Instant::START,
            stands: None,
            halves: Halves::OPEN,
        }
    }

    /// Lets each side say one thing: its half is closed with its first data behind which nothing
    /// waits (XTP's transaction).
    #[must_use]
    pub const fn single(self) -> Self {
        Implicit { single: true, ..self }
    }

    /// Sends a peer that opens at most three times as many octets as came from it before it shows
    /// that it hears us (`CONFIRM`). The first answer says `ACCEPT`, and asks.
    #[must_use]
    pub const fn validating(self) -> Self {
        Implicit { validates: true, ..self }
    }

    /// Returns whether a peer that has not shown that it hears us may be sent `octets` octets more.
    fn trusts(&self, octets: u64) -> bool {
        self.stranger.is_none_or(|(heard, said)| said + octets < AMPLIFIED_MOST * heard)
    }

    /// Returns when a peer counts as gone that has not shown that it hears us: what waits may be
    /// longer than it may be sent, and then nothing else has a deadline. One that is told nothing
    /// may pause.
    fn forsaken_at(&self) -> Instant {
        match self.stranger {
            Some((_, said)) if said > 0 || !self.trusts(HEADERS) => self.heard.later(STRANGE_MOST),
            _ => Instant::END,
        }
    }

    /// Returns when a peer counts as gone that takes nothing of what waits for it.
    fn stands_until(&self) -> Instant {
        self.stands.map_or(Instant::END, |(_, since)| since.later(STANDSTILL_MOST))
    }

    /// Notes that the end was said. A peer that can say little may not be able to ask for it.
    fn say_again(&mut self, view: &View) {
        let (_, tries) = self.again;
        let at = view.now.later(view.rtt.timeout << tries.min(DOUBLED_MOST));
        let ends = !self.waited_for || tries >= ENDS_MOST;
        self.again = (if ends { Instant::END } else { at }, tries + 1);
    }

    /// Returns whether the peer opened, and was told nothing yet.
    fn introduces(&self) -> bool {
        matches!(self.stranger, Some((_, 0)))
    }

    /// Returns whether the peer is told again that we hear it.
    fn assures(&self, view: &View) -> bool {
        self.state == State::Active && self.again.0 <= view.now
    }

    /// Returns whether all data that we have to send has left, with what leaves now.
    fn has_said_all(&self, view: &View, occasion: Occasion) -> bool {
        let lone = matches!(occasion, Occasion::Unit { lone: true, .. });
        matches!(self.state, State::Calling | State::Active)
            && (self.halves.has_said_all(view)
                || lone && (self.single || self.halves.is_finishing()))
    }

    /// Returns whether nothing is missing here, and the peer takes no more.
    fn is_over(&self, view: &View) -> bool {
        self.halves.has_all(view) && self.halves.they_stop()
    }

    /// Returns whether it is over, and the other side is not left to say so.
    fn has_last_word(&self, view: &View) -> bool {
        self.is_over(view) && matches!(self.yields, None | Some(0))
    }

    /// Returns whether the other side has to be told at once that nothing is missing here.
    fn tells_over(&self, view: &View) -> bool {
        self.is_over(view) && matches!(self.yields, None | Some(YIELDS_MOST))
    }

    fn aborts(&self, view: &View) -> bool {
        let most = self.aborts_most();
        matches!(self.state, State::Aborting(at, tries, _) if at <= view.now && tries < most)
    }

    /// Returns how often an abort is sent: to one whose address may be another's once, and what
    /// comes of it later is answered by the protocol.
    const fn aborts_most(&self) -> u32 {
        if self.stranger.is_some() { 1 } else { ABORTS_MOST }
    }
}

impl Connection for Implicit {
    fn open(&mut self, view: &View) {
        (self.state, self.opens_at) = (State::Calling, view.now.later(DATA_WAIT));
        self.yields = Some(YIELDS_MOST);
    }

    fn finish(&mut self) {
        self.halves.finish();
    }

    fn stop(&mut self, _: bool) {
        self.halves.stop();
    }

    fn on_time(&mut self, view: &View) {
        let gone_at = self.forsaken_at().min(self.stands_until());
        if self.state == State::Active && gone_at <= view.now {
            // If nothing is missing on either side, only its last word is.
            let has_all = self.halves.has_all(view) && view.idle && view.drained;
            self.state = State::Ended(if has_all { Ending::Finished } else { Ending::Silent });
        }
    }

    fn abandon(&mut self, view: &View, why: Ending) -> bool {
        let tells = matches!(self.state, State::Calling | State::Active);
        if tells {
            self.state = State::Aborting(view.now, 0, why);
        }
        tells
    }

    fn heard_all(&self, view: &View) -> bool {
        self.halves.has_all(view)
    }

    fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> {
        let signals = tidings.signals;
        match self.state {
            State::Idle if !signals.has(Signals::OPEN) => return Err(Dropped::NotOurs),
            // A late copy of an opening that was answered may be refused: that ends nothing.
            State::Calling if signals.has(Signals::REFUSE) => {
                self.state = State::Ended(Ending::Refused(signals.code()));
                return Ok(());
            }
            _ if signals.has(Signals::REFUSE) => return Err(Dropped::NotOurs),
            State::Aborting(_, tries, why) => {
                // The peer does not know that it is over, or it does.
                let over = signals.has(Signals::END);
                self.state =
                    if over { State::Ended(why) } else { State::Aborting(view.now, tries, why) };
                return Err(Dropped::NotOurs);
            }
            State::Idle => {
                (self.state, self.stranger) = (State::Active, self.validates.then_some((0, 0)));
            }
            State::Calling => {
                self.state = State::Active;
                if let Some(FirstExchange::Asked { at, octets, tries, .. }) = self.opening {
                    let (took, octets) = (view.now.nanoseconds_since(at), octets + tidings.octets);
                    let opening = Opening { took, tries, octets, peer_delay: None };
                    self.opening = Some(FirstExchange::Answered(opening));
                }
            }
            _ => {}
        }
        let waits = signals.has(Signals::ACCEPT);
        if self.state == State::Active && waits != self.waited_for {
            // What tells it that we hear it may be lost, and it may say no more before it knows.
            self.again.0 = if waits { view.now.later(view.rtt.timeout) } else { Instant::END };
        }
        (self.heard, self.waited_for) = (view.now, waits);
        let waits_for_room = self.halves.is_stopping() && !view.drained;
        let since = |(upto, since)| if upto == view.settled_upto { since } else { view.now };
        self.stands =
            waits_for_room.then(|| (view.settled_upto, self.stands.map_or(view.now, since)));
        self.stranger = match self.stranger {
            Some((heard, said)) if !signals.has(Signals::CONFIRM) => {
                Some((heard + tidings.octets as u64, said))
            }
            _ => None,
        };
        self.halves.on_heard(tidings);
        if signals.has(Signals::END) {
            // A side that closes its half with the end has all data that we sent, if we have said
            // that there is no more.
            let closes = signals.has(Signals::FINISH) && self.halves.is_finishing();
            let reset = || signals.ending().unwrap_or(Ending::Reset(signals.code()));
            let ending = if closes { Ending::Finished } else { reset() };
            self.state = match self.state {
                State::Active => State::Ended(ending),
                State::Lingering(_, ending) => State::Ended(ending),
                state => state,
            };
        }
        Ok(())
    }

    fn may_send(&self, octets: usize) -> bool {
        // Data that waits asks, or else the introduction does: not both wait, one for the other.
        let before = if octets > 0 && self.introduces() { HEADERS } else { 0 };
        matches!(self.state, State::Calling | State::Active)
            && self.trusts(before + octets as u64 + HEADERS)
    }

    fn signals(&self, view: &View, occasion: Occasion) -> Signals {
        if let State::Aborting(.., why) = self.state {
            return Signals::end(why).when(self.aborts(view));
        }
        let (over, said_all) = (self.is_over(view), self.has_said_all(view, occasion));
        let stops = self.halves.has_all(view) || said_all && self.halves.is_stopping();
        Signals::OPEN
            .when(self.state == State::Calling)
            .with(Signals::ACCEPT.when(self.introduces()))
            .with(Signals::CONFIRM.when(self.assures(view)))
            .with(Signals::FINISH.when(over || said_all))
            .with(Signals::STOP.when(stops))
            .with(Signals::END.when(self.has_last_word(view)))
    }

    fn due(&self, view: &View) -> bool {
        match self.state {
            State::Calling => !self.called && self.opens_at <= view.now || self.halves.due(view),
            State::Active => {
                self.trusts(0)
                    && (self.introduces()
                        || self.assures(view)
                        || self.tells_over(view)
                        || self.halves.due(view))
            }
            State::Lingering(..) => self.again.0 <= view.now,
            _ => self.aborts(view),
        }
    }

    fn on_said(&mut self, view: &View, signals: Signals, octets: usize) {
        if let Some((_, said)) = &mut self.stranger {
            *said += octets as u64;
        }
        if self.state == State::Calling && signals.has(Signals::OPEN) {
            self.called = true;
            let again = view.now.later(view.rtt.timeout);
            let first = FirstExchange::Asked { at: view.now, octets, again, tries: 1 };
            if let FirstExchange::Asked { again, tries, .. } = self.opening.get_or_insert(first)
                && *again <= view.now
            {
                (*again, *tries) = (view.now.later(view.rtt.timeout), *tries + 1);
            }
        }
        if signals.has(Signals::CONFIRM) {
            self.again.0 = Instant::END; // the inquiry insists
        }
        if signals.has(Signals::FINISH) && matches!(self.state, State::Calling | State::Active) {
            self.halves.finish(); // what is single has finished
            if self.is_over(view)
                && let Some(yields) = &mut self.yields
            {
                *yields = yields.saturating_sub(1);
                self.halves.stop(); // an end answers that, as long as it is left to the peer
            }
            self.halves.on_finish_said(view, view.rtt.timeout);
        }
        if !signals.has(Signals::END) {
            return;
        }
        self.state = match self.state {
            State::Active => {
                let ending =
                    if view.idle && view.drained { Ending::Finished } else { Ending::Reset(0) };
                self.say_again(view);
                let linger = if self.yields.is_some() { self.linger } else { 0 };
                State::Lingering(view.now.later(linger), ending)
            }
            State::Lingering(..) => {
                self.say_again(view);
                self.state
            }
            State::Aborting(_, tries, why) => {
                let wait = view.rtt.timeout << tries.min(DOUBLED_MOST);
                State::Aborting(view.now.later(wait), tries + 1, why)
            }
            state => state,
        };
    }

    fn take_opening(&mut self) -> Option<Opening> {
        match self.opening {
            Some(FirstExchange::Answered(opening)) => {
                self.opening = None;
                Some(opening)
            }
            _ => None,
        }
    }

    fn is_stranger(&self) -> bool {
        self.stranger.is_some() && !matches!(self.state, State::Aborting(..))
    }

    fn heard(&self) -> Instant {
        self.heard
    }

    fn has_parted(&self) -> bool {
        matches!(self.state, State::Lingering(..) | State::Aborting(_, 1.., _))
    }

    fn phase(&self, view: &View) -> Phase {
        match self.state {
            State::Idle => Phase::Idle,
            State::Lingering(until, ending) if until <= view.now => Phase::Ended(ending),
            State::Aborting(at, tries, why) if at <= view.now && tries >= self.aborts_most() => {
                Phase::Ended(why)
            }
            State::Calling | State::Active | State::Lingering(..) | State::Aborting(..) => {
                Phase::Open
            }
            State::Ended(ending) => Phase::Ended(ending),
        }
    }

    fn deadline(&self) -> Instant {
        match self.state {
            State::Aborting(at, ..) => at,
            State::Lingering(at, _) => at.min(self.again.0),
            State::Calling if !self.called => self.opens_at.min(self.halves.deadline()),
            State::Calling => self.halves.deadline(),
            State::Active if self.trusts(0) => {
                let gone_at = self.forsaken_at().min(self.stands_until());
                self.halves.deadline().min(self.again.0).min(gone_at)
            }
            State::Active => self.forsaken_at(),
            _ => Instant::END,
        }
    }
}

component! {
    Implicit: "connection implicit", "opens with the first packet",
    // Inquiries carry and repeat its signals; and it is over only when nothing is missing.
    needs: Property::SIGNALS.and(Property::ASKS),
    needs_one_of: Property::REPEATS.and(Property::FORGIVES),
    shuns: Property::EXPIRES,
}
