//! A packet arrives: it is verified, decoded, admitted and processed, and new data in it is
//! delivered.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{BatchMessages, Credit, MessageProperties};
use stackwright_wire::{Message as _, Pool};

use super::{Arrived, Association, Memory, Probe};
use crate::configuration::{Configuration, FrontOf};
use crate::receipts::Receipts;
use crate::slots::{
    Acknowledgement as _, Connection as _, Flow as _, Format as _, Framing as _, Integrity as _,
    Joined, Lifetime as _, Membership as _, Ordering as _, PacketInfo, Rate as _,
};
use crate::words::{
    Dropped, Ending, Label, Nanoseconds, Numbering, Report, SECOND, Signals, Timestamp, Unit,
    UnitHeader, View,
};

/// How long the packet that everything waits for may be refused, before it is taken for one that
/// will never be admitted.
const REFUSED_MOST: Nanoseconds = 30 * SECOND;

/// How many numbers are held for a peer that has not shown that it receives our packets.
const HELD_HALF_OPEN: u64 = 8;

/// Allocates memory for one message, as the sending half does.
#[cold]
#[inline(never)]
fn reserve<T>(inbox: &mut VecDeque<T>) {
    inbox.reserve_exact(1);
}

/// A delivery of a packet as it came: one message, or several of equal length, one behind the
/// other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// The number of messages.
    pub messages: usize,
    /// The properties of the first message. Those behind it have the numbers after its own.
    pub properties: MessageProperties,
}

impl<C: Configuration> Association<C> {
    /// Receives a packet of this association, whose `front` may have been read before, with others
    /// of its batch `behind` it. Those that form one unit with it are taken: the effect is that of
    /// packets arriving one by one. If they complete messages for which there is `room` above, and
    /// nothing waits to be delivered before them, `packet` is left as those messages, which are
    /// [taken](Association::take); else it is used up.
    ///
    /// # Errors
    /// Why it was dropped, in part or as a whole.
    pub fn receive(
        &mut self,
        now: Instant,
        front: Option<&FrontOf<C>>,
        packet: &mut C::Message,
        behind: Option<&mut BatchMessages<C::Message>>,
        memory: &mut Memory<C::Message>,
        room: Credit,
    ) -> Result<Option<Delivery>, Dropped> {
        let mut view = self.view(now);
        let slots = &mut self.slots;
        let (octets, looks_at) = (packet.len(), slots.integrity.looks_at());
        let mut is_verified = true;
        if looks_at > 0 {
            let front = packet.front(looks_at.min(octets));
            let at = front.and_then(|front| slots.format.check(front, octets));
            is_verified = at.as_ref().is_some_and(|at| at.offered);
            slots.integrity.verify(packet, at)?;
        }
        // What may be refused, or wait for earlier data, is handled packet by packet. Where each
        // octet has a number, several packets are one unit, which may wait.
        let behind = behind.filter(|_| {
            let may_wait = slots.format.numbering() == Numbering::Octets;
            self.begun && (may_wait || slots.ordering.passes()) && !slots.connection.is_half_open()
        });
        let read = match behind {
            Some(behind) if !is_verified => self.read_unverified(&view, front, packet, behind)?,
            behind => slots.format.read_plain(&view, &self.receipts, front, packet, behind),
        };
        if let Some((mut unit, stamp)) = read {
            let slots = &mut self.slots;
            let octets = octets * unit.count as usize;
            slots.lifetime.admit(&view, stamp, false)?;
            if stamp.valid > 0 {
                unit.lifetime = slots.lifetime.left(&view, stamp);
            }
            let next = Some(unit.span.end);
            let info = PacketInfo { octets, next, unit: true, ..PacketInfo::default() };
            slots.connection.admit(&view, &info)?;
            self.begin();
            self.on_heard(now);
            let up = self.accept(&mut view, &unit, packet, &memory.pool, room)?;
            return Ok(up.map(|properties| Delivery { messages: unit.messages(), properties }));
        }
        self.receive_any(&mut view, front, packet.take(), memory).map(|()| None)
    }

