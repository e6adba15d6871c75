//! Many associations as one protocol: the engine on a generated base.
//!
//! | file | what |
//! | --- | --- |
//! | `host.rs` | what a protocol says of its associations as a whole |
//! | `receive.rs` | a packet is received, and what is whole goes up |
//! | `send.rs` | what there is to say leaves |

mod host;
mod receive;
mod send;

pub use host::{Host, Located};

use alloc::rc::Rc;

use stackwright_base::features::Needs;
use stackwright_base::{Arrival, Features, Hooks, Layer, Origin, Place};
use stackwright_contract::ask::{Counters, Longest, PacketCounts, Question, Reserve, RoundTrip};
use stackwright_contract::services::{
    Batch, BatchMessages, Code, Credit, Datagrams, Ended, PropertiesOf, Transfer as _,
};
use stackwright_contract::{Context, Duration, Facts, Instant, Participant, PathLimits};
use stackwright_wire::{Message as _, Pool};

use crate::configuration::Configuration;
use crate::engine::{Association, Memory};
use crate::slots::{Format as _, Rtt as _};
use crate::words::Phase;

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
}

/// How many blocks of packets are kept for those to come.
const BLOCKS_KEPT: usize = 256;

impl<H: Host> Associations<H> {
    /// Those of `host`.
    pub fn new(host: H) -> Self {
        let (packet, headroom) = host.packet();
        Self::sharing(host, Rc::new(Pool::new(headroom + packet, BLOCKS_KEPT)))
    }

    /// Those of `host`, whose blocks come from the pool of the stack. Where its blocks are shorter
    /// than a packet and the headroom before it, memory is asked for with every packet.
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
}

/// One association, and what the layer must know of it.
pub struct HostedAssociation<H: Host> {
    engine: Association<H::Configuration>,
    key: H::Key,
    remote: Participant,
    /// When the timer is set to.
    armed: Instant,
    /// The layer above knows that it is open.
    told: bool,
    /// And that the peer sends no more.
    heard_all: bool,
    half_open: bool,
    /// All that came since the last turn were messages that went up as they came.
    only_messages: bool,
    /// There is more room below than when something was last said.
    room_came: bool,
    /// Packets that left, and packets that came.
    sent: u64,
    received: u64,
}

impl<H: Host> Hooks for Associations<H> {
    type Features = Features<MessageOf<H>>;
    type Provides = H::Transfer;
    type Uses = Datagrams<MessageOf<H>>;
    type Header = Located<H>;
    type Key = H::Key;
    type PassiveKey = ();
    type Association = HostedAssociation<H>;
    type Timer = ();

    const FACTS: Facts = H::FACTS;
    const REFUSES: bool = H::REFUSES;
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

    fn refuse(
        &mut self,
        cx: &Context,
        remote: Participant,
        header: &Located<H>,
        packet: &mut MessageOf<H>,
    ) -> Option<MessageOf<H>> {
        self.host.unawaited(cx, remote, &header.key, packet)
    }

    fn create(
        &mut self,
        cx: &Context,
        key: &H::Key,
        remote: Participant,
        origin: Origin,
    ) -> HostedAssociation<H> {
        let engine = Association::sharing(self.host.create(cx, key, remote, origin), &self.memory);
        let arrived = origin == Origin::Arrived;
        self.half_open += usize::from(arrived);
        HostedAssociation {
            engine,
            key: key.clone(),
            remote,
            armed: Instant::END,
            told: arrived,
            heard_all: false,
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

    fn gone(&mut self, session: HostedAssociation<H>) {
        self.half_open -= usize::from(session.half_open);
        self.host.gone(session.key, session.remote);
    }

    #[inline]
    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<H>,
        properties: PropertiesOf<H::Transfer>,
    ) {
        let now = at.cx().now();
        match at.association().engine.send(now, message, properties.into(), &self.memory) {
            Ok(()) => at.later(),
            Err(_) => at.end(Ended::TooLong),
        }
    }

    fn push_batch(
        &mut self,
        at: &mut impl Place<Self>,
        messages: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Transfer>,
    ) -> Result<(), Batch<MessageOf<H>>> {
        // Messages of which something is wished wait, and leave, each by itself.
        if properties != PropertiesOf::<H::Transfer>::default() {
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
    fn path(session: &HostedAssociation<H>, below: PathLimits) -> PathLimits {
        let longest = match H::Transfer::MESSAGES {
            true => PathLimits::of_longest(session.engine.slots().format.longest()),
            false => PathLimits::UNBOUNDED,
        };
        PathLimits { frame_time: below.frame_time, ..longest }
    }

    fn ask(&self, session: &HostedAssociation<H>, question: &mut Question<'_>) {
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
            // The end may have waited for what goes up now.
            at.association().only_messages = false;
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
        Self::deliver(at);
        at.later();
        false
    }
}
