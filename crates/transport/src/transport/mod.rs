//! Many associations as one protocol: the engine on a generated base.
//!
//! | file | what |
//! | --- | --- |
//! | `host.rs` | what a protocol specifies for its associations as a whole |
//! | `allowance.rs` | how much the layer above may hand over |
//! | `receive.rs` | a packet is received, and complete messages are delivered |
//! | `send.rs` | what an association has to say leaves |

mod allowance;
mod host;
mod receive;
mod send;

pub use host::{Crowd, Farewell, Host, Located, NewPath};

use alloc::sync::Arc;
use core::num::NonZeroU64;

use stackwright_base::features::Needs;
use stackwright_base::{Arrival, Below, Features, Hooks, Layer, Origin, Place, Stray, Unexpected};
use stackwright_contract::ask::{
    Counters, HowItSends, KeepsLifetimes, Longest, PacketCounts, PathReport, PathStatistics, Query,
    Question, Reserve, RoundTrip,
};
use stackwright_contract::services::{
    Batch, BatchMessages, Code, Credit, Datagrams, Ended, MessageProperties, PropertiesOf,
    Transfer as _,
};
use stackwright_contract::{
    Command, CommandError, Context, Duration, Facts, Handle, Instant, Participant, PathLimits,
    Trouble,
};
use stackwright_wire::{Message as _, Pool};

use crate::configuration::Configuration;
use crate::engine::{Association, Memory};
use crate::slots::{
    Congestion as _, Flow as _, Format as _, GroupCounts, Membership as _, Ordering as _,
    Rate as _, Rtt as _,
};
use crate::words::{Ending, Nanoseconds, Numbering, Phase, SECOND, Terms};
use allowance::Allowance;

/// A transport as a layer.
pub type Transport<H> = Layer<Associations<H>>;

/// The message of a host's configuration.
type MessageOf<H> = <<H as Host>::Configuration as Configuration>::Message;

/// The hooks of a transport.
pub struct Associations<H: Host> {
    host: H,
    memory: Memory<MessageOf<H>>,
    /// The longest packet, in octets.
    packet: usize,
    half_open: usize,
    /// Until when peers that arrive count as too many for the layer above.
    crowded: Instant,
}

/// For how long peers count as too many, once one had to give way.
const CROWDED: Nanoseconds = 60 * SECOND;

/// How many free blocks of packets are kept.
const BLOCKS_KEPT: usize = 256;

impl<H: Host> Associations<H> {
    /// Creates the associations of `host`.
    pub fn new(host: H) -> Self {
        let (packet, headroom) = host.packet();
        Self::sharing(host, Arc::new(Pool::new(headroom + packet, BLOCKS_KEPT)))
    }

    /// Creates the associations of `host`, whose blocks come from the pool of the stack. If its
    /// blocks are shorter than a packet and the headroom before it, memory is allocated for every
    /// packet.
    pub fn sharing(host: H, pool: Arc<Pool<MessageOf<H>>>) -> Self {
        let (packet, headroom) = host.packet();
        let memory = Memory::sharing(pool, headroom).with_runs(host.run()).limited(host.limits());
        Associations { host, memory, packet, half_open: 0, crowded: Instant::START }
    }

    /// Reserves what a layer above asked for, in the layout in which it is sent. Above a layer with
    /// a header that is one message: its header is a part of it here, and is cut with it.
    fn reserve(
        &self,
        engine: &Association<H::Configuration>,
        reserve: &Reserve<MessageOf<H>>,
    ) -> Option<Batch<MessageOf<H>>> {
        let Reserve { len, count, headroom, .. } = *reserve;
        let count = if headroom > 0 { 1 } else { count };
        let mut octets = engine.draft(headroom.checked_add(len)?, count, &self.memory)?;
        octets.advance(headroom);
        Some(Batch::new(octets, len))
    }

    /// Returns the protocol's half.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Tells the format what the layer below has told.
    fn begin(at: &mut impl Place<Self>) {
        if let Some((local, path)) = at.below() {
            let ends = Some([local, at.remote()]);
            at.association().engine.on_below(ends, path);
        }
    }

    /// Returns the number of associations that arrived and have not shown that they receive our
    /// packets.
    pub fn half_open(&self) -> usize {
        self.half_open
    }
}

/// One association, and the layer's own state of it.
pub struct HostedAssociation<H: Host> {
    engine: Association<H::Configuration>,
    key: H::Key,
    remote: Participant,
    /// The time that the timer is set to.
    armed: Instant,
    /// The longest message that the layer above takes, in octets: it has no more credit at once.
    takes: usize,
    allowance: Allowance,
    /// Whether the layer above knows that it is open.
    told: bool,
    /// Whether the layer above knows that the peer sends no more.
    heard_all: bool,
    half_open: bool,
    /// Whether all that came since the last turn were messages that were delivered as they came.
    only_messages: bool,
    /// Whether there is more credit below than when something was last sent.
    room_came: bool,
    /// The packets that left, and the packets that came.
    sent: u64,
    received: u64,
}

