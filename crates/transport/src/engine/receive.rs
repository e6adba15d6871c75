//! A packet arrives: it is verified, decoded, admitted, heeded, and what is new of it goes up.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::{Quality, Room};
use stackwright_wire::{Message as _, Pool};

use super::{Association, Memory, QUESTIONS};
use crate::configuration::Configuration;
use crate::receipts::Receipts;
use crate::sending::Acknowledged;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Format as _, Framing as _,
    Inquiry as _, Integrity as _, Lifetime as _, Ordering as _, Rate as _, Recovery as _, Rtt as _, Suspect,
    Suspects, Tidings,
};
use crate::words::{Dropped, Ending, Label, Nanoseconds, Plain, Report, SECOND, Sample, Stamp, Unit, View};

/// For so long, the packet that everything waits for may be refused before nobody believes that it will ever be admitted.
const REFUSED_MOST: Nanoseconds = 30 * SECOND;

/// How many numbers are held for a peer who has not shown that he hears us.
const HELD_HALF_OPEN: u64 = 8;

/// Takes memory for one message, as the sending half does.
#[cold]
#[inline(never)]
pub(super) fn furnish<T>(inbox: &mut VecDeque<T>) {
    inbox.reserve_exact(1);
}

impl<C: Configuration> Association<C> {
    /// A packet of this association arrives. Where it is a message as it comes, for which there is `room` above, and nothing waits to
    /// go up before it, that message is given, and [taken](Association::take).
    ///
    /// # Errors
    /// Why it was dropped, in part or as a whole.
    pub fn receive(
        &mut self,
        now: Instant,
        mut packet: C::Message,
        memory: &mut Memory<C::Message>,
        room: Room,
    ) -> Result<Option<(C::Message, Quality)>, Dropped> {
        let (view, octets) = (self.view(now), packet.len());
        if self.slots.integrity.looks_at() == 0
            && let Some(plain) = self.slots.format.read_plain(&view, &mut packet)
        {
            let Plain { number, label, stamp } = plain;
            self.admit_plain(&view, stamp, octets)?;
            self.begin();
            let (span, lifetime) = (number..number + 1, NonZeroU32::new(stamp.valid));
            self.hear(&view, &label, &span, packet.len())?;
            if self.receipts.follows(&span)
                && let Some(opened) = self.open_at_once(&label, &mut packet, room)
            {
                return self.take_at_once(&view, &span, opened).map(|quality| Some((packet, quality)));
            }
            let unit = Unit { span, label, body: packet, since: now, lifetime };
            return self.enter(&view, unit, &memory.pool).map(|()| None);
        }
        self.receive_any(&view, packet, memory).map(|()| None)
    }

    /// A packet says nothing but its data, and when it was sent.
    #[inline(always)]
    pub(super) fn admit_plain(&mut self, view: &View, stamp: Stamp, octets: usize) -> Result<(), Dropped> {
        self.slots.lifetime.admit(view, stamp, false)?;
        self.slots.connection.admit(view, &Tidings { octets, ..Tidings::default() })
    }

    /// A unit that is new may be a message as it comes, and go up without a rest in the inbox: what came with it.
    #[inline(always)]
    pub(super) fn open_at_once(
        &mut self,
        label: &Label,
        body: &mut C::Message,
        room: Room,
    ) -> Option<Result<Quality, Dropped>> {
        let may = self.may_go_up(Room { octets: body.len(), messages: 1 }, room);
        if may { self.slots.framing.open(label, body) } else { None }
    }

    /// Whether so much may go up as it comes, where there is so much room.
    #[inline(always)]
    pub(super) fn may_go_up(&self, came: Room, room: Room) -> bool {
        room.messages >= came.messages
            && came.octets <= room.octets
            && self.inbox.is_empty()
            && self.slots.ordering.passes()
            && !self.is_half_open()
    }

    /// It is entered, and taken as it came; or it was not what was sent.
    #[inline(always)]
    pub(super) fn take_at_once(
        &mut self,
        view: &View,
        span: &Range<u64>,
        opened: Result<Quality, Dropped>,
    ) -> Result<Quality, Dropped> {
        self.receipts.follow(span);
        self.pending += span.end - span.start;
        match opened {
            Ok(_) => self.taken(view.now, span.end - span.start),
            Err(_) => self.spoil(view, span),
        }
        opened
    }

