//! The engine: the order of checks for a packet that arrives, and the order of steps for one that
//! leaves. It knows no protocol.
//!
//! | file | what |
//! | --- | --- |
//! | `receive.rs` | a packet arrives |
//! | `report.rs` | a report arrives |
//! | `send.rs` | a packet leaves |
//! | `batch.rs` | several leave together |
//! | `in_place.rs` | several leave from a gapped buffer |
//! | `timers.rs` | time has passed |
//! | `moves.rs` | the address of a side has changed |

mod batch;
mod in_place;
mod moves;
mod receive;
mod report;
mod send;
mod timers;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Code, Credit, Ecn, MessageProperties};
use stackwright_wire::{Message, Pool};

use crate::configuration::{Configuration, Slots};
use crate::limits::{Budget, Limits, Share};
use crate::marks::Marks;
use crate::receipts::Receipts;
use crate::sending::Sending;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, CreditUpdate, DroppedMember, Flow as _,
    Format as _, Framing as _, Integrity as _, Membership as _, Rate as _, Recovery as _, Rtt as _,
};
use crate::words::{Ending, Nanoseconds, Numbering, Opening, Phase, Report, Terms, View};
use batch::Blocks;
pub use receive::Delivery;

/// The number of the last inquiries whose time of sending is kept: an answer that takes longer is
/// no measurement of the path.
const QUESTIONS: usize = 8;

/// The number of batches that are written at once at most, in gapped buffers: work per write is
/// then done once for all of them. Four cost as much more in the kernel as they saved: a longer
/// burst waits in a longer queue, and in a colder cache.
const RUNS_MOST: usize = 2;

/// For how many retransmission timeouts a peer is told that an association is over.
const FAREWELL: u64 = 3;

/// Memory that all associations of a transport share, so that an idle one has nearly none.
#[derive(Debug)]
pub struct Memory<M: Message> {
    /// The pool of blocks of packets. A stack has one for all its layers: a block that one of them
    /// takes, another gives back.
    pub pool: Arc<Pool<M>>,
    /// The octets to leave free before a packet, for the headers of the layers below.
    pub headroom: usize,
    pub(crate) budget: Arc<Budget>,
    blocks: Blocks<M>,
    header: Vec<u8>,
    heard: Report,
    saying: Report,
}

impl<M: Message> Memory<M> {
    /// Creates memory for packets of at most `packet` octets, with `headroom` octets free before
    /// them; at most `most` blocks are kept.
    pub fn new(packet: usize, headroom: usize, most: usize) -> Self {
        Memory::sharing(Arc::new(Pool::new(headroom + packet, most)), headroom)
    }

    /// Creates memory whose blocks come from `pool`, with `headroom` octets free before packets.
    pub fn sharing(pool: Arc<Pool<M>>, headroom: usize) -> Self {
        let blocks = Blocks::new(0);
        let (heard, saying) = (Report::default(), Report::default());
        let budget = Budget::new(Limits::NONE);
        Memory { pool, headroom, budget, blocks, header: Vec::new(), heard, saying }
    }

    /// Limits what all associations that share this memory reserve together for what their peers
    /// may make them hold.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Memory { budget: Budget::new(limits), ..self }
    }

    /// Returns how many octets of the [limit](Memory::limited) are reserved.
    pub fn reserved(&self) -> usize {
        self.budget.reserved()
    }

    /// Writes packets that [leave together](Association::transmit) into blocks of `octets` octets,
    /// with `headroom` before them: as many as the driver below sends in one system call.
    #[must_use]
    pub fn with_runs(self, octets: usize) -> Self {
        Memory { blocks: Blocks::new(self.headroom + octets), ..self }
    }

    /// Returns the octets of a block that holds several batches.
    fn several_runs(&self) -> usize {
        self.blocks.octets() * RUNS_MOST
    }
}

/// A message that the application has not taken.
struct Arrived<M> {
    message: M,
    properties: MessageProperties,
    /// The count of its numbers.
    numbers: u64,
    /// When it was complete.
    since: Instant,
}

