//! Many associations as one protocol: the engine on a generated base.

use alloc::rc::Rc;
use core::mem;

use stackwright_base::features::Needs;
use stackwright_base::map::Key;
use stackwright_base::{Arrival, Envelope, Features, Hooks, Layer, Origin, Place};
use stackwright_contract::ask::{Counters, Longest, PacketCounts, Question, Reserve, RoundTrip};
use stackwright_contract::services::{Batch, BatchMessages, Credit, Ecn, Ended, MessageProperties};
use stackwright_contract::{Context, Duration, Facts, Instant, Participant, PathLimits};
use stackwright_wire::{Malformed, Message as _, Pool};

use crate::configuration::{Configuration, FrontOf, Slots};
use crate::engine::{Association, Delivery, Memory};
use crate::limits::Limits;
use crate::slots::{Format as _, Front as _, Rtt as _};
use crate::words::{Dropped, Ending, MILLISECOND, Phase};

/// A transport as a layer.
pub type Transport<H> = Layer<Associations<H>>;

/// The message of a host's configuration.
type MessageOf<H> = <<H as Host>::Configuration as Configuration>::Message;

/// Room for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

/// What a protocol says of its associations as a whole: the half of its format that has no association yet.
pub trait Host: Sized + 'static {
    /// What it selected.
    type Configuration: Configuration;
    /// Tells an association from the others with the same peer.
    type Key: Key + Default;

    /// What the rule book of stacks has to know of it.
    const FACTS: Facts;

    /// Whose packet this is, whose front was read. There may be no association, and no trust is spent on it.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn locate(
        front: &FrontOf<Self::Configuration>,
        packet: &mut MessageOf<Self>,
    ) -> Result<Self::Key, Malformed>;

    /// The layer above wants an association with `remote`: which key has it?
    ///
    /// # Errors
    /// Why there cannot be one.
    fn open(&mut self, cx: &Context, remote: Participant) -> Result<Self::Key, Ended>;

    /// A packet came whose key nobody has, while somebody listens and `half_open` others have not shown that they hear us.
    fn arrival(
        &mut self,
        cx: &Context,
        remote: Participant,
        key: &Self::Key,
        packet: &mut MessageOf<Self>,
        half_open: usize,
    ) -> Arrival<MessageOf<Self>>;

    /// The same, where there is no memory for another association.
    fn refuse(&mut self, packet: &mut MessageOf<Self>) -> Arrival<MessageOf<Self>> {
        let _ = packet;
        Arrival::Ignored("no memory for another association")
    }

    /// What all associations may hold together.
    fn limits(&self) -> Limits {
        Limits::NONE
    }

    /// The policies of a new association.
    fn create(
        &mut self,
        cx: &Context,
        key: &Self::Key,
        remote: Participant,
        origin: Origin,
    ) -> Slots<Self::Configuration>;

    /// An association is gone: its key is free.
    fn gone(&mut self, key: Self::Key, remote: Participant);

    /// How much of the layer above may be on its way down on one association.
    fn room(&self) -> Credit;

    /// The longest packet, in octets, and the header room that the layers below need.
    fn packet(&self) -> (usize, usize);

    /// How many octets of packets are written one behind the other, at most, for a driver that sends them by one system call; 0:
    /// each has memory of its own.
    fn run(&self) -> usize {
        0
    }
}

/// The hooks of a transport.
pub struct Associations<H: Host> {
    host: H,
    memory: Memory<MessageOf<H>>,
    /// The longest packet, in octets.
    packet: usize,
    half_open: usize,
}

/// How many blocks of packets are kept for those to come.
const BLOCKS_KEPT: usize = 256;

impl<H: Host> Associations<H> {
    /// Those of `host`.
    pub fn new(host: H) -> Self {
        let (packet, headroom) = host.packet();
        Self::sharing(host, Rc::new(Pool::new(headroom + packet, BLOCKS_KEPT)))
    }

