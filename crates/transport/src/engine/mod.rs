//! The engine: the order in which a packet earns trust, and the order in which one is made. It
//! knows no protocol.
//!
//! | file | what |
//! | --- | --- |
//! | `receive.rs` | a packet arrives |
//! | `report.rs` | a report arrives |
//! | `send.rs` | a packet leaves |
//! | `batch.rs` | several leave together |
//! | `in_place.rs` | several leave from where their message lies |
//! | `timers.rs` | time has passed |

mod batch;
mod in_place;
mod receive;
mod report;
mod send;
mod timers;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Code, Credit, Ecn, MessageProperties};
use stackwright_wire::{Message, Pool};

use crate::configuration::{Configuration, Slots};
use crate::limits::{Budget, Limits, Share};
use crate::marks::Marks;
use crate::receipts::Receipts;
use crate::sending::Sending;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Format as _, Framing as _,
    Rtt as _,
};
use crate::words::{Ending, Numbering, Phase, Report, View};
use batch::Blocks;
pub use receive::Delivery;

/// Of how many questions it is known when they were asked: whose answers take longer are no measure
/// of the way.
const QUESTIONS: usize = 8;

/// So many runs are written at once, at most, where their messages lie as they leave: what is done
/// for each is done once for all of them. Four took as long again in the kernel as they spared:
/// what leaves in longer bursts waits in a longer queue, and in a colder cache.
const RUNS_MOST: usize = 2;

/// Memory that all associations of a transport share, so that an idle one has nearly none.
#[derive(Debug)]
pub struct Memory<M: Message> {
    /// Where blocks of packets come from and go to. A stack has one for all its layers: what one of
    /// them takes, another gives back.
    pub pool: Rc<Pool<M>>,
    /// Octets to leave free before a packet, for the headers of the layers below.
    pub headroom: usize,
    pub(crate) budget: Rc<Budget>,
    blocks: Blocks<M>,
    header: Vec<u8>,
    heard: Report,
    saying: Report,
}

impl<M: Message> Memory<M> {
    /// Packets have at most `packet` octets, and `headroom` octets are left free before them; at
    /// most `most` blocks are kept.
    pub fn new(packet: usize, headroom: usize, most: usize) -> Self {
        Memory::sharing(Rc::new(Pool::new(headroom + packet, most)), headroom)
    }

    /// Blocks come from `pool`, and `headroom` octets are left free before packets.
    pub fn sharing(pool: Rc<Pool<M>>, headroom: usize) -> Self {
        let blocks = Blocks::new(0);
        let (heard, saying) = (Report::default(), Report::default());
        let budget = Budget::new(Limits::NONE);
        Memory { pool, headroom, budget, blocks, header: Vec::new(), heard, saying }
    }

    /// All associations that share it hold no more than `limits` say for messages that are not
    /// whole.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Memory { budget: Budget::new(limits), ..self }
    }

    /// Packets that [leave together](Association::transmit) lie in blocks of so many octets, and
    /// `headroom` before them: as many as the driver below sends by one system call.
    #[must_use]
    pub fn with_runs(self, octets: usize) -> Self {
        Memory { blocks: Blocks::new(self.headroom + octets), ..self }
    }

    /// The octets of a block in which several runs lie.
    fn several_runs(&self) -> usize {
        self.blocks.octets() * RUNS_MOST
    }
}

/// A message that the application has not taken.
struct Arrived<M> {
    message: M,
    properties: MessageProperties,
    /// How many numbers it had.
    numbers: u64,
}

/// One association: its policies, and what every transport has and nobody chooses.
pub struct Association<C: Configuration> {
    slots: Slots<C>,
    sending: Sending<C::Message>,
    receipts: Receipts,
    marks: Marks,
    /// The peer's first number is known.
    begun: bool,
    /// The last question; when each of the last ones was asked, where there was one; the last one
    /// that was answered; the last one of the peer's.
    asked: u32,
    asked_at: Option<Box<[Instant; QUESTIONS]>>,
    heard: u32,
    answered: u32,
    /// Messages that the application has not taken, and how many numbers of all that was received.
    inbox: VecDeque<Arrived<C::Message>>,
    pending: u64,
    /// Since when something is in flight and nothing was heard of the peer.
    quiet_since: Instant,
    /// How often something timed out since then.
    timeouts: u32,
    /// When something was last acknowledged, or sent while nothing was in flight.
    moved: Instant,
    /// When the first number that is not acknowledged last rose, or a timeout expired: the
    /// retransmission timer runs from then.
    timer_since: Instant,
    /// The layer above takes no more.
    closing: bool,
    /// When something was last sent, or heard of.
    stirred: Instant,
    /// When a unit last left.
    left_at: Instant,
    probed: bool,
    /// Since when the peer's window is shut, with nothing in flight.
    shut_since: Option<Instant>,
    /// When a queue last grew, as long as they hold memory.
    used: Option<Instant>,
    /// The unit that everything waits for and that framing refused last, and since when.
    refused: Option<Box<(u64, Instant)>>,
    /// What it has reserved of what all associations of its layer may hold.
    share: Share,
    /// Over by our own judgement.
    given_up: Option<Ending>,
}