/// One association: its policies, and the state that every transport has and no policy replaces.
pub struct Association<C: Configuration> {
    slots: Slots<C>,
    sending: Sending<C::Message>,
    receipts: Receipts,
    marks: Marks,
    /// Whether the peer's first number is known.
    begun: bool,
    /// The number of the last inquiry; when each of the last ones was sent, if there was one; the
    /// last one that was answered; the last one of the peer's.
    asked: u32,
    asked_at: Option<Box<[Instant; QUESTIONS]>>,
    heard: u32,
    answered: u32,
    /// The messages that the application has not taken, and the count of all numbers that were
    /// received and not taken.
    inbox: VecDeque<Arrived<C::Message>>,
    pending: u64,
    /// Since when something is in flight and nothing was received from the peer.
    quiet_since: Instant,
    /// The number of timeouts since then.
    timeouts: u32,
    /// When something was last acknowledged, or sent while nothing was in flight.
    moved: Instant,
    /// When the first number that is not acknowledged last rose, or a timeout expired: the
    /// retransmission timer runs from then.
    timer_since: Instant,
    /// Whether a timeout expired, and was not found spurious.
    timed_out: bool,
    /// How long after it was sent a packet is lost, if one that was sent later was acknowledged.
    overtaken_after: Nanoseconds,
    /// What the opening has shown of the path, until data shows more.
    opening: Option<Opening>,
    /// Whether the layer above takes no more.
    closing: bool,
    /// How urgent it is among others.
    priority: u8,
    /// When something was last sent or received.
    stirred: Instant,
    /// When a unit last left.
    left_at: Instant,
    probed: bool,
    /// Since when the peer's window has been shut, with nothing in flight.
    shut_since: Option<Instant>,
    /// When a queue last grew, while they hold memory.
    used: Option<Instant>,
    /// The unit that everything waits for and that framing refused last, and since when.
    refused: Option<Box<(u64, Instant)>>,
    /// What it has reserved of the memory that all associations of its layer share.
    share: Share,
    /// Why this side ended it, if it did.
    given_up: Option<Ending>,
    counts: LossCounts,
}

/// What went wrong on the path of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossCounts {
    /// Octets that were taken for lost.
    pub lost: u64,
    /// Units that were retransmitted.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Units that arrived a second time.
    pub duplicates: u64,
}

impl<C: Configuration> Association<C> {
    /// Creates an association of these policies.
    pub fn new(slots: Slots<C>) -> Self {
        Association::holding(slots, Budget::new(Limits::NONE).share())
    }

    /// Creates an association that shares `memory`: all that share it hold no more together than
    /// its [limit](Memory::limited).
    pub fn sharing(slots: Slots<C>, memory: &Memory<C::Message>) -> Self {
        Association::holding(slots, memory.budget.share())
    }

    fn holding(slots: Slots<C>, share: Share) -> Self {
        let asked = slots.format.inquiries_behind();
        let mut association = Association {
            sending: Sending::new(slots.format.numbering(), slots.format.first()),
            slots,
            receipts: Receipts::default(),
            marks: Marks::default(),
            begun: false,
            asked,
            asked_at: None,
            heard: asked,
            answered: asked,
            inbox: VecDeque::new(),
            pending: 0,
            quiet_since: Instant::START,
            timeouts: 0,
            moved: Instant::START,
            timer_since: Instant::START,
            timed_out: false,
            overtaken_after: 0,
            opening: None,
            closing: false,
            priority: MessageProperties::default().priority,
            stirred: Instant::START,
            left_at: Instant::START,
            probed: false,
            shut_since: None,
            used: None,
            refused: None,
            share,
            given_up: None,
            counts: LossCounts::default(),
        };
        association.begin();
        association
    }

    #[inline(always)]
    fn view(&self, now: Instant) -> View {
        View {
            now,
            rtt: self.slots.rtt.estimate(),
            in_flight: self.sending.in_flight(),
            sent_upto: self.sending.sent_upto(),
            settled_upto: self.sending.settled_upto(),
            received_upto: self.receipts.upto(),
            // If the application has nothing to take, nothing waits for it: pieces do not hold up
            // those that complete their message.
            pending: if self.inbox.is_empty() { 0 } else { self.pending },
            asked: self.asked,
            answered: self.answered,
            idle: self.sending.is_idle(),
            drained: self.sending.is_drained(),
        }
    }

    /// Opens the association for the layer above.
    pub fn open(&mut self, now: Instant) {
        let view = self.view(now);
        self.slots.connection.open(&view);
    }