    /// Those of `host`, whose blocks come from the pool of the stack. Where its blocks are shorter than a packet and the headroom
    /// before it, memory is asked for with every packet.
    pub fn sharing(host: H, pool: Rc<Pool<MessageOf<H>>>) -> Self {
        let (packet, headroom) = host.packet();
        let memory = Memory::sharing(pool, headroom).with_runs(host.run()).limited(host.limits());
        Associations { host, memory, packet, half_open: 0 }
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

    /// The protocol's half.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// How many associations arrived that have not shown that they hear us.
    pub fn half_open(&self) -> usize {
        self.half_open
    }

    /// All that the association has to say, as far as there is room below; and when it wants to be woken.
    fn speak(&mut self, at: &mut impl Place<Self>) {
        let now = at.cx().now();
        // Where only room is missing, that wakes it: other deadlines are then looked at now and again.
        let mut least = now;
        while at.association().engine.may_transmit(now) {
            let (room, most) = (at.room_below(), at.room_below_most());
            let session = at.association();
            // More came, and this is all: a long wait is worse than a copy.
            let waits = !session.room_came && session.engine.waits_for_room(now, room, most);
            if room.messages == 0 || room.octets < self.packet || waits {
                at.wants_room();
                least = now.later(MILLISECOND);
                break;
            }
            session.room_came = false;
            let Some(packets) = session.engine.transmit(now, &mut self.memory, room) else { break };
            session.sent += packets.count() as u64;
            Self::bear(at);
            at.send_batch(packets);
        }
        debug_assert!(
            at.association().engine.may_transmit(now)
                || at.association().engine.is_silent(now, &mut self.memory),
            "an association that has something to say may say it"
        );
        let released = at.association().engine.released();
        if released != Credit::default() {
            at.give_room(released);
        }
        self.conclude(at);
        Self::arm(at, least);
    }

    /// Sees to it that the association is woken when it wants to be, but not before `least`.
    #[inline]
    fn arm(at: &mut impl Place<Self>, least: Instant) {
        let now = at.cx().now();
        if let Some(deadline) = at.association().engine.next_deadline(now) {
            Self::arm_at(at, deadline.max(least));
        }
    }

    /// The same, of a time. A later one waits for the timer that is set: it looks again.
    #[inline]
    fn arm_at(at: &mut impl Place<Self>, deadline: Instant) {
        let session = at.association();
        if deadline < session.armed {
            session.armed = deadline;
            at.wake((), deadline);
        }
    }

    /// Something came, or there is room above. Where it has nothing to say to that now, as to most of what comes, the batch need not
    /// come back to it.
    #[inline]
    fn turn(&mut self, at: &mut impl Place<Self>) {
        // That it is open is heard before all else: both may have come together.
        if !at.association().told {
            self.conclude(at);
        }
        Self::deliver(at);
        let now = at.cx().now();
        let engine = &at.association().engine;
        if engine.may_transmit(now) || engine.has_released() {
            self.conclude(at);
            return at.later();
        }
        let session = at.association();
        if mem::replace(&mut session.only_messages, true) {
            // They have changed nothing else: neither where it stands, nor when the peer is asked again for what he was sent.
            let deadline = session.engine.next_receiving();
            debug_assert!(
                session.engine.next_deadline(now).is_none_or(|all| all >= deadline.min(session.armed))
            );
            return Self::arm_at(at, deadline);
        }
        self.conclude(at);
        Self::arm(at, now);
    }

    /// Whether routers may mark what leaves now.
    #[inline]
    fn bear(at: &mut impl Place<Self>) {
        let ecn = at.association().engine.ecn();
        at.bear(ecn);
    }

    /// What has arrived goes up, as far as there is room.
    fn deliver(at: &mut impl Place<Self>) {
        let now = at.cx().now();
        while at.association().engine.inbox() > 0 {
            // Who has closed takes nothing any more.
            let closing = at.association().engine.is_closing();
            let room = if closing { EVERYTHING } else { at.room() };
            let Some((message, properties)) = at.association().engine.take(now, room) else { return };
            if !closing {
                at.deliver(message, properties);
            }
        }
    }

    /// The room for a message that goes up as it comes. Who has closed takes none, nor who has not heard that it is open.
    #[inline(always)]
    fn room_at_once(at: &mut impl Place<Self>) -> Credit {
        let session = at.association();
        if session.engine.is_closing() || !session.told { Credit::default() } else { at.room() }
    }

    /// A packet is received, and those `behind` it that are taken with it. Messages may go up with them.
    #[inline(always)]
    fn receive(
        &mut self,
        at: &mut impl Place<Self>,
        header: &Located<H>,
        mut packet: MessageOf<H>,
        mut behind: Option<&mut BatchMessages<MessageOf<H>>>,
    ) {
        let (now, room) = (at.cx().now(), Self::room_at_once(at));
        let before = behind.as_ref().map_or(0, |behind| behind.len());
        let (engine, memory) = (&mut at.association().engine, &mut self.memory);
        let received =
            engine.receive(now, Some(&header.front), &mut packet, behind.as_deref_mut(), memory, room);
        let packets = 1 + before - behind.map_or(0, |behind| behind.len());
        at.association().received += packets as u64;
        // Whoever only knows where we are could otherwise say in the peer's name that there is congestion.
        let ecn = at.ecn();
        if ecn != Ecn::NotEct && matches!(received, Ok(_) | Err(Dropped::Duplicate)) {
            at.association().engine.on_marked(ecn, packets as u32);
        }
        match received {
            Ok(Some(Delivery { messages: 1, properties })) => return at.deliver(packet, properties),
            Ok(Some(Delivery { messages, properties })) => {
                let each = packet.len() / messages;
                return at.deliver_batch(Batch::new(packet, each), properties);
            }
            _ => {}
        }
        at.association().only_messages = false;
        if let Err(dropped) = received {
            at.cx().dropped(H::FACTS.name, dropped.reason());
        }
    }

    /// Tells the layer above where the association stands, where that has changed.
    fn conclude(&mut self, at: &mut impl Place<Self>) {
        let now = at.cx().now();
        let session = at.association();
        let phase = session.engine.phase(now);
        if session.half_open && !session.engine.is_half_open() {
            session.half_open = false;
            self.half_open -= 1;
        }
        match phase {
            Phase::Open if !session.told => {
                session.told = true;
                at.opened();
            }
            Phase::Ended(ending) if session.engine.inbox() == 0 => {
                let why = match ending {
                    Ending::Finished => Ended::Finished,
                    Ending::Silent if session.told => Ended::Expired,
                    Ending::Silent => Ended::Unreachable,
                    Ending::Refused => Ended::Refused(0),
                    Ending::Reset => Ended::Reset(0),
                    Ending::Forged => Ended::Forged,
                    Ending::Overrun => Ended::Overrun,
                };
                at.end(why);
            }
            _ => {}
        }
    }
}

/// One association, and what the layer must know of it.
pub struct Session<H: Host> {
    engine: Association<H::Configuration>,
    key: H::Key,
    remote: Participant,
    /// When the timer is set to.
    armed: Instant,
    /// The layer above knows that it is open.
    told: bool,
    half_open: bool,
    /// All that came since the last turn were messages that went up as they came.
    only_messages: bool,
    /// There is more room below than when something was last said.
    room_came: bool,
    /// Packets that left, and packets that came.
    sent: u64,
    received: u64,
}

/// Whose packet it is, and what was read to know that. Nothing is taken off: a check may cover the header.
pub struct Located<H: Host> {
    key: H::Key,
    front: FrontOf<H::Configuration>,
}

impl<H: Host> Envelope<MessageOf<H>> for Located<H> {
    #[inline]
    fn open(packet: &mut MessageOf<H>) -> Result<Self, Malformed> {
        let front = FrontOf::<H::Configuration>::read(packet)?;
        Ok(Located { key: H::locate(&front, packet)?, front })
    }