    /// It may say anything.
    #[inline(never)]
    fn receive_any(
        &mut self,
        view: &View,
        mut packet: C::Message,
        memory: &mut Memory<C::Message>,
    ) -> Result<(), Dropped> {
        let slots = &mut self.slots;
        let (octets, looks_at) = (packet.len(), slots.integrity.looks_at());
        if looks_at > 0 {
            let at = packet.front(looks_at.min(octets)).and_then(|front| slots.format.check(front, octets));
            slots.integrity.verify(&packet, at)?;
        }
        memory.heard.clear();
        // It stays where it was written: it is large.
        let mut decoded = slots.format.decode(view, packet, &mut memory.heard);
        let segment = decoded.as_mut().map_err(|dropped| *dropped)?;
        if let Some(stamp) = segment.stamp {
            slots.lifetime.admit(view, stamp, segment.reports)?;
            if let Some(unit) = &mut segment.unit {
                unit.lifetime = NonZeroU32::new(stamp.valid);
            }
        }
        if segment.reports {
            self.refuse_unsent(view, &memory.heard)?;
        }
        // Who names what is on its way has heard it, or was lucky once in as many as there are numbers.
        let settled = |end: u64| end <= view.settled_upto;
        let heard = &memory.heard;
        let reports =
            segment.reports && (!settled(heard.upto) || heard.held.iter().any(|span| !settled(span.end)));
        let tidings = Tidings { signals: segment.signals, octets, reports, next: segment.next };
        self.slots.connection.admit(view, &tidings)?;
        self.begin();
        if let Some(credit) = segment.credit {
            self.slots.flow.on_credit(credit);
        }
        if segment.reports {
            self.heed(view, &memory.heard, segment.stamp, &memory.pool);
        }
        if let Some(number) = segment.inquiry {
            self.answered = number;
            self.slots.acknowledgement.on_inquiry(view, number);
        }
        if let Some(rest) = segment.rest.take() {
            rest.reclaim(&memory.pool);
        }
        let Some(unit) = segment.unit.take() else { return Ok(()) };
        let forgiving;
        let view = match segment.settled.filter(|settled| *settled > view.received_upto) {
            Some(settled) => {
                self.receipts.forgive(settled);
                forgiving = self.view(view.now);
                &forgiving
            }
            None => view,
        };
        self.accept(view, unit, &memory.pool)
    }

    /// The peer's first number may be known by now.
    #[inline]
    pub(super) fn begin(&mut self) {
        if !self.begun
            && let Some(first) = self.slots.format.peer_first()
        {
            self.begun = true;
            self.receipts = Receipts::new(first);
            self.slots.ordering.begin(first);
            self.slots.framing.expect(first);
            let mut agreed = Vec::new();
            self.slots.format.agreed(&mut agreed);
            self.slots.framing.on_begun(&agreed);
            self.sending.limit_overtaken(self.slots.format.overtaken_most());
        }
    }

    /// Who acknowledges what was never sent is no peer that could be trusted with the rest of the report.
    fn refuse_unsent(&self, view: &View, report: &Report) -> Result<(), Dropped> {
        let beyond = |end: u64| end > view.sent_upto;
        if beyond(report.upto) || report.held.iter().any(|span| beyond(span.end)) {
            return Err(Dropped::AcknowledgesUnsent);
        }
        Ok(())
    }

    /// When this question left, where that is still known.
    fn asked_at(&self, number: u32) -> Option<Instant> {
        let is_known = self.asked.wrapping_sub(number) < QUESTIONS as u32;
        self.asked_at.as_ref().filter(|_| is_known).map(|asked_at| asked_at[number as usize % QUESTIONS])
    }