impl<H: Host> HostedAssociation<H> {
    /// Returns the longest message that may be sent, in octets; `usize::MAX` for a stream, which
    /// has no messages.
    fn longest(&self) -> usize {
        if H::Transfer::MESSAGES { self.engine.slots().format.longest() } else { usize::MAX }
    }
}

/// Asks how many members the group of an association has: a question that an association with one
/// peer does not answer.
#[derive(Clone, Copy, Debug)]
pub struct GroupMembers;

impl Query for GroupMembers {
    type Answer = GroupCounts;
}

/// Returns a time that was measured, unless nothing was.
fn measured(nanoseconds: Nanoseconds) -> Option<Duration> {
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

fn path_report<C: Configuration>(engine: &Association<C>) -> PathReport {
    let (slots, counts) = (engine.slots(), engine.counts());
    let (rtt, window) = (slots.rtt.estimate(), slots.congestion.window());
    let round_trip = measured(rtt.smoothed);
    PathReport {
        round_trip,
        variation: round_trip.map(|_| Duration::from_nanos(rtt.variation)),
        least: measured(rtt.least),
        timeout: measured(rtt.timeout),
        window: Some(window).filter(|window| *window < u64::MAX),
        pace: slots.rate.pace().or_else(|| slots.congestion.pace()).map(NonZeroU64::get),
        in_flight: engine.sending().in_flight(),
        waiting: engine.sending().waiting_octets() as u64,
        held: slots.ordering.early() as u64,
        retransmitted: counts.retransmitted,
        lost: counts.lost,
        timeouts: counts.timeouts,
        spurious: None,
        duplicates: counts.duplicates,
    }
}

impl<H: Host> Hooks for Associations<H> {
    type Features = Features<MessageOf<H>>;
    type Provides = H::Transfer;
    type Uses = Datagrams<MessageOf<H>>;
    type Header = Located<H>;
    type Key = H::Key;
    type PassiveKey = H::PassiveKey;
    type Association = HostedAssociation<H>;
    type Timer = ();

    const FACTS: Facts = H::FACTS;
    const REFUSES: bool = H::REFUSES;
    const AWAITS: usize = H::AWAITS;
    const SPREADS: bool = H::SPREADS;
    const SORTS: bool = H::SORTS;
    const NEEDS: Needs = Needs { opening: true, listening: true, sessions: true, timers: true };

    fn facts(&self) -> Facts {
        self.host.facts()
    }

    fn first_room(&self) -> Credit {
        Allowance::first::<H>(self.host.room())
    }

    fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<H::Key>, Ended> {
        if !self.memory.budget.admits() {
            return Err(Ended::Unavailable);
        }
        self.host.open(cx, name, local, remote)
    }

    fn ends(session: &HostedAssociation<H>, below: [Participant; 2]) -> [Participant; 2] {
        H::ends(&session.key, below)
    }

    fn listen(
        &mut self,
        cx: &Context,
        local: Participant,
        is_taken: impl Fn(Participant, &H::PassiveKey) -> bool,
    ) -> Result<(Participant, H::PassiveKey), Ended> {
        self.host.listen(cx, local, is_taken)
    }

    fn hears() -> Option<Participant> {
        H::hears()
    }

    fn listens_at(key: &H::PassiveKey, below: Participant) -> Participant {
        H::listens_at(key, below)
    }

    fn passive_key(header: &Located<H>) -> H::PassiveKey {
        H::passive_key(&header.key)
    }

    fn quoted(octets: &[u8; 8]) -> Option<H::Key> {
        H::quoted(octets)
    }

    #[inline]
    fn urgency(session: &HostedAssociation<H>) -> u8 {
        session.engine.priority()
    }

    fn free_key(&mut self, key: H::Key, is_taken: impl Fn(&H::Key) -> bool) -> Option<H::Key> {
        self.host.free_key(key, is_taken)
    }

    #[inline]
    fn key(header: &Located<H>) -> H::Key {
        header.key.clone()
    }

    #[inline(always)]
    fn named(header: &Located<H>) -> Option<Handle> {
        H::named(&header.key)
    }

    fn arrival(
        &mut self,
        cx: &Context,
        ends: (Participant, Participant),
        header: &Located<H>,
        packet: &mut MessageOf<H>,
    ) -> Arrival<MessageOf<H>> {
        if !self.memory.budget.admits() {
            return self.host.refuse(packet);
        }
        let crowd = Crowd { half_open: self.half_open, gives_way: cx.now() < self.crowded };
        self.host.arrival(cx, ends, &header.key, packet, crowd)
    }

    fn stranger_heard(session: &HostedAssociation<H>) -> Option<Instant> {
        session.half_open.then(|| session.engine.stranger_heard()).flatten()
    }

    fn give_way(&mut self, at: &mut impl Place<Self>) {
        self.crowded = at.cx().now().later(CROWDED);
        self.say_farewell(at, Ending::Silent);
        at.end(Ended::Expired);
    }

    fn refuse(
        &mut self,
        cx: &Context,
        ends: (Participant, Participant),
        header: &Located<H>,
        packet: &mut MessageOf<H>,
        why: Unexpected,
    ) -> Option<MessageOf<H>> {
        self.host.unawaited(cx, ends, &header.key, packet, why)
    }

    fn stray(
        &mut self,
        cx: &Context,
        remote: Participant,
        header: &Located<H>,
        packet: &mut MessageOf<H>,
    ) -> Stray<MessageOf<H>> {
        self.host.stray(cx, remote, &header.key, packet)
    }

    fn locator(session: &HostedAssociation<H>) -> Option<u64> {
        Some(session.engine.slots().format.locator())
    }

    fn moved(&mut self, at: &mut impl Place<Self>, from: Participant) {
        let (to, now) = (at.remote(), at.cx().now());
        at.association().remote = to;
        let key = at.association().key.clone();
        let locator = at.association().engine.slots().format.locator();
        let path = self.host.moved(at.cx(), &key, locator, from, to);
        at.association().engine.on_moved(now, path);
        at.later();
    }

    fn create(
        &mut self,
        cx: &Context,
        name: Handle,
        key: &H::Key,
        remote: Participant,
        origin: Origin,
        credit: Credit,
    ) -> HostedAssociation<H> {
        let slots = self.host.create(cx, name, key, remote, origin, credit);
        let mut engine = Association::sharing(slots, &self.memory);
        engine.set_priority(self.host.priority());
        let arrived = origin == Origin::Arrived;
        self.half_open += usize::from(arrived);
        HostedAssociation {
            engine,
            key: key.clone(),
            remote,
            armed: Instant::END,
            takes: credit.octets,
            allowance: Allowance::new::<H>(self.host.room()),
            told: false,
            heard_all: false,
            half_open: arrived,
            only_messages: false,
            room_came: false,
            sent: 0,
            received: 0,
        }
    }

    fn opened(&mut self, at: &mut impl Place<Self>) -> bool {
        Self::begin(at);
        let now = at.cx().now();
        at.association().engine.open(now);
        at.later();
        false
    }

    /// The layer above is told later: what the peer takes is known behind its first packet.
    fn arrived(&mut self, at: &mut impl Place<Self>) {
        Self::begin(at);
    }

    fn changed(&mut self, at: &mut impl Place<Self>, below: PathLimits) {
        at.association().engine.on_below(None, below);
        at.later();
    }

    fn reported(
        &mut self,
        at: &mut impl Place<Self>,
        by: Participant,
        what: Trouble,
        quoted: &[u8; 8],
    ) {
        let (now, below) = (at.cx().now(), at.below());
        let engine = &mut at.association().engine;
        if !engine.on_trouble(now, what, quoted) {
            return at
                .cx()
                .dropped(H::FACTS.name, "a report of trouble with what is not in flight");
        }
        if let (Trouble::TooLong { longest: longest @ 1.. }, Some((_, path))) = (what, below) {
            engine.on_below(None, PathLimits { longest: longest.min(path.longest), ..path });
        }
        at.report(by, what, *quoted);
        self.conclude(at);
        at.later();
    }

    fn gone(&mut self, session: HostedAssociation<H>) {
        self.half_open -= usize::from(session.half_open);
        let locator = session.engine.slots().format.locator();
        self.host.gone(session.key, session.remote, locator);
    }

    #[inline]
    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<H>,
        properties: PropertiesOf<H::Transfer>,
    ) {
        let now = at.cx().now();
        let session = at.association();
        session.allowance.on_sent(message.len());
        let properties: MessageProperties = properties.into();
        if H::SORTS {
            let usual = properties.priority == MessageProperties::default().priority;
            let priority = if usual { self.host.priority() } else { properties.priority };
            session.engine.set_priority(priority);
        }
        match session.engine.send(now, message, properties, &self.memory) {
            Ok(()) => {}
            // The layer above was told what a message may be: it is lost, and so is the rest.
            Err(_) => {
                let session = at.association();
                let longest = u32::try_from(session.longest()).unwrap_or(u32::MAX);
                session.engine.give_up(now, Ending::TooLong(longest));
                Self::deliver(at);
            }
        }
        at.later();
    }

    fn push_batch(
        &mut self,
        at: &mut impl Place<Self>,
        messages: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Transfer>,
    ) -> Result<(), Batch<MessageOf<H>>> {
        // Messages with properties of their own wait and leave one by one.
        if properties != PropertiesOf::<H::Transfer>::default() {
            return Err(messages);
        }
        let now = at.cx().now();
        let session = at.association();
        session.allowance.on_sent(messages.longest());
        session.engine.send_batch(now, messages)?;
        at.later();
        Ok(())
    }

    #[inline]
    fn pop(&mut self, at: &mut impl Place<Self>, header: Located<H>, packet: MessageOf<H>) {
        self.receive(at, &header, packet, None);
    }

    #[inline]
    fn pop_batch(
        &mut self,
        at: &mut impl Place<Self>,
        header: Located<H>,
        packet: MessageOf<H>,
        behind: &mut BatchMessages<MessageOf<H>>,
    ) {
        self.receive(at, &header, packet, Some(behind));
    }

    /// Returns the format's longest message as the limit, whatever the path below takes: a message
    /// is cut into as many packets as it needs.
    fn path(session: &HostedAssociation<H>, below: PathLimits) -> PathLimits {
        let longest = PathLimits::of_longest(session.longest());
        let empty = session.engine.slots().format.numbering() != Numbering::Octets;
        PathLimits { frame_time: below.frame_time, empty, ..longest }
    }

    fn has_parted(session: &HostedAssociation<H>) -> bool {
        session.engine.has_parted()
    }

    fn ask(&self, session: &HostedAssociation<H>, question: &mut Question<'_>) {
        let engine = &session.engine;
        question
            .answer::<Longest>(|_| Some(session.longest()))
            .answer::<KeepsLifetimes>(|_| Some(engine.slots().format.expires()))
            .answer::<RoundTrip>(|_| measured(engine.slots().rtt.estimate().smoothed))
            .answer::<Counters>(|_| {
                let (sent, received) = (session.sent, session.received);
                let retransmitted = Some(engine.counts().retransmitted);
                Some(PacketCounts { sent, received, retransmitted })
            })
            .answer::<PathStatistics>(|_| Some(path_report(engine)))
            .answer::<HowItSends>(|_| engine.how_it_sends())
            .answer::<GroupMembers>(|_| engine.slots().membership.counts())
            .answer::<Reserve<MessageOf<H>>>(|reserve| self.reserve(engine, reserve));
    }

    #[inline]
    fn popped(&mut self, at: &mut impl Place<Self>) {
        self.turn(at);
    }

    fn room(&mut self, at: &mut impl Place<Self>) {
        // If nothing waits for credit, nothing has changed.
        if at.association().engine.inbox() > 0 {
            // The end may have waited for what is delivered now.
            at.association().only_messages = false;
            self.turn(at);
        }
        if at.association().engine.slots().flow.heeds_room() {
            at.later();
        }
    }

    fn room_came(&mut self, at: &mut impl Place<Self>) {
        at.association().room_came = true;
        at.later();
    }

    fn batch(&mut self, at: &mut impl Place<Self>) {
        self.speak(at);
    }

    fn expired(&mut self, at: &mut impl Place<Self>, (): ()) {
        let now = at.cx().now();
        let session = at.association();
        session.armed = Instant::END;
        session.engine.handle_timeout(now);
        at.later();
    }

    fn control(
        &mut self,
        at: &mut impl Place<Self>,
        command: Command,
    ) -> Option<Result<u32, CommandError>> {
        at.later();
        let now = at.cx().now();
        let engine = &mut at.association().engine;
        let is_done = match command {
            Command::Require(rule) => return engine.require(now, rule),
            Command::Wish(rule) => return engine.wish(now, rule),
            Command::Phase(phase) => Some(engine.enter(phase)),
            _ => Terms::of(command).map(|terms| engine.set_terms(terms)),
        };
        engine.in_turn(Some(match is_done {
            Some(true) => Ok(0),
            Some(false) => Err(CommandError::Declined),
            None => Err(CommandError::Unknown),
        }))
    }

    fn finish(&mut self, at: &mut impl Place<Self>) {
        // Messages have no half close.
        if !H::Transfer::MESSAGES {
            at.association().engine.finish();
            at.later();
        }
    }

    fn abort(&mut self, at: &mut impl Place<Self>, code: Code) -> bool {
        let now = at.cx().now();
        let session = at.association();
        if matches!(session.engine.phase(now), Phase::Idle | Phase::Opening) {
            return true;
        }
        session.engine.abort(now, code);
        Self::deliver(at);
        at.later();
        false
    }

    fn close(&mut self, at: &mut impl Place<Self>) -> bool {
        let now = at.cx().now();
        let session = at.association();
        if matches!(session.engine.phase(now), Phase::Idle | Phase::Opening) {
            return true;
        }
        session.engine.close();
        session.engine.hurry(now);
        Self::deliver(at);
        at.later();
        false
    }
}
