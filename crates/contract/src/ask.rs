//! Typed questions: what the x-Kernel calls xControl.
//!
//! A question is about a name above a stack, and is answered at once. It goes down layer by layer:
//! each answers it, alters it, or passes it on under the name that it uses below. It is asked from
//! above, between two calls of handlers; a handler cannot ask, because its lower is borrowed then.
//!
//! | question | answered by |
//! | --- | --- |
//! | [`Longest`] | the layer that bounds messages; a layer that adds a header subtracts it |
//! | [`KeepsLifetimes`] | a transport whose ends agree on that |
//! | [`Peer`] | the lowest layer with associations, or one that knows better |
//! | [`RoundTrip`], [`Counters`], [`PathStatistics`] | a transport |
//! | [`HowItSends`] | a transport that changes while data flow |
//! | [`FrameTime`] | the link |
//! | [`Reserve`] | the layer that cuts messages into packets |

use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;

use stackwright_wire::Message;

use crate::services::Batch;
use crate::{Duration, Instant, NameAbove, Participant, Protocol, Service};
use crate::{PhaseRule, RuleRefusal};

/// A kind of question. Any crate may add one.
pub trait Query: 'static {
    /// What it is answered with.
    type Answer: 'static;
}

struct Asked<Q: Query> {
    query: Q,
    /// `None`: no layer has answered, or closed it.
    answer: Option<Option<Q::Answer>>,
}

/// A question of a kind that is not known.
trait Unknown {
    fn is_open(&self) -> bool;
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<Q: Query> Unknown for Asked<Q> {
    fn is_open(&self) -> bool {
        self.answer.is_none()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// A question on its way down, of any kind.
pub struct Question<'a>(&'a mut dyn Unknown);

impl Question<'_> {
    /// Returns whether no layer has answered or closed it.
    pub fn is_open(&self) -> bool {
        self.0.is_open()
    }

    /// Answers the question where it is a `Q` and still open. `None` closes it without an answer:
    /// what a layer below would say of it does not hold above.
    pub fn answer<Q: Query>(
        &mut self,
        answer: impl FnOnce(&mut Q) -> Option<Q::Answer>,
    ) -> &mut Self {
        if let Some(Asked { query, answer: open @ None }) =
            self.0.as_any().downcast_mut::<Asked<Q>>()
        {
            *open = Some(answer(query));
        }
        self
    }

    /// Alters the question where it is an open `Q`, before it is passed on.
    pub fn alter<Q: Query>(&mut self, alter: impl FnOnce(&mut Q)) -> &mut Self {
        if let Some(Asked { query, answer: None }) = self.0.as_any().downcast_mut::<Asked<Q>>() {
            alter(query);
        }
        self
    }

    /// Alters what was answered below where the question is a `Q`.
    pub fn alter_answer<Q: Query>(&mut self, alter: impl FnOnce(&mut Q::Answer)) -> &mut Self {
        if let Some(Asked { answer: Some(Some(answer)), .. }) =
            self.0.as_any().downcast_mut::<Asked<Q>>()
        {
            alter(answer);
        }
        self
    }
}

/// Answers questions about names of service `S`: the layer below, with everything below it.
pub trait Ask<S: Service> {
    /// Passes a question on.
    fn ask(&self, about: S::Name, question: &mut Question<'_>);
}

/// Asks a stack about a name above it.
///
/// ```
/// use stackwright_contract::ask::{Longest, NothingBelow, ask};
/// use stackwright_contract::{Handle, Protocol};
/// /// Returns how many octets may be sent at once.
/// fn longest<P>(stack: &P, association: Handle) -> usize
/// where
///     P: Protocol<Provides: stackwright_contract::Service<Name = Handle>>,
/// {
///     ask(stack, association, Longest, &NothingBelow).unwrap_or(0)
/// }
/// ```
pub fn ask<P: Protocol, Q: Query>(
    stack: &P,
    about: NameAbove<P>,
    query: Q,
    below: &dyn Ask<P::Uses>,
) -> Option<Q::Answer> {
    let mut asked = Asked { query, answer: None };
    stack.ask(about, &mut Question(&mut asked), below);
    asked.answer.flatten()
}

/// Passes a question on from a layer that puts a header of at most `octets` octets before each
/// message: [`Reserve`] asks for as much headroom more, and what [`Longest`] is answered with is
/// less by it.
pub fn ask_behind_header<M: Message, S: Service>(
    octets: usize,
    about: S::Name,
    question: &mut Question<'_>,
    below: &dyn Ask<S>,
) {
    if !question.is_open() {
        return; // an answer of this layer is not less by its header
    }
    question.alter::<Reserve<M>>(|reserve| reserve.headroom += octets);
    below.ask(about, question);
    question.alter_answer::<Longest>(|longest| *longest = longest.saturating_sub(octets));
}

/// Nothing is below, or what is below knows no answers.
#[derive(Clone, Copy, Debug)]
pub struct NothingBelow;

impl<S: Service> Ask<S> for NothingBelow {
    fn ask(&self, _about: S::Name, _question: &mut Question<'_>) {}
}

/// How long may a message be, in octets? `usize::MAX`: a stream has no messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Longest;

impl Query for Longest {
    type Answer = usize;
}

/// Are lifetimes kept at both ends?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepsLifetimes;

impl Query for KeepsLifetimes {
    type Answer = bool;
}

/// Which participant is at the other end?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer;

impl Query for Peer {
    type Answer = Participant;
}

/// How long is the smoothed round-trip time?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip;

impl Query for RoundTrip {
    type Answer = Duration;
}

/// How long does the link take to transmit the longest frame?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameTime;

impl Query for FrameTime {
    type Answer = Duration;
}

/// How many packets were sent and received?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters;

impl Query for Counters {
    type Answer = PacketCounts;
}

/// Packets of one association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketCounts {
    /// Sent, retransmissions included.
    pub sent: u64,
    /// Received, duplicates and those that were dropped included.
    pub received: u64,
    /// Retransmitted; `None` where the layer does not count them.
    pub retransmitted: Option<u64>,
}

/// What does the transport know of its path now, and what went wrong so far?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStatistics;

impl Query for PathStatistics {
    type Answer = PathReport;
}

/// What a transport knows of the path of one association. Times are `None` before the first
/// measurement, counts where the layer does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathReport {
    /// The smoothed round-trip time (SRTT).
    pub round_trip: Option<Duration>,
    /// The mean deviation of the round-trip time (RTTVAR).
    pub variation: Option<Duration>,
    /// The shortest round-trip time that was measured.
    pub least: Option<Duration>,
    /// The retransmission timeout (RTO).
    pub timeout: Option<Duration>,
    /// The congestion window, in octets; `None` without congestion control.
    pub window: Option<u64>,
    /// The rate at which packets leave, in octets a second; `None` where they are not paced.
    pub pace: Option<u64>,
    /// Octets that were sent and are neither acknowledged nor lost.
    pub in_flight: u64,
    /// Octets that wait to be sent for the first time, in the transport and in layers above it.
    pub waiting: u64,
    /// Octets that arrived and wait for what is missing before them, in the transport or in a layer
    /// above it.
    pub held: u64,
    /// Packets that were retransmitted.
    pub retransmitted: u64,
    /// Octets that were taken for lost.
    pub lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Retransmissions that turned out to be unnecessary: both copies arrived.
    pub spurious: Option<u64>,
    /// Packets that arrived a second time.
    pub duplicates: u64,
}

/// By which rule does a transport send, and what has it changed while data flow?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HowItSends;

impl Query for HowItSends {
    type Answer = SendingReport;
}

/// How a transport sends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SendingReport {
    /// The rule of the next message; `None` where all go by one rule.
    pub rule: Option<PhaseRule>,
    /// The last changes, ten of each kind at the most; the newest last.
    pub changes: Vec<SendingChange>,
}