    fn heed(&mut self, view: &View, report: &Report, stamp: Option<Stamp>, pool: &Pool<C::Message>) {
        let mut sum = Acknowledged::default();
        // At the end of a burst, of what was sent again the last copy was heard of, unless nothing was ever heard of so soon (RFC 8985
        // §6.2). As long as more follows, that shows what is lost; where a way became long, first copies would be taken for last ones.
        let copies = match view.rtt.least {
            least if least > 0 && view.drained => view.now.sooner(least),
            _ => Instant::START,
        };
        if report.upto > view.settled_upto {
            self.sending.acknowledge(view.settled_upto..report.upto, copies, pool, &mut sum);
        }
        for span in &report.held {
            self.sending.acknowledge(span.clone(), copies, pool, &mut sum);
        }
        self.sending.free_numbers();
        (self.quiet_since, self.timeouts) = (view.now, 0);
        let heeded = if report.answers.is_some() { self.view(view.now) } else { *view };
        let asked_at = report.answers.and_then(|number| self.asked_at(number));
        let slots = &mut self.slots;
        if let Some(at) = sum.measured() {
            // An answer was called forth by the question: the report of the unit may have been lost long ago.
            let took = view.now.nanoseconds_since(asked_at.map_or(at, |asked| at.max(asked)));
            slots.rtt.on_sample(Sample::OfUnit(took));
            if let Some(stamp) = stamp {
                slots.lifetime.on_sample(view, took, stamp);
            }
        }
        // A peer may repeat its answer for ever: it answers once. Numbers of questions wrap.
        if let Some(number) = report.answers
            && (number.wrapping_sub(self.heard) as i32) > 0
            && (self.asked.wrapping_sub(number) as i32) >= 0
        {
            self.heard = number;
            let took = view.now.nanoseconds_since(
                self.asked_at.as_ref().map_or(view.now, |asked_at| asked_at[number as usize % QUESTIONS]),
            );
            if asked_at.is_some() {
                slots.rtt.on_sample(Sample::OfAnswer(took));
            }
            slots.inquiry.on_answer(&heeded, number, took);
            slots.congestion.on_answer(&heeded, number, took);
        }
        let marked = self.marks.heed(view, report.ecn, sum.units);
        if marked > 0 {
            slots.congestion.on_marked(view, marked);
        }
        if sum.units > 0 {
            (self.moved, self.stirred, self.probed) = (view.now, view.now, false);
            // Not by what lies behind a hole: where only time tells what is lost, the hole's timer would never expire.
            if self.sending.settled_upto() > view.settled_upto {
                self.timer_since = view.now;
            }
            slots.format.on_acknowledged(sum.longest, sum.in_parts);
            slots.congestion.on_acknowledged(view, &sum);
            if let Some(pace) = slots.congestion.pace() {
                slots.rate.on_pace(view, pace);
            }
        }
        let is_lost = |suspect: &Suspect| slots.recovery.is_lost(suspect, report);
        let mut lost = match slots.recovery.suspects(view, report) {
            Suspects::None => 0,
            Suspects::Within(span) => self.sending.judge(span, is_lost),
            Suspects::Missing => {
                // They rise; where a peer says them twice, they are judged once.
                let mut judged = 0;
                let spans = report.missing.iter().map(|span| {
                    let start = span.start.max(judged);
                    judged = judged.max(span.end);
                    start..span.end
                });
                spans.map(|span| self.sending.judge(span, is_lost)).sum()
            }
        };
        if let Some(tolerance) = slots.recovery.tolerance()
            && sum.units > 0
        {
            let lag = slots.recovery.lag(view);
            let before = lag.and_then(|lag| sum.surely.map(|surely| surely.sooner(lag)));
            lost += self.sending.lose_overtaken(tolerance, before);
        }
        if lost > 0 {
            slots.congestion.on_lost(view, lost);
        }
    }

    pub(super) fn accept(
        &mut self,
        view: &View,
        unit: Unit<C::Message>,
        pool: &Pool<C::Message>,
    ) -> Result<(), Dropped> {
        self.hear(view, &unit.label, &unit.span, unit.body.len())?;
        self.enter(view, unit, pool)
    }

    /// A unit of this span came: whether it may be entered. What may not is not acknowledged.
    #[inline(always)]
    fn hear(&mut self, view: &View, label: &Label, span: &Range<u64>, octets: usize) -> Result<(), Dropped> {
        if !self.begun {
            return Err(Dropped::NotOurs);
        }
        let slots = &mut self.slots;
        let duplicate = span.end <= view.received_upto;
        if !duplicate {
            let admitted = slots.flow.admit(view, span);
            // Of a stranger, next to nothing is kept: what he shows will be there soon, if he is none.
            let admitted = match self.pending >= HELD_HALF_OPEN && slots.connection.is_half_open() {
                true => Err(Dropped::NoRoom),
                false => admitted,
            };
            let admitted = if self.receipts.has_room(span) { admitted } else { Err(Dropped::NoRoom) };
            if let Err(dropped) = admitted {
                slots.acknowledgement.on_refused(view, &self.receipts);
                return Err(dropped);
            }
            let follows = span.start <= view.received_upto;
            if let Err(dropped) = slots.framing.admits(label, octets, follows) {
                self.refuse(view, span, dropped)?;
            } else if label.count > 1 && !self.share.admits(slots.framing.reserves(label, octets)) {
                self.refuse(view, span, Dropped::NoRoom)?;
            }
        }
        let slots = &mut self.slots;
        self.used = Some(view.now);
        if self.inbox.capacity() == 0 {
            furnish(&mut self.inbox);
        }
        let gap = self.receipts.gap_before(span.start);
        // A duplicate too: the report of the first was lost.
        slots.acknowledgement.on_received(view, span, octets, gap);
        if duplicate {
            self.marks.doubt();
            return Err(Dropped::Duplicate);
        }
        Ok(())
    }

