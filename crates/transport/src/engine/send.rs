//! A packet leaves: everybody is asked (nothing changes), the format takes what fits, everybody is told what left.

use alloc::boxed::Box;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::Credit;
use stackwright_wire::Message;

use super::{Association, Memory, QUESTIONS};
use crate::configuration::{Configuration, Slots};
use crate::sending::{Leaving, Next, Pieces};
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Format as _, Inquiry as _,
    Integrity as _, Lifetime as _, Rate as _, Recovery as _,
};
use crate::words::{MILLISECOND, Occasion, Saying, Signals, View};

/// More need not leave together: what a driver hands to the kernel at once.
const GATHER_MOST: u64 = 256 << 10;

/// So many packets in a run are worth the wait.
const RUN_LEAST: u64 = 8;

/// With less on its way, acknowledgements may be gathered too, and nothing is held back.
const GATHER_LEAST: u64 = 32 << 10;

impl<C: Configuration> Association<C> {
    /// Whether [`transmit`](Self::transmit) is worth a call: it is not where no unit waits and nobody has anything to say now,
    /// which is so after nearly every packet.
    #[inline]
    pub fn may_transmit(&self, now: Instant) -> bool {
        let (view, slots) = (self.view(now), &self.slots);
        !view.drained
            || slots.acknowledgement.deadline() <= now
            || slots.connection.due(&view)
            || slots.connection.may_send(0)
                && (slots.inquiry.due(&view, Occasion::Nothing) || slots.congestion.asks(&view))
    }

    /// Whether nothing would leave now. Each is asked what it has to say, and not, as [`may_transmit`](Self::may_transmit) does, when it
    /// will have: both must agree. Nothing changes but the memory in which reports are written.
    pub(crate) fn is_silent(&self, now: Instant, memory: &mut Memory<C::Message>) -> bool {
        let (view, slots) = (self.view(now), &self.slots);
        let mut reports = || {
            let (room, into) = (slots.format.report_room(), &mut memory.saying);
            self.begun && slots.acknowledgement.report(&view, &self.receipts, room, into)
        };
        let signals = slots.connection.signals(&view) != Signals::NONE && slots.connection.due(&view);
        let asks = || slots.inquiry.due(&view, Occasion::Nothing) || slots.congestion.asks(&view);
        let says = signals || reports() || slots.connection.may_send(0) && asks();
        self.has_ended(&view) || view.drained && !says
    }

    /// The next packet that is to leave; `None`: nothing is, now.
    pub fn transmit(&mut self, now: Instant, memory: &mut Memory<C::Message>) -> Option<C::Message> {
        let mut view = self.view(now);
        if self.has_ended(&view) {
            return None;
        }
        if self.drop_expired(&view, memory) {
            view = self.view(now);
        }
        let chosen = if self.defers(&view) { None } else { self.choose(&view) };
        let slots = &mut self.slots;
        let reporting = self.begun
            && slots.acknowledgement.report(
                &view,
                &self.receipts,
                slots.format.report_room(),
                &mut memory.saying,
            );
        if reporting && slots.format.tells_marks() {
            memory.saying.ecn = Some(self.marks.received());
        }
        let signals = slots.connection.signals(&view);
        let signalling = signals != Signals::NONE && slots.connection.due(&view);
        let occasion = match chosen {
            Some(last) => Occasion::Unit { last },
            None if signalling => Occasion::Signal,
            None => Occasion::Nothing,
        };
        let asking = slots.connection.may_send(0)
            && (slots.inquiry.due(&view, occasion) || slots.congestion.asks(&view));
        if chosen.is_none() && !reporting && !signalling && !asking {
            return None;
        }

        let next = if chosen.is_some() { self.sending.next() } else { None };
        let number = self.asked.wrapping_add(1);
        let (since, lifetime) = next.as_ref().map_or((now, None), Next::wish);

        let credit = slots.flow.credit(&view);
        let mut saying = Saying {
            unit: next.as_ref().map(Next::cargo),
            part: None,
            report: reporting.then_some(&memory.saying),
            inquiry: asking.then_some(number),
            credit,
            signals,
            stamp: slots.lifetime.stamp(&view, since, lifetime),
            clock: slots.lifetime.clock(&view),
        };
        let header = &mut memory.header;
        header.clear();
        slots.format.encode(&view, &mut saying, header);
        if let (Some(part), Some(next)) = (&saying.part, &next) {
            let (part, last) = (part.clone(), saying.unit.is_none());
            let body = next.part(part, memory.headroom + header.len());
            return Some(self.transmit_part(&view, body, last, memory));
        }
        let (unit_left, reported) =
            (next.is_some() && saying.unit.is_none(), reporting && saying.report.is_none());
        let (asked, said) = (asking && saying.inquiry.is_none(), signals.without(saying.signals));
        let credit_left = saying.credit.is_none();
        assert!(unit_left || reported || asked || said != Signals::NONE, "a format takes something");
        let body = next.filter(|_| unit_left).map_or(0, |next| next.cargo().octets);
        let octets = header.len() + body;
        let check = slots.integrity.looks_at() > 0;
        let check = check.then(|| slots.format.check(header, octets));

        if reported {
            slots.acknowledgement.on_reported(&view, &memory.saying);
        }
        if let Some(credit) = credit.filter(|_| credit_left) {
            slots.flow.on_credit_said(credit);
        }
        slots.connection.on_said(&view, said, octets);
        slots.rate.on_sent(&view, octets, body);
        if !unit_left {
            self.on_asked(&view, asked.then_some(number));
            if let Some(at) = check {
                self.slots.integrity.seal(&mut memory.header, None::<&C::Message>, at);
            }
            return Some(memory.packet());
        }
        self.leave(&view, asked.then_some(number), false, memory, |slots, header, body| {
            if let Some(at) = check {
                slots.integrity.seal(header, Some(body), at);
            }
            // In front of the octets themselves: in place where nobody else holds them, and again when they are sent again.
            body.behind(header)
        })
    }