/// A change of how a transport sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendingChange {
    /// When.
    pub at: Instant,
    /// What is in force since then.
    pub to: SendingPart,
    /// Why.
    pub why: ChangeReason,
}

/// What may change of how a transport sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendingPart {
    /// The rule by which messages go.
    Rule(PhaseRule),
    /// The congestion control.
    Congestion(&'static str),
}

/// Why a transport sends otherwise than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeReason {
    /// The application required it.
    Required,
    /// The peer wished it.
    Wished,
    /// The peer refused another rule.
    Refused(RuleRefusal),
    /// The path has changed.
    Path {
        /// How many of 10 000 packets are lost without a queue.
        lost: u16,
        /// The shortest round trip of late.
        round_trip: Duration,
        /// How many percent of what CUBIC would deliver BBR would, by the monitor's model.
        gain: u16,
    },
}

impl fmt::Display for SendingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            SendingPart::Rule(rule) => write!(f, "{rule}: ")?,
            SendingPart::Congestion(name) => write!(f, "{name}: ")?,
        }
        match self.why {
            ChangeReason::Required => f.write_str("the application required it"),
            ChangeReason::Wished => f.write_str("the other side wished it"),
            ChangeReason::Refused(why) => write!(f, "another rule was refused: {why}"),
            ChangeReason::Path { lost, round_trip, gain } => write!(
                f,
                "{}.{:02} % are lost without a queue at a round trip of {} ms: BBR would deliver \
                 {gain} % of what CUBIC would",
                lost / 100,
                lost % 100,
                round_trip.as_millis()
            ),
        }
    }
}

/// Asks for a send buffer in the layout in which the stack transmits: nothing of it is copied on
/// the way down then. What it holds at first is anything.
///
/// A layer that puts a header before each message adds to `headroom` and passes the question on
/// ([`ask_behind_header`]); one that cuts messages into packets answers. Without an answer, no
/// layer has a layout of its own, and any buffer with headroom will do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserve<M> {
    /// Octets of each message.
    pub len: usize,
    /// Messages, at most: the answer has at least one.
    pub count: usize,
    /// Free octets before each message, for the headers of the layers passed so far.
    pub headroom: usize,
    message: PhantomData<fn() -> M>,
}

impl<M> Reserve<M> {
    /// Asks for up to `count` messages of `len` octets.
    pub const fn new(len: usize, count: usize) -> Self {
        Reserve { len, count, headroom: 0, message: PhantomData }
    }
}

impl<M: Message> Query for Reserve<M> {
    type Answer = Batch<M>;
}