    fn close(&self, _packet: &mut MessageOf<H>) {}
}

impl<H: Host> Hooks for Associations<H> {
    type Features = Features<MessageOf<H>>;
    type Header = Located<H>;
    type Key = H::Key;
    type PassiveKey = ();
    type Association = Session<H>;
    type Timer = ();

    const FACTS: Facts = H::FACTS;
    const NEEDS: Needs = Needs { opening: true, listening: true, sessions: true, timers: true };

    fn first_room(&self) -> Credit {
        self.host.room()
    }

    fn open(&mut self, cx: &Context, remote: Participant) -> Result<(Participant, H::Key), Ended> {
        if !self.memory.budget.admits() {
            return Err(Ended::Unavailable);
        }
        Ok((remote, self.host.open(cx, remote)?))
    }

    #[inline]
    fn key(header: &Located<H>) -> H::Key {
        header.key.clone()
    }

    fn arrival(
        &mut self,
        cx: &Context,
        remote: Participant,
        header: &Located<H>,
        packet: &mut MessageOf<H>,
    ) -> Arrival<MessageOf<H>> {
        if !self.memory.budget.admits() {
            return self.host.refuse(packet);
        }
        self.host.arrival(cx, remote, &header.key, packet, self.half_open)
    }

    fn create(&mut self, cx: &Context, key: &H::Key, remote: Participant, origin: Origin) -> Session<H> {
        let engine = Association::sharing(self.host.create(cx, key, remote, origin), &self.memory);
        let arrived = origin == Origin::Arrived;
        self.half_open += usize::from(arrived);
        Session {
            engine,
            key: key.clone(),
            remote,
            armed: Instant::END,
            told: arrived,
            half_open: arrived,
            only_messages: false,
            room_came: false,
            sent: 0,
            received: 0,
        }
    }