    /// Framing does not admit a unit, unless it was here before. Where everything waits for it, the association ends: at once if the
    /// peer broke the rules, else when it has waited for too long.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, view: &View, span: &Range<u64>, dropped: Dropped) -> Result<(), Dropped> {
        if self.receipts.holds(span) {
            return Ok(());
        }
        self.slots.acknowledgement.on_refused(view, &self.receipts);
        if span.start <= view.received_upto {
            let since = match self.refused {
                Some((number, since)) if number == span.start => since,
                _ => view.now,
            };
            self.refused = Some((span.start, since));
            if dropped == Dropped::Overrun || view.now.nanoseconds_since(since) >= REFUSED_MOST {
                self.abandon(view, Ending::Overrun);
            }
        }
        Err(dropped)
    }

    /// This side ends the association. The peer is told, where it can be.
    fn abandon(&mut self, view: &View, why: Ending) {
        if !self.slots.connection.abandon(view, why) {
            self.given_up = Some(why);
        }
    }

    /// It is entered, and what of it is new goes up.
    #[inline(always)] // as `raise`
    fn enter(&mut self, view: &View, unit: Unit<C::Message>, pool: &Pool<C::Message>) -> Result<(), Dropped> {
        let (first, more) = if self.receipts.follow(&unit.span) {
            (unit.span.clone(), Vec::new())
        } else {
            self.insert(unit.span.clone())
        };
        let result = match first == unit.span {
            true => self.raise(view, unit, pool),
            false if first.is_empty() => Err(Dropped::Duplicate),
            false => self.raise_parts(view, unit, first, more, pool),
        };
        if let Some(upto) = self.slots.ordering.forgives() {
            self.receipts.forgive(upto);
        }
        result
    }

    /// What of a span was never here before: the first part, and the others, of which there are hardly ever any.
    #[inline(never)]
    fn insert(&mut self, span: Range<u64>) -> (Range<u64>, Vec<Range<u64>>) {
        let (mut first, mut more) = (0..0, Vec::new());
        self.receipts.insert(span, |part| if first.is_empty() { first = part } else { more.push(part) });
        (first, more)
    }

    /// Some of the unit was here before; these parts of it were not.
    #[cold]
    fn raise_parts(
        &mut self,
        view: &View,
        unit: Unit<C::Message>,
        first: Range<u64>,
        more: Vec<Range<u64>>,
        pool: &Pool<C::Message>,
    ) -> Result<(), Dropped> {
        let span = unit.span.clone();
        let (mut rest, mut at) = (unit.body, span.start);
        for part in core::iter::once(first).chain(more) {
            rest.advance((part.start - at) as usize);
            let body = rest.split_to((part.end - part.start) as usize);
            at = part.end;
            let label = Label { last: unit.label.last && part.end == span.end, ..unit.label };
            self.raise(view, Unit { span: part, label, body, ..unit }, pool)?;
        }
        Ok(())
    }

    /// What is new goes up, and what waited for it.
    #[inline(always)] // a unit is not moved to get there
    fn raise(&mut self, view: &View, unit: Unit<C::Message>, pool: &Pool<C::Message>) -> Result<(), Dropped> {
        self.pending += unit.span.end - unit.span.start;
        let Some(unit) = self.slots.ordering.arrive(unit) else { return Ok(()) };
        let result = self.join(view, unit, pool);
        match self.slots.ordering.next() {
            Some(next) => result.and(self.raise_next(view, next, pool)),
            None => result,
        }
    }

    /// What waited goes up.
    #[inline(never)]
    fn raise_next(
        &mut self,
        view: &View,
        mut unit: Unit<C::Message>,
        pool: &Pool<C::Message>,
    ) -> Result<(), Dropped> {
        let mut result = Ok(());
        loop {
            result = result.and(self.join(view, unit, pool));
            match self.slots.ordering.next() {
                Some(next) => unit = next,
                None => return result,
            }
        }
    }

    #[inline(always)] // as `raise`
    pub(super) fn join(
        &mut self,
        view: &View,
        unit: Unit<C::Message>,
        pool: &Pool<C::Message>,
    ) -> Result<(), Dropped> {
        let span = unit.span.clone();
        let joined = self.slots.framing.join(view, unit, pool);
        self.share.set(self.slots.framing.held());
        match joined {
            Ok(Some(joined)) => self.inbox.push_back(joined),
            Ok(None) => {}
            Err(dropped) => {
                self.spoil(view, &span);
                return Err(dropped);
            }
        }
        Ok(())
    }

    /// A unit was not what was sent: its numbers are free again, and those of all that is dropped with it.
    #[cold]
    fn spoil(&mut self, view: &View, span: &Range<u64>) {
        let numbers = span.end - span.start + self.slots.framing.forget(view);
        self.share.set(self.slots.framing.held());
        self.taken(view.now, numbers);
        if self.slots.framing.gives_up() {
            self.given_up = Some(Ending::Forged);
        }
    }
}