    /// Tells the judges what the opening has shown of the path.
    #[cold]
    fn on_opened(&mut self, view: &View, opening: Opening) {
        let slots = &mut self.slots;
        let opening = Opening { peer_delay: slots.format.peer_delay(), ..opening };
        slots.rtt.on_opened(&opening);
        slots.recovery.on_opened(&opening);
        let view = View { rtt: slots.rtt.estimate(), ..*view };
        slots.congestion.on_opened(&view, &opening);
        self.opening = Some(opening);
        self.set_pace(&view);
    }

    /// Records how many octets the layer above has room for, where the flow judge heeds that.
    #[inline]
    pub fn set_room(&mut self, now: Instant, octets: usize) {
        if self.slots.flow.heeds_room() {
            let view = self.view(now);
            if self.slots.flow.on_room(&view, octets) == CreditUpdate::Tell {
                self.slots.acknowledgement.on_room(&view, &self.receipts);
            }
        }
    }

    /// Returns how urgent the association is among others: the smaller, the more urgent.
    #[inline]
    pub(crate) fn priority(&self) -> u8 {
        self.priority
    }

    /// Sets how urgent the association is among others.
    pub fn set_priority(&mut self, priority: u8) {
        self.priority = priority;
    }

    /// Sets how fast this side takes data. Returns whether the peer is told.
    pub fn set_terms(&mut self, terms: Terms) -> bool {
        self.slots.rate.set_terms(terms)
    }

    /// Closes this side's half, if the connection policy has a half close: the layer above sends no
    /// more.
    pub fn finish(&mut self) {
        self.slots.connection.finish();
    }

    /// Closes both halves for the layer above.
    pub fn close(&mut self) {
        self.finish();
        self.stop();
    }

    /// Makes what the peer is owed be acknowledged now: it waits for that before it closes, too.
    pub(crate) fn hurry(&mut self, now: Instant) {
        let view = self.view(now);
        self.slots.acknowledgement.hurry(&view);
    }

    /// Records that the layer above takes no more.
    fn stop(&mut self) {
        self.closing = true;
        self.slots.connection.stop();
    }

    /// Ends the association at once for the layer above: what was not sent leaves no more, and what
    /// was sent is not repeated. The peer is told `code`, if the format can carry it.
    pub fn abort(&mut self, now: Instant, code: Code) {
        self.give_up(now, Ending::Aborted(code));
    }

    /// Ends it in the same way for another reason, which the peer is told.
    pub fn give_up(&mut self, now: Instant, why: Ending) {
        self.stop();
        let view = self.view(now);
        self.sending = Sending::new(self.slots.format.numbering(), view.sent_upto);
        self.abandon(&view, why);
    }

    /// Ends the association on this side. The peer is told, if it can be.
    pub(super) fn abandon(&mut self, view: &View, why: Ending) {
        if !self.slots.connection.abandon(view, why) {
            self.given_up = Some(why);
        }
    }

    /// Writes a packet that tells the peer that it is over, and why; none, if nobody is told.
    /// Returns for how long the peer may not know that; `None` if that does not matter.
    pub fn farewell(&self, now: Instant, why: Ending, into: &mut Vec<u8>) -> Option<Nanoseconds> {
        let view = self.view(now);
        let told = self.slots.format.farewell(&view, why, into);
        let slots = &self.slots;
        if !into.is_empty() && slots.integrity.looks_at() > 0 {
            let at = slots.format.check(into, into.len());
            slots.integrity.seal(into, None::<&C::Message>, at);
        }
        told.then_some(FAREWELL.saturating_mul(view.rtt.timeout))
    }

    /// Returns whether the peer sends no more, and all that it sent was [taken](Association::take).
    pub fn heard_all(&self, now: Instant) -> bool {
        self.inbox.is_empty() && self.slots.connection.heard_all(&self.view(now))
    }