impl<C: Configuration> Association<C> {
    /// An association of these policies.
    pub fn new(slots: Slots<C>) -> Self {
        Association::holding(slots, Budget::new(Limits::NONE).share())
    }

    /// The same, with others that hold no more together than `memory` is [limited](Memory::limited)
    /// to.
    pub fn sharing(slots: Slots<C>, memory: &Memory<C::Message>) -> Self {
        Association::holding(slots, memory.budget.share())
    }

    fn holding(slots: Slots<C>, share: Share) -> Self {
        let mut association = Association {
            sending: Sending::new(slots.format.numbering(), slots.format.first()),
            slots,
            receipts: Receipts::default(),
            marks: Marks::default(),
            begun: false,
            asked: 0,
            asked_at: None,
            heard: 0,
            answered: 0,
            inbox: VecDeque::new(),
            pending: 0,
            quiet_since: Instant::START,
            timeouts: 0,
            moved: Instant::START,
            timer_since: Instant::START,
            closing: false,
            stirred: Instant::START,
            left_at: Instant::START,
            probed: false,
            shut_since: None,
            used: None,
            refused: None,
            share,
            given_up: None,
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
            // Where the application has nothing to take, nothing waits for it: pieces do not stop
            // those that make them whole.
            pending: if self.inbox.is_empty() { 0 } else { self.pending },
            asked: self.asked,
            answered: self.answered,
            idle: self.sending.is_idle(),
            drained: self.sending.is_drained(),
        }
    }

    /// The layer above wants an association with the peer.
    pub fn open(&mut self, now: Instant) {
        let view = self.view(now);
        self.slots.connection.open(&view);
    }

    /// The layer above has no more to send: half close, where the connection policy has it.
    pub fn finish(&mut self) {
        self.slots.connection.finish();
    }

    /// The layer above has closed it: both halves.
    pub fn close(&mut self) {
        self.finish();
        self.stop();
    }

    /// The layer above takes no more.
    fn stop(&mut self) {
        self.closing = true;
        self.slots.connection.stop();
    }

    /// The layer above ends it at once: what was not sent does not leave any more, and what was is
    /// not repeated. The peer is told `code`, where the format can say it.
    pub fn abort(&mut self, now: Instant, code: Code) {
        self.stop();
        let view = self.view(now);
        self.sending = Sending::new(self.slots.format.numbering(), view.sent_upto);
        self.abandon(&view, Ending::Aborted(code));
    }

    /// This side ends the association. The peer is told, where it can be.
    pub(super) fn abandon(&mut self, view: &View, why: Ending) {
        if !self.slots.connection.abandon(view, why) {
            self.given_up = Some(why);
        }
    }

    /// Whether the peer sends no more, and all that it sent was [taken](Association::take).
    pub fn heard_all(&self, now: Instant) -> bool {
        self.inbox.is_empty() && self.slots.connection.heard_all(&self.view(now))
    }