    /// The question of this number left.
    #[inline]
    fn on_asked(&mut self, view: &View, number: Option<u32>) {
        let Some(number) = number else { return };
        self.asked = number;
        let asked_at = self.asked_at.get_or_insert_with(|| Box::new([Instant::START; QUESTIONS]));
        asked_at[number as usize % QUESTIONS] = view.now;
        self.slots.inquiry.on_asked(view, number);
        self.slots.congestion.on_asked(view, number);
    }

    /// A part of a unit leaves behind the header that was written. The unit has left with the last one.
    #[cold]
    #[inline(never)]
    fn transmit_part(
        &mut self,
        view: &View,
        mut body: C::Message,
        last: bool,
        memory: &mut Memory<C::Message>,
    ) -> C::Message {
        let header = &mut memory.header;
        let octets = header.len() + body.len();
        let slots = &mut self.slots;
        if slots.integrity.looks_at() > 0 {
            let at = slots.format.check(header, octets);
            slots.integrity.seal(header, Some(&body), at);
        }
        slots.connection.on_said(view, Signals::NONE, octets);
        slots.rate.on_sent(view, octets, body.len());
        body.push_front(header.len()).copy_from_slice(header);
        if last {
            self.leave(view, None, true, memory, |_, _, _| ());
        } else {
            self.sending.hold();
        }
        body
    }

    /// The unit leaves, and with it perhaps the question of a number, as the packet that `pack` makes of the header and its octets.
    #[inline(always)] // a packet is not moved once more
    fn leave<T>(
        &mut self,
        view: &View,
        asked: Option<u32>,
        in_parts: bool,
        memory: &mut Memory<C::Message>,
        pack: impl FnOnce(&mut Slots<C>, &mut Vec<u8>, &mut C::Message) -> T,
    ) -> Option<T> {
        if self.sending.is_idle() {
            (self.quiet_since, self.moved, self.timeouts) = (view.now, view.now, 0);
        }
        // Not by what is sent again: a probe would be followed by a probe, and nobody would ever give up.
        if !self.sending.is_losing() {
            (self.stirred, self.probed) = (view.now, false);
        } else if let Some(next) = self.sending.next() {
            self.slots.format.on_repeated(view, next.span.start, next.cargo().octets);
        }
        self.left_at = view.now;
        let slots = &mut self.slots;
        slots.inquiry.on_sent(view);
        slots.congestion.on_sent(view);
        let stamp = self.asked.wrapping_add(1);
        self.on_asked(view, asked);
        let (slots, header) = (&mut self.slots, &mut memory.header);
        let leaving =
            Leaving { now: view.now, inquiry_number: stamp, in_parts, is_kept: slots.recovery.keeps() };
        // Pieces that are shared stay where they are.
        let headroom = if C::Message::SHARES { 0 } else { memory.headroom + slots.format.headroom() };
        // The next question covers it, be it in this very packet or in a later one.
        self.sending.leave(leaving, (&memory.pool, headroom), |body| pack(slots, header, body))
    }