    /// Does [`Format::read_plain`](crate::slots::Format::read_plain) where the packets `behind` are
    /// to be verified: each that is taken, and none of the unit counts if one was altered.
    #[inline(never)]
    fn read_unverified(
        &mut self,
        view: &View,
        front: Option<&FrontOf<C>>,
        packet: &mut C::Message,
        behind: &mut BatchMessages<C::Message>,
    ) -> Result<Option<(UnitHeader, Timestamp)>, Dropped> {
        let (slots, receipts) = (&mut self.slots, &self.receipts);
        if !C::Message::SHARES {
            return Ok(slots.format.read_plain(view, receipts, front, packet, None));
        }
        let packets = behind.share();
        let read = slots.format.read_plain(view, receipts, front, packet, Some(behind));
        let taken = packets.len() - behind.len();
        for mut packet in packets.take(taken) {
            let octets = packet.len();
            let front = packet.front(slots.integrity.looks_at().min(octets));
            let at = front.and_then(|front| slots.format.check(front, octets));
            slots.integrity.verify(&packet, at)?;
        }
        Ok(read)
    }

    /// Receives a verified packet with any content.
    #[inline(never)]
    fn receive_any(
        &mut self,
        view: &mut View,
        front: Option<&FrontOf<C>>,
        packet: C::Message,
        memory: &mut Memory<C::Message>,
    ) -> Result<(), Dropped> {
        let (slots, octets) = (&mut self.slots, packet.len());
        memory.heard.clear();
        // The decoded packet stays where it was written: it is large.
        let mut decoded = slots.format.decode(view, front, packet, &mut memory.heard);
        let segment = decoded.as_mut().map_err(|dropped| *dropped)?;
        if let Some(stamp) = segment.stamp {
            slots.lifetime.admit(view, stamp, segment.reports)?;
            if let Some(unit) = &mut segment.unit {
                unit.lifetime = slots.lifetime.left(view, stamp);
            }
        }
        let acknowledged = if segment.reports { memory.heard.highest() } else { 0 };
        // A peer that acknowledges what was never sent is not trusted with the rest of the report.
        if acknowledged > view.sent_upto && acknowledged > self.sending.left_upto() {
            return Err(Dropped::AcknowledgesUnsent);
        }
        // A sender that names numbers in flight has received our packets, or guessed one in as many
        // as there are numbers.
        let reports = acknowledged > view.settled_upto;
        let tidings = PacketInfo {
            signals: segment.signals,
            octets,
            reports,
            next: segment.next,
            unit: segment.unit.is_some(),
        };
        self.slots.connection.admit(view, &tidings)?;
        self.begin();
        self.on_heard(view.now);
        if segment.reports {
            segment.reports = self.slots.membership.merge(
                view,
                segment.signals,
                &mut memory.heard,
                &mut segment.credit,
            );
        }
        if let Some(opening) = self.slots.connection.take_opening() {
            self.on_opened(view, opening);
        }
        if segment.signals.has(Signals::MOVED.with(Signals::OVERHEARD)) {
            self.on_rare(view, segment.signals, &memory.heard);
        }
        if let Some(credit) = segment.credit {
            self.slots.flow.on_credit(credit);
        }
        if let Some(terms) = segment.terms {
            self.slots.rate.on_terms(view, terms);
        }
        if segment.reports {
            let times = (segment.stamp, segment.echo);
            self.on_report(view, &mut memory.heard, times, &memory.pool);
        }
        if let Some(proposal) = segment.proposal {
            self.on_proposal(&self.view(view.now), proposal)?;
        }
        if let Some(rest) = segment.rest.take() {
            rest.reclaim(&memory.pool);
        }
        let mut received = Ok(());
        if let Some(unit) = segment.unit.take() {
            if let Some(mark) = segment.mark {
                self.slots.ordering.on_mark(mark);
            }
            if let Some(settled) = segment.settled.filter(|settled| *settled > view.received_upto) {
                self.receipts.skip_to(settled);
                *view = self.view(view.now);
            }
            // It waits in the inbox until the phase of the association was checked.
            self.expedited = self.expedited.max(segment.expedited.unwrap_or(0));
            let (mut unit, mut body) = unit.into_parts();
            let (start, upto) = (unit.span.start, self.expedited);
            let none = Credit::default();
            if start < upto && upto < unit.span.end {
                // It is the last octet of what is delivered with it.
                let mut front = body.split_to((upto - start) as usize);
                let header = UnitHeader { span: start..upto, piece: front.len(), ..unit.clone() };
                received = self.accept(view, &header, &mut front, &memory.pool, none).map(drop);
                (unit.span.start, unit.piece) = (upto, body.len());
                *view = self.view(view.now);
            }
            let rest = self.accept(view, &unit, &mut body, &memory.pool, none).map(drop);
            received = received.and(rest);
        } else if let Some(next) = segment.next
            && self.slots.ordering.forgives().is_some_and(|upto| upto < next)
        {
            // A packet without data shows a gap, too; where gaps are forgiven, nothing fills it.
            self.receipts.skip_to(next);
        }
        // It is about what came with it, too. Before the peer's first number is known, there is
        // nothing to answer: the answer would be owed for ever.
        if let Some(question) = segment.inquiry.filter(|_| self.begun) {
            self.questions.answered = question.number;
            self.slots.acknowledgement.on_inquiry(&self.view(view.now), question);
        }
        received
    }