    /// Returns whether the layer above takes no more.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Takes a message to be sent.
    ///
    /// # Errors
    /// Returns the message if it is longer than the format can carry or the peer takes, if it has
    /// no octets and only octets have numbers, or if its framing needs the association to have
    /// begun.
    pub fn send(
        &mut self,
        now: Instant,
        message: C::Message,
        properties: MessageProperties,
        memory: &Memory<C::Message>,
    ) -> Result<(), C::Message> {
        let octets = message.len();
        self.used = Some(now);
        if self.sending.waiting.is_bare() {
            self.sending.furnish();
        }
        if octets > self.slots.format.longest() {
            return Err(message);
        }
        if octets == 0 && !self.slots.framing.keeps_bounds() {
            self.sending.messages.release(1, octets);
            return Ok(());
        }
        if octets == 0 && self.slots.format.numbering() == Numbering::Octets {
            return Err(message); // no octet, no number: it could not be acknowledged
        }
        let room = self.slots.format.room(octets, &properties);
        let cut = self.slots.framing.begin(message, &properties, room, &memory.pool)?;
        let lifetime = properties.lifetime.filter(|_| self.slots.format.expires());
        // Counted numbers follow it, in however many pieces it leaves.
        if properties.number.is_some() {
            self.sending.watch_numbers();
        }
        self.sending.push(cut, 1, octets, now, lifetime);
        Ok(())
    }

    /// Takes messages to be sent, with the effect of single ones: those that are [laid
    /// out](Association::draft) wait and leave as one.
    ///
    /// # Errors
    /// Returns the messages if they do not; they are to be [sent](Association::send) one by one.
    pub fn send_batch(
        &mut self,
        now: Instant,
        batch: Batch<C::Message>,
    ) -> Result<(), Batch<C::Message>> {
        let (octets, messages, slots) = (batch.longest(), batch.count(), &mut self.slots);
        // Where an application chooses numbers, each message is checked.
        if messages < 2 || octets > slots.format.longest() || self.sending.watches_numbers() {
            return Err(batch);
        }
        let room = slots.format.room(octets, &MessageProperties::default());
        match slots.framing.begin_run(batch.into_octets(), octets, room) {
            Ok(cut) => {
                self.used = Some(now);
                if self.sending.waiting.is_bare() {
                    self.sending.furnish();
                }
                self.sending.push(cut, messages as u32, octets, now, None);
                Ok(())
            }
            Err(run) => Err(Batch::new(run, octets)),
        }
    }

    /// Returns the next message for the application, within `room`; none while the association is
    /// half open.
    #[inline]
    pub fn take(&mut self, now: Instant, room: Credit) -> Option<(C::Message, MessageProperties)> {
        if self.is_half_open() {
            return None; // it may be recorded, and replayed with a forged address
        }
        let octets = self.inbox.front()?.message.len();
        if room.messages == 0 || octets > room.octets {
            return None;
        }
        let Arrived { message, properties, numbers, since } = self.inbox.pop_front()?;
        self.taken(now, numbers);
        // The layer above decides about what is over: it has to learn that something was.
        let left = |lifetime: NonZeroU32| {
            let waited = now.nanoseconds_since(since) / 1000;
            let left = u64::from(lifetime.get()).saturating_sub(waited);
            NonZeroU32::new(left as u32).unwrap_or(NonZeroU32::MIN)
        };
        Some((message, MessageProperties { lifetime: properties.lifetime.map(left), ..properties }))
    }

    /// Returns the octets of the next message for the application.
    pub(crate) fn next_octets(&self) -> usize {
        self.inbox.front().map_or(0, |next| next.message.len())
    }

    /// Returns the next octets of a stream, at most `most`; none while the association is half
    /// open.
    pub fn take_octets(&mut self, now: Instant, most: usize) -> Option<C::Message> {
        if self.is_half_open() || most == 0 {
            return None;
        }
        let first = self.inbox.front_mut()?;
        if first.message.len() > most {
            // The numbers are pending until the last octet is taken.
            return Some(first.message.split_to(most));
        }
        let Arrived { message, numbers, .. } = self.inbox.pop_front()?;
        self.taken(now, numbers);
        Some(message)
    }

    /// Records that numbers are no longer pending.
    #[inline]
    fn taken(&mut self, now: Instant, numbers: u64) {
        self.pending = self.pending.saturating_sub(numbers);
        self.on_taken(&self.view(now));
    }

    /// Tells the policies that fewer numbers are pending.
    #[inline(always)] // for each message
    fn on_taken(&mut self, view: &View) {
        self.slots.acknowledgement.on_taken(view);
        match self.slots.flow.on_taken(view) {
            CreditUpdate::None => {}
            CreditUpdate::Tell => self.slots.acknowledgement.on_room(view, &self.receipts),
            CreditUpdate::Reserve => self.reserve_window(view),
        }
    }