    /// Whether a unit may leave now, and then whether nothing may follow it.
    #[inline]
    pub(super) fn choose(&mut self, view: &View) -> Option<bool> {
        let next = self.sending.next()?;
        let (octets, end) = (next.cargo().octets, next.span.end);
        self.choose_unit(view, octets, end)
    }

    /// The same, of a unit of so many octets, whose last number is the one before `end`.
    #[inline]
    pub(super) fn choose_unit(&mut self, view: &View, octets: usize, end: u64) -> Option<bool> {
        let slots = &self.slots;
        if !slots.connection.may_send(octets)
            || slots.inquiry.holds(view)
            || slots.rate.ready(view) > view.now
        {
            // Not the window holds it back: the time to try that, once past, would be due for ever.
            self.shut_since = None;
            return None;
        }
        let (window, limit) = (slots.congestion.window(), slots.flow.limit(view));
        let in_flight = view.in_flight + octets as u64;
        // A window smaller than a packet would be shut for ever.
        if in_flight > window && (view.in_flight > 0 || window == 0) {
            self.shut_since = None;
            return None;
        }
        // What was sent may be sent again: it was within the limit, or tried it, and a try that is lost must not be the last.
        let within = end <= limit.max(view.sent_upto);
        if !within && !self.tries_shut_window(view) {
            return None;
        }
        if within {
            self.shut_since = None;
        }
        if !self.slots.inquiry.heeds_last() {
            return Some(false);
        }
        let more = self
            .sending
            .second()
            .is_some_and(|(size, number)| in_flight + size as u64 <= window && number.max(end) <= limit);
        Some(!more)
    }

    /// How many of the pieces that lie ahead may leave at this moment, of `most`, and with no question: all answers are as if each were
    /// asked for.
    #[inline]
    pub(super) fn choose_several(&mut self, view: &View, ahead: &Pieces, most: usize) -> usize {
        let first = ahead.first_octets();
        if most == 0 {
            return 0;
        }
        let end = view.sent_upto + ahead.numbers(1, self.sending.sent.numbering());
        let Some(last) = self.choose_unit(view, first, end) else { return 0 };
        if self.asks(view, last) {
            return 0;
        }
        let slots = &self.slots;
        // What leaves after an idle time shrinks the window for what leaves behind it.
        let heeds = view.idle || slots.rate.heeds_sent() || slots.inquiry.heeds_sent();
        if heeds || slots.inquiry.heeds_last() {
            return 1;
        }
        let window = usize::try_from(slots.congestion.window().saturating_sub(view.in_flight));
        let limit = usize::try_from(slots.flow.limit(view).saturating_sub(view.sent_upto));
        let (window, limit) = (window.unwrap_or(usize::MAX), limit.unwrap_or(usize::MAX));
        let count = ahead.count().min(most).min(limit);
        let octets = ahead.octets(count);
        let headers = count * slots.format.headroom();
        if !slots.connection.may_send(octets + headers) {
            return 1;
        }
        // A number each: so many were counted.
        let several = if octets <= window { count } else { count.min(window / first.max(1)) };
        several.max(1)
    }

