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
//! | `clocks.rs` | the times from which timers run |
//! | `questions.rs` | the numbers of inquiries |
//! | `inbox.rs` | the application takes what has arrived |
//! | `ends.rs` | it closes, gives up, or is over |
//! | `switch.rs` | the rules by which messages go change |
//! | `moves.rs` | the path has changed |
//! | `memory.rs` | memory that associations share |

mod batch;
mod clocks;
mod ends;
mod in_place;
mod inbox;
mod memory;
mod moves;
mod questions;
mod receive;
mod report;
mod send;
mod switch;
mod timers;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::mem;

use stackwright_contract::services::{Batch, Credit, Ecn, MessageProperties};
use stackwright_contract::{Instant, Participant, PathLimits};
use stackwright_wire::Message;

use crate::configuration::{Configuration, Slots};
use crate::limits::{Budget, Limits, Share};
use crate::marks::Marks;
use crate::receipts::Receipts;
use crate::sending::Sending;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, CreditUpdate, DroppedMember, Flow as _,
    Format as _, Framing as _, Membership as _, Rate as _, Recovery as _, Rtt as _, Switching as _,
};
use crate::words::{Ending, Nanoseconds, Numbering, Opening, Terms, View};
use clocks::Clocks;
use inbox::Arrived;
pub use memory::Memory;
use questions::Questions;
pub use receive::Delivery;

/// One association: its policies, and the state that every transport has and no policy replaces.
pub struct Association<C: Configuration> {
    slots: Slots<C>,
    sending: Sending<C::Message>,
    receipts: Receipts,
    marks: Marks,
    /// Whether the peer's first number is known.
    begun: bool,
    /// Whether what waits may be [cut anywhere](crate::slots::Format::cuts_anywhere).
    cuts: bool,
    questions: Questions,
    clocks: Clocks,
    /// The messages that the application has not taken, and the count of all numbers that were
    /// received and not taken.
    inbox: VecDeque<Arrived<C::Message>>,
    pending: u64,
    /// The number behind the newest octet that came expedited.
    expedited: u64,
    /// Whether a timeout expired, and was not found spurious.
    timed_out: bool,
    /// How long the newest packet took of those that are known to have arrived.
    overtaker_took: Nanoseconds,
    /// What the opening has shown of the path, until data shows more.
    opening: Option<Opening>,
    /// Whether the layer above takes no more.
    closing: bool,
    /// How urgent it is among others.
    priority: u8,
    probe: Probe,
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

/// Where the probes stand that show what of a flight was lost, when nothing is reported (RFC 8985
/// §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    /// None has left since something was reported, or left for the first time.
    Ready,
    /// One leaves, whatever the congestion window says, behind so many others.
    Due(u32),
    /// So many have left.
    Sent(u32),
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
        let questions = Questions::behind(slots.format.inquiries_behind());
        let mut association = Association {
            cuts: slots.format.cuts_anywhere(),
            sending: Sending::new(slots.format.numbering(), slots.format.first()),
            slots,
            receipts: Receipts::default(),
            marks: Marks::default(),
            begun: false,
            questions,
            clocks: Clocks::START,
            inbox: VecDeque::new(),
            pending: 0,
            expedited: 0,
            timed_out: false,
            overtaker_took: 0,
            opening: None,
            closing: false,
            priority: MessageProperties::default().priority,
            probe: Probe::Ready,
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
            asked: self.questions.asked,
            answered: self.questions.answered,
            idle: self.sending.is_idle(),
            drained: self.sending.is_drained(),
        }
    }

    /// Tells the format between whom it is, as the layer below names them, and what the path takes.
    pub fn on_below(&mut self, ends: Option<[Participant; 2]>, path: PathLimits) {
        if let Some([local, remote]) = ends {
            self.slots.format.on_ends(local, remote);
        }
        self.slots.format.on_path(path);
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
        let opening = slots.format.opened(view.now, opening);
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
        let mut octets = message.len();
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
        let mut cut = self.slots.framing.begin(message, &properties, room, &memory.pool)?;
        if self.cuts {
            if properties.priority == MessageProperties::EXPEDITED {
                let behind = self.sending.waiting_octets() + octets;
                self.slots.format.on_expedited(self.sending.sent_upto() + behind as u64);
            }
            let Some(rest) = self.sending.waiting.fill(cut.0, room, &memory.pool) else {
                return Ok(());
            };
            (octets, cut.0) = (rest.len(), rest);
        }
        let lifetime = properties.lifetime.filter(|_| self.slots.format.expires());
        // Counted numbers follow it, in however many pieces it leaves.
        // Where rules change, no number makes a message wait behind what is sent later.
        if properties.number.is_some() && !C::Switching::SWITCHES {
            self.sending.watch_numbers();
        }
        let epoch = self.slots.switching.on_message();
        self.sending.push(cut, 1, octets, (now, epoch), lifetime);
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
                let epoch = slots.switching.on_message();
                self.sending.push(cut, messages as u32, octets, (now, epoch), None);
                Ok(())
            }
            Err(run) => Err(Batch::new(run, octets)),
        }
    }

    /// Returns the ECN codepoint for what was transmitted last. It is ECN-capable if the congestion
    /// judge reacts to marks, the peer has shown that it receives our packets, and both sides
    /// report how many came marked.
    #[inline]
    pub fn ecn(&mut self) -> Ecn {
        let slots = &self.slots;
        let may = slots.format.may_be_marked()
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

    /// Returns whether the peer began it and has not shown that it receives our packets.
    pub fn is_half_open(&self) -> bool {
        self.slots.connection.is_half_open()
    }

    /// Returns when the peer was last heard, if it may have forged its address.
    pub(crate) fn stranger_heard(&self) -> Option<Instant> {
        let connection = &self.slots.connection;
        connection.is_stranger().then(|| connection.heard())
    }

    /// Returns the next member of the group that was dropped, once.
    #[inline]
    pub fn take_dropped_member(&mut self) -> Option<DroppedMember> {
        self.slots.membership.take_dropped()
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