    /// Sends a packet, once, where something is heard of a peer that let a timeout expire: after an
    /// outage, the next timeout is as long as the outage was. What may be sent to a stranger is for
    /// what opens the association.
    #[inline(always)] // for each packet
    fn on_heard(&mut self, now: Instant) {
        if self.clocks.timeouts > 0 {
            self.on_heard_again(now);
        }
    }

    #[cold]
    #[inline(never)] // its registers would be saved for each packet
    fn on_heard_again(&mut self, now: Instant) {
        if self.probe == Probe::Ready && !self.is_half_open() {
            self.send_probe(now);
        }
    }

    /// Handles signals that packets seldom carry.
    #[cold]
    fn on_rare(&mut self, view: &mut View, signals: Signals, report: &Report) {
        if signals.has(Signals::OVERHEARD) {
            self.slots.acknowledgement.on_overheard(view, &self.receipts, report);
        }
        if signals.has(Signals::MOVED) {
            self.on_moved(view.now, None);
            *view = self.view(view.now);
        }
    }

    /// Begins the ordering and the framing, if the peer's first number is known by now.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if !self.begun {
            self.try_to_begin();
        }
    }

    #[cold]
    fn try_to_begin(&mut self) {
        if let Some(first) = self.slots.format.peer_first() {
            self.begun = true;
            self.receipts = Receipts::new(first);
            self.slots.connection.on_begun(self.slots.format.peer_idle());
            self.slots.acknowledgement.on_begun(self.slots.format.names_ranges());
            self.slots.ordering.begin(first);
            let mut agreed = Vec::new();
            self.slots.format.agreed(&mut agreed);
            self.slots.framing.on_begun(first, &agreed);
            self.sending.waiting.limit_overtaken(self.slots.format.overtaken_most());
        }
    }

    /// Admits and acknowledges a unit, or refuses it, and delivers what is new of it: at once, as
    /// `body`, with the properties that are given, or through the inbox.
    #[inline(always)] // octets are not moved to get there
    fn accept(
        &mut self,
        view: &mut View,
        unit: &UnitHeader,
        body: &mut C::Message,
        pool: &Pool<C::Message>,
        room: Credit,
    ) -> Result<Option<MessageProperties>, Dropped> {
        if !self.begun {
            return Err(Dropped::NotOurs);
        }
        let (now, duplicate) = (view.now, unit.span.end <= view.received_upto);
        if !duplicate && let Err(dropped) = self.admit(view, unit, body.len()) {
            if unit.count > 1 {
                return self.one_by_one(unit, body, |own, part, body| {
                    let mut view = own.view(now);
                    own.accept(&mut view, part, body, pool, Credit::default())
                });
            }
            self.refuse(view, unit, dropped)?;
        }
        self.used = Some(now);
        if self.inbox.capacity() == 0 {
            reserve(&mut self.inbox);
        }
        let gap = self.receipts.gap_before(unit.span.start);
        // A duplicate is reported too: the report of the first may have been lost.
        self.slots.acknowledgement.on_received(view, unit, body.len(), gap);
        if duplicate {
            self.counts.duplicates += 1;
            self.slots.acknowledgement.on_again(view, &unit.span);
            self.marks.doubt();
            return Err(Dropped::Duplicate);
        }
        if !self.receipts.enter(&unit.span) {
            return self.deliver_parts(view, unit, body, pool);
        }
        self.pending += unit.numbers();
        if self.slots.ordering.takes_next(&unit.span) {
            return self.join(view, unit, body, pool, room);
        }
        self.deliver(view, unit, body, pool)
    }

    /// Takes several packets that cannot be taken as one: each by itself, or each of their
    /// messages.
    #[cold]
    #[inline(never)]
    fn one_by_one(
        &mut self,
        unit: &UnitHeader,
        body: &mut C::Message,
        mut take: impl FnMut(
            &mut Self,
            &UnitHeader,
            &mut C::Message,
        ) -> Result<Option<MessageProperties>, Dropped>,
    ) -> Result<Option<MessageProperties>, Dropped> {
        let mut result = Ok(None);
        for (part, mut body) in unit.clone().split(body.take()) {
            result = result.and(take(self, &part, &mut body));
        }
        result
    }

    /// Checks that a new unit may be acknowledged.
    #[inline(always)]
    fn admit(&self, view: &View, unit: &UnitHeader, octets: usize) -> Result<(), Dropped> {
        self.has_room(view, unit)?;
        let reserves =
            self.slots.framing.admits(unit, octets, unit.span.start <= view.received_upto)?;
        if reserves > 0 && !self.share.admits(reserves) { Err(Dropped::NoRoom) } else { Ok(()) }
    }

    /// Checks that there is memory for the numbers of a unit now.
    #[inline(always)]
    fn has_room(&self, view: &View, unit: &UnitHeader) -> Result<(), Dropped> {
        let (slots, pending) = (&self.slots, self.pending + u64::from(unit.count - 1));
        // Little is held for a peer that is not validated: if it is genuine, it will show that
        // soon.
        let holds = pending >= HELD_HALF_OPEN && slots.connection.is_half_open();
        if holds || !self.receipts.has_room(&unit.span) || self.holds_too_many(view, unit) {
            return Err(Dropped::NoRoom);
        }
        match unit.count {
            1 => slots.flow.admit(view, &unit.span),
            _ => slots.flow.admit(&View { pending, ..*view }, &unit.span),
        }
    }

    /// Returns whether so much memory waits for what is missing that a unit behind that is refused:
    /// a window counts octets, and not what a unit costs beside them.
    #[inline(always)] // nothing waits, as a rule
    fn holds_too_many(&self, view: &View, unit: &UnitHeader) -> bool {
        let held = self.slots.ordering.held() as u64;
        if held == 0 || unit.span.start <= view.received_upto {
            return false;
        }
        let edge = self.slots.flow.credit(view).unwrap_or(u64::MAX);
        let window = edge.saturating_sub(view.received_upto);
        self.slots.format.numbering() == Numbering::Octets && held > window.saturating_mul(2)
    }

    /// Refuses a unit that is not admitted. If framing refuses it and it was received before, it is
    /// a duplicate. If it was not received, and everything waits for it, the association ends: at
    /// once if the peer broke the rules, else when the unit has been refused for too long.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, view: &View, unit: &UnitHeader, dropped: Dropped) -> Result<(), Dropped> {
        let (span, by_framing) = (&unit.span, self.has_room(view, unit).is_ok());
        if by_framing && self.receipts.holds(span) {
            return Ok(());
        }
        self.slots.acknowledgement.on_refused(view, &self.receipts);
        if by_framing && span.start <= view.received_upto {
            let since = match self.refused.as_deref() {
                Some((number, since)) if *number == span.start => *since,
                _ => view.now,
            };
            self.refused = Some(Box::new((span.start, since)));
            if dropped == Dropped::Overrun || view.now.nanoseconds_since(since) >= REFUSED_MOST {
                self.abandon(view, Ending::Overrun);
            } else if dropped == Dropped::TooLong {
                let takes = u32::try_from(self.slots.format.takes()).unwrap_or(u32::MAX);
                self.abandon(view, Ending::TooLong(takes));
            }
        }
        Err(dropped)
    }

    /// Delivers the new octets of a unit of which some were received before, where each octet has a
    /// number.
    #[cold]
    #[inline(never)]
    fn deliver_parts(
        &mut self,
        view: &mut View,
        unit: &UnitHeader,
        body: &mut C::Message,
        pool: &Pool<C::Message>,
    ) -> Result<Option<MessageProperties>, Dropped> {
        debug_assert!(
            unit.count == 1,
            "where several packets came as one, nothing of them had been here"
        );
        let (mut at, mut result) = (unit.span.start, Err(Dropped::Duplicate));
        while let Some(span) = self.receipts.enter_first(at..unit.span.end) {
            body.advance((span.start - at) as usize);
            let mut part = body.split_to((span.end - span.start) as usize);
            at = span.end;
            self.pending += span.end - span.start;
            let label = Label {
                last: unit.label.last && at == unit.span.end,
                // What does not begin the unit does not begin its message.
                index: unit.label.index + u32::from(span.start > unit.span.start),
                ..unit.label
            };
            let unit = UnitHeader { span, piece: part.len(), label, ..*unit };
            result = self.deliver(view, &unit, &mut part, pool);
            result.as_ref().map_err(|dropped| *dropped)?;
        }
        if at == unit.span.start {
            self.counts.duplicates += 1; // nothing of it was new
            self.slots.acknowledgement.on_again(view, &unit.span);
        }
        result
    }

    /// Delivers what is new in its order, and what waited for it.
    #[inline(never)]
    fn deliver(
        &mut self,
        view: &mut View,
        unit: &UnitHeader,
        body: &mut C::Message,
        pool: &Pool<C::Message>,
    ) -> Result<Option<MessageProperties>, Dropped> {
        let UnitHeader { label, since, lifetime, .. } = *unit;
        let unit = Unit { span: unit.span.clone(), label, body: body.take(), since, lifetime };
        let (mut next, mut result) = (self.slots.ordering.arrive(unit), Ok(None));
        while let Some(unit) = next {
            let (unit, mut body) = unit.into_parts();
            result = result.and(self.join(view, &unit, &mut body, pool, Credit::default()));
            next = self.slots.ordering.next();
        }
        if let Some(upto) = self.slots.ordering.forgives() {
            self.receipts.skip_to(upto);
        }
        result
    }

    /// Delivers messages that a unit completes: at once, if they may be, else into the inbox.
    #[inline(always)] // as `accept`
    fn join(
        &mut self,
        view: &mut View,
        unit: &UnitHeader,
        body: &mut C::Message,
        pool: &Pool<C::Message>,
        room: Credit,
    ) -> Result<Option<MessageProperties>, Dropped> {
        let joined = self.slots.framing.join(view, unit, body, pool);
        self.share.set_incomplete(self.slots.framing.held());
        match joined {
            Ok(Some(joined)) => {
                let fits = room.messages >= unit.messages() && body.len() <= room.octets;
                if !fits || !self.inbox.is_empty() || self.is_half_open() {
                    self.keep(view.now, joined, body.take(), unit);
                    return Ok(None);
                }
                self.pending = self.pending.saturating_sub(joined.numbers);
                (view.received_upto, view.pending) = (self.receipts.upto(), 0);
                self.on_taken(view);
                Ok(Some(joined.properties))
            }
            Ok(None) => Ok(None),
            Err(_) if unit.messages() > 1 => self.one_by_one(unit, body, |own, message, body| {
                own.join(view, message, body, pool, Credit::default())
            }),
            Err(dropped) => {
                self.discard(view.now, unit.numbers());
                Err(dropped)
            }
        }
    }

    /// Puts messages, one by one, into the inbox of the application.
    #[inline(never)]
    fn keep(&mut self, since: Instant, joined: Joined, mut octets: C::Message, unit: &UnitHeader) {
        let (Joined { mut properties, numbers }, messages) = (joined, unit.messages());
        if unit.span.end == self.expedited {
            properties.priority = MessageProperties::EXPEDITED;
        }
        let (each, numbers) = (octets.len() / messages, numbers / messages as u64);
        for _ in 0..messages {
            let message = octets.split_to(each);
            self.inbox.push_back(Arrived { message, properties, numbers, since });
            properties = properties.of_next();
        }
    }

    /// Drops a unit that is not what was sent: its numbers are free again, and those of all that is
    /// dropped with it.
    #[cold]
    fn discard(&mut self, now: Instant, numbers: u64) {
        let view = self.view(now);
        let numbers = numbers + self.slots.framing.forget(&view);
        self.share.set_incomplete(self.slots.framing.held());
        self.taken(now, numbers);
        if self.slots.framing.gives_up() {
            self.given_up = Some(Ending::Forged);
        }
    }
}