    /// Send deferral (as Linux' `tcp_tso_should_defer`): whether what could leave waits for an acknowledgement, and then leaves together with
    /// more. Few packets cost as much as many do. It waits only while most of the window is on its way, and no longer than a
    /// millisecond: so much of the window is as good as it gets.
    #[inline]
    pub(super) fn defers(&self, view: &View) -> bool {
        if view.in_flight < GATHER_LEAST || self.sending.is_losing() {
            return false;
        }
        let Some(first) = self.sending.first_octets() else { return false };
        let (window, limit) = (self.slots.congestion.window(), self.slots.flow.limit(view));
        let packets = limit.saturating_sub(view.sent_upto) / self.sending.numbers_in(first).max(1);
        let room = window.saturating_sub(view.in_flight);
        let part = part_at_once(view, view.in_flight + room);
        // What left of messages that were sent together could not be written before any more, and the rest would be copied.
        if let Some((octets, all)) = self.sending.together()
            && octets <= part
            && (room < octets || packets < all)
        {
            return true;
        }
        let room = room.min(packets.saturating_mul(first as u64));
        let part = part_at_once(view, view.in_flight + room);
        // What leaves at this moment already is not interrupted. Fewer packets are not worth it: they would only be bunched. Where
        // none may leave, that is for others to judge.
        self.left_at != view.now
            && part >= RUN_LEAST * first as u64
            && room >= first as u64
            && room < part
            && room < self.sending.waiting_octets() as u64
    }

    /// Whether messages that were sent together wait, in the same way, until there is `room` below for all of them, which they find where
    /// there is `most`.
    #[inline]
    pub fn waits_for_room(&self, now: Instant, room: Credit, most: Credit) -> bool {
        let Some((octets, packets)) = self.sending.together() else { return false };
        let octets = octets + packets * self.slots.format.headroom() as u64;
        let fits = |room: Credit| octets <= room.octets as u64 && packets <= room.messages as u64;
        !fits(room) && fits(most) && self.has_only_data(&self.view(now))
    }

    /// How many octets may leave at one moment, in packets whose bodies have so many, as far as is known before: nothing where they are paced.
    pub(super) fn leaves_at_once(&self, body: usize) -> u64 {
        let (slots, view) = (&self.slots, self.view(self.left_at));
        if slots.rate.heeds_sent() {
            return 0;
        }
        let packets = slots.flow.limit(&view).saturating_sub(view.settled_upto);
        let window = slots.congestion.window().min(packets.saturating_mul(body as u64));
        part_at_once(&view, window)
    }

    /// The peer takes nothing. What it says when that changes may be lost: so a unit is sent all the same, now and then.
    #[cold]
    fn tries_shut_window(&mut self, view: &View) -> bool {
        let Some(wait) = self.slots.flow.tries_after(view) else { return false };
        let since = *self.shut_since.get_or_insert(view.now);
        let tries = view.idle && view.now.nanoseconds_since(since) >= wait;
        if tries {
            self.shut_since = Some(view.now);
        }
        tries
    }

    /// What is of no use any more does not leave, not for the first time and not again. Whether there was any.
    #[inline]
    pub(super) fn drop_expired(&mut self, view: &View, memory: &mut Memory<C::Message>) -> bool {
        // Else the wish was let go when it was sent.
        self.slots.format.expires() && self.drop_over(view, memory)
    }

    fn drop_over(&mut self, view: &View, memory: &mut Memory<C::Message>) -> bool {
        let lifetime = &self.slots.lifetime;
        let mut dropped = false;
        while let Some((since, wish @ Some(_))) = self.sending.first_wish()
            && lifetime.is_over(view, since, wish)
        {
            self.sending.drop_first(&memory.pool);
            dropped = true;
        }
        if dropped {
            self.sending.free_numbers();
        }
        dropped
    }
}

/// So much of a window leaves together.
#[inline]
fn part_at_once(view: &View, window: u64) -> u64 {
    let parts = (view.rtt.smoothed / MILLISECOND).max(4);
    (window / parts).min(GATHER_MOST)
}

/// A packet of the engine's own lies in no longer block of the pool, in octets.
const BLOCK_MOST: usize = 4096;

impl<M: Message> Memory<M> {
    /// The header that was written, as a packet of its own.
    fn packet(&self) -> M {
        let (start, end) = (self.headroom, self.headroom + self.header.len());
        // A long block for a short packet would be held as long as that waits.
        let takes = (end..=BLOCK_MOST).contains(&self.pool.block());
        let block = if takes { Some(self.pool.take()) } else { self.pool.again(end) };
        let Some(mut block) = block else { return M::with_headroom(self.headroom, &self.header) };
        block[start..end].copy_from_slice(&self.header);
        M::from_block(block, start, end)
    }
}