    /// Whether the layer above takes no more.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// A message to be sent.
    ///
    /// # Errors
    /// Gives it back where it is longer than the format can say, or than the peer takes, where it
    /// has no octets and only octets have numbers, and where its framing can do nothing before the
    /// association has begun.
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
            return Err(message); // no octet, no number: nobody would hear of it
        }
        let room = self.slots.format.room(octets, &properties);
        let cut = self.slots.framing.begin(message, &properties, room, &memory.pool)?;
        let lifetime = properties.lifetime.filter(|_| self.slots.format.expires());
        // Those that are counted follow it, in however many pieces it leaves.
        if properties.number.is_some() {
            self.sending.watch_numbers();
        }
        self.sending.push(cut, 1, octets, now, lifetime);
        Ok(())
    }

    /// Messages to be sent, as if one by one: those that are [laid out](Association::draft) wait,
    /// and leave, as one.
    ///
    /// # Errors
    /// Gives them back where they do not: they are to be [sent](Association::send) one by one.
    pub fn send_batch(
        &mut self,
        now: Instant,
        batch: Batch<C::Message>,
    ) -> Result<(), Batch<C::Message>> {
        let (octets, messages, slots) = (batch.longest(), batch.count(), &mut self.slots);
        // Where numbers are chosen, each is looked at.
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

    /// The next message for the application, within `room`; none while the association is half
    /// open.
    #[inline]
    pub fn take(&mut self, now: Instant, room: Credit) -> Option<(C::Message, MessageProperties)> {
        if self.is_half_open() {
            return None; // it may have been recorded, and be said by somebody who does not hear us
        }
        let octets = self.inbox.front()?.message.len();
        if room.messages == 0 || octets > room.octets {
            return None;
        }
        let Arrived { message, properties, numbers } = self.inbox.pop_front()?;
        self.taken(now, numbers);
        Some((message, properties))
    }

    /// The next octets of a stream, at most so many; none while the association is half open.
    pub fn take_octets(&mut self, now: Instant, most: usize) -> Option<C::Message> {
        if self.is_half_open() || most == 0 {
            return None;
        }
        let first = self.inbox.front_mut()?;
        if first.message.len() > most {
            // Its numbers are pending until the last octet is taken.
            return Some(first.message.split_to(most));
        }
        let Arrived { message, numbers, .. } = self.inbox.pop_front()?;
        self.taken(now, numbers);
        Some(message)
    }

    /// Numbers are not pending any more.
    #[inline]
    fn taken(&mut self, now: Instant, numbers: u64) {
        self.pending = self.pending.saturating_sub(numbers);
        self.on_taken(&self.view(now));
    }

    /// Fewer numbers are pending.
    #[inline]
    fn on_taken(&mut self, view: &View) {
        if self.slots.flow.on_taken(view) {
            self.slots.acknowledgement.on_room(view, &self.receipts);
        }
    }

    /// How many messages wait for the application; none while the association is half open.
    #[inline]
    pub fn inbox(&self) -> usize {
        if self.is_half_open() { 0 } else { self.inbox.len() }
    }

    /// What all that leaves now says of congestion. Routers may mark what this end answers for,
    /// once it is known that the other end is no stranger and says how much was marked.
    #[inline]
    pub fn ecn(&mut self) -> Ecn {
        let slots = &self.slots;
        let may = slots.format.tells_marks()
            && slots.congestion.heeds_marks()
            && !slots.connection.is_half_open();
        if may { self.marks.bear() } else { Ecn::NotEct }
    }

    /// So many packets arrived that say this of congestion, and were [taken](Association::receive),
    /// or had been before.
    #[inline]
    pub fn on_marked(&mut self, ecn: Ecn, packets: u32) {
        self.marks.on_received(ecn, packets);
    }

    /// What the layer above may send again since this was asked last.
    pub fn released(&mut self) -> Credit {
        mem::take(&mut self.sending.messages.released)
    }

    /// Whether the layer above may send something again.
    #[inline]
    pub(crate) fn has_released(&self) -> bool {
        self.sending.messages.released != Credit::default()
    }

    /// Where the association stands.
    pub fn phase(&self, now: Instant) -> Phase {
        self.phase_in(&self.view(now))
    }

    /// Whether the peer began it and has not shown that it hears us.
    pub fn is_half_open(&self) -> bool {
        self.slots.connection.is_half_open()
    }

    fn phase_in(&self, view: &View) -> Phase {
        match self.given_up {
            Some(ending) => Phase::Ended(ending),
            None => self.slots.connection.phase(view),
        }
    }

    fn has_ended(&self, view: &View) -> bool {
        matches!(self.phase_in(view), Phase::Ended(_))
    }

    /// The policies.
    pub fn slots(&self) -> &Slots<C> {
        &self.slots
    }

    /// The policies, of which judges may be exchanged between two packets.
    pub fn slots_mut(&mut self) -> &mut Slots<C> {
        &mut self.slots
    }

    /// What was sent and what waits.
    pub fn sending(&self) -> &Sending<C::Message> {
        &self.sending
    }

    /// What was received.
    pub fn receipts(&self) -> &Receipts {
        &self.receipts
    }
}