    fn opened(&mut self, at: &mut impl Place<Self>) -> bool {
        let now = at.cx().now();
        at.association().engine.open(now);
        at.later();
        false
    }

    fn gone(&mut self, session: Session<H>) {
        self.half_open -= usize::from(session.half_open);
        self.host.gone(session.key, session.remote);
    }

    #[inline]
    fn push(&mut self, at: &mut impl Place<Self>, message: MessageOf<H>, properties: MessageProperties) {
        let now = at.cx().now();
        match at.association().engine.send(now, message, properties, &self.memory) {
            Ok(()) => at.later(),
            Err(_) => at.end(Ended::TooLong),
        }
    }

    fn push_batch(
        &mut self,
        at: &mut impl Place<Self>,
        messages: Batch<MessageOf<H>>,
        properties: MessageProperties,
    ) -> Result<(), Batch<MessageOf<H>>> {
        // Messages of which something is wished wait, and leave, each by itself.
        if properties != MessageProperties::default() {
            return Err(messages);
        }
        let now = at.cx().now();
        at.association().engine.send_batch(now, messages)?;
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

    /// A message is cut into as many packets as it needs.
    fn path(session: &Session<H>, below: PathLimits) -> PathLimits {
        let longest = PathLimits::of_longest(session.engine.slots().format.longest());
        PathLimits { frame_time: below.frame_time, ..longest }
    }

    fn ask(&self, session: &Session<H>, question: &mut Question<'_>) {
        let (engine, smoothed) = (&session.engine, session.engine.slots().rtt.estimate().smoothed);
        question
            .answer::<Longest>(|_| Some(engine.slots().format.longest()))
            .answer::<RoundTrip>(|_| (smoothed > 0).then(|| Duration::from_nanos(smoothed)))
            .answer::<Counters>(|_| {
                let (sent, received) = (session.sent, session.received);
                Some(PacketCounts { sent, received, retransmitted: None })
            })
            .answer::<Reserve<MessageOf<H>>>(|reserve| self.reserve(engine, reserve));
    }

    #[inline]
    fn popped(&mut self, at: &mut impl Place<Self>) {
        self.turn(at);
    }

    fn room(&mut self, at: &mut impl Place<Self>) {
        // Where nothing waits for room, nothing has changed.
        if at.association().engine.inbox() > 0 {
            self.turn(at);
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

    fn close(&mut self, at: &mut impl Place<Self>) -> bool {
        let now = at.cx().now();
        let session = at.association();
        if matches!(session.engine.phase(now), Phase::Idle | Phase::Opening) {
            return true;
        }
        session.engine.finish();
        Self::deliver(at);
        at.later();
        false
    }
}