    /// Reserves what the flow judge asks for, as far as other associations leave it, and tells it
    /// what it got.
    #[cold]
    #[inline(never)]
    fn reserve_window(&mut self, view: &View) {
        let flow = &mut self.slots.flow;
        flow.on_reserved(view, self.share.reserve_window(flow.reserves(view)));
        if flow.on_taken(view) == CreditUpdate::Tell {
            self.slots.acknowledgement.on_room(view, &self.receipts);
        }
    }

    /// Returns the number of messages that wait for the application; 0 while the association is
    /// half open.
    #[inline]
    pub fn inbox(&self) -> usize {
        if self.is_half_open() { 0 } else { self.inbox.len() }
    }

    /// Returns the ECN codepoint for all that leaves now. It is ECN-capable if the congestion judge
    /// reacts to marks, the peer has shown that it receives our packets, and both sides report how
    /// many came marked.
    #[inline]
    pub fn ecn(&mut self) -> Ecn {
        let slots = &self.slots;
        let may = slots.format.tells_marks()
            && slots.congestion.heeds_marks()
            && !slots.connection.is_half_open();
        if may { self.marks.bear() } else { Ecn::NotEct }
    }

    /// Counts packets that arrived with this ECN codepoint, and were
    /// [accepted](Association::receive), or had been before.
    #[inline]
    pub fn on_marked(&mut self, ecn: Ecn, packets: u32) {
        self.marks.on_received(ecn, packets);
    }

    /// Returns the next message that was abandoned, once: how many were sent before it. It may have
    /// arrived all the same.
    #[inline]
    pub fn take_abandoned(&mut self) -> Option<u32> {
        self.sending.messages.take_abandoned()
    }

    /// Returns what the layer above may send again since the last call.
    pub fn released(&mut self) -> Credit {
        mem::take(&mut self.sending.messages.released)
    }

    /// Returns whether the layer above may send something again.
    #[inline]
    pub(crate) fn has_released(&self) -> bool {
        self.sending.messages.released != Credit::default()
    }

    /// Returns whether all messages of the layer above are settled.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.sending.is_idle() && self.sending.is_drained()
    }

    /// Returns the phase of the association.
    pub fn phase(&self, now: Instant) -> Phase {
        self.phase_in(&self.view(now))
    }

    /// Returns whether the peer began it and has not shown that it receives our packets.
    pub fn is_half_open(&self) -> bool {
        self.slots.connection.is_half_open()
    }

    /// Returns whether the peer was told that the association is over, and only its answer is
    /// awaited.
    pub fn has_parted(&self) -> bool {
        self.slots.connection.has_parted()
    }

    fn phase_in(&self, view: &View) -> Phase {
        match self.given_up {
            Some(ending) => Phase::Ended(ending),
            None => match self.slots.connection.phase(view) {
                // Not all members have what was sent.
                Phase::Ended(Ending::Finished) if self.lacks_members() => {
                    Phase::Ended(Ending::Silent)
                }
                phase => phase,
            },
        }
    }

    fn lacks_members(&self) -> bool {
        self.slots.membership.counts().is_some_and(|counts| counts.dropped > 0)
    }

    /// Returns the next member of the group that was dropped, once.
    #[inline]
    pub fn take_dropped_member(&mut self) -> Option<DroppedMember> {
        self.slots.membership.take_dropped()
    }

    fn has_ended(&self, view: &View) -> bool {
        matches!(self.phase_in(view), Phase::Ended(_))
    }

    /// Returns the policies.
    pub fn slots(&self) -> &Slots<C> {
        &self.slots
    }

    /// Returns the policies, of which judges may be exchanged between two packets.
    pub fn slots_mut(&mut self) -> &mut Slots<C> {
        &mut self.slots
    }

    /// Returns what was sent and what waits.
    pub fn sending(&self) -> &Sending<C::Message> {
        &self.sending
    }

    /// Returns what was received.
    pub fn receipts(&self) -> &Receipts {
        &self.receipts
    }

    /// Returns what went wrong so far.
    pub fn counts(&self) -> LossCounts {
        self.counts
    }
}
