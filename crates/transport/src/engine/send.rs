//! A packet leaves: the policies are asked (which changes nothing), the format takes what fits, and
//! the policies are told what left.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Credit};
use stackwright_wire::Message;

use super::{Association, Memory, Probe};
use crate::configuration::{Configuration, Slots};
use crate::sending::{Leaving, Next};
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Format as _, Inquiry as _,
    Integrity as _, Lifetime as _, Membership as _, Rate as _, Recovery as _, Switching as _,
};
use crate::words::{MILLISECOND, Occasion, Outgoing, ReportRequest, Signals, View};

/// The octets that need to leave together at most: what a driver hands to the kernel at once.
const GATHER_MOST: u64 = 256 << 10;

/// The number of packets in a batch that is worth a wait.
const RUN_LEAST: u64 = 8;

/// The octets on their way below which nothing is held back: acknowledgements may be delayed too.
const GATHER_LEAST: u64 = 32 << 10;

impl<C: Configuration> Association<C> {
    /// Returns whether [`transmit`](Self::transmit) is worth a call. It is not if no unit waits and
    /// no policy has anything to say now, the usual case after a packet.
    #[inline]
    pub fn may_transmit(&self, now: Instant) -> bool {
        let (view, slots) = (self.view(now), &self.slots);
        !view.drained
            || slots.acknowledgement.deadline() <= now
            || slots.connection.due(&view)
            || self.tells_terms()
            || self.proposal(&view).is_some()
            || self.asks(&view, Occasion::Nothing)
    }

    /// Returns whether a packet leaves to tell the peer how fast this side takes data.
    #[inline]
    fn tells_terms(&self) -> bool {
        self.slots.rate.owes_terms() && self.slots.connection.may_send(0)
    }

    /// Returns whether nothing would leave now. Each policy is asked what it has to say now, not,
    /// as [`may_transmit`](Self::may_transmit) does, when it will: both must agree. Nothing changes
    /// but the memory in which reports are written.
    pub(crate) fn is_silent(&self, now: Instant, memory: &mut Memory<C::Message>) -> bool {
        let (view, slots) = (self.view(now), &self.slots);
        let signals = slots.connection.signals(&view, Occasion::Nothing) != Signals::NONE
            && slots.connection.due(&view);
        let says = signals
            || self.reports(&view, memory)
            || self.tells_terms()
            || self.proposal(&view).is_some()
            || self.asks(&view, Occasion::Nothing);
        self.has_ended(&view) || view.drained && !says
    }

    /// Writes what is to be reported now. Returns whether there is anything.
    #[inline]
    fn reports(&self, view: &View, memory: &mut Memory<C::Message>) -> bool {
        let (slots, into) = (&self.slots, &mut memory.saying);
        self.begun
            && slots.acknowledgement.report(view, &self.receipts, slots.format.report_room(), into)
    }

    /// Returns whether an inquiry leaves with it.
    #[inline]
    fn asks(&self, view: &View, occasion: Occasion) -> bool {
        let slots = &self.slots;
        slots.connection.may_send(0)
            && (slots.inquiry.due(view, occasion) || slots.congestion.asks(view))
    }

    /// Returns the next packets that are to leave, within `room`; `None` if none are, now. Packets
    /// of data with nothing else to say leave as one batch.
    #[inline]
    pub fn transmit(
        &mut self,
        now: Instant,
        memory: &mut Memory<C::Message>,
        room: Credit,
    ) -> Option<Batch<C::Message>> {
        let mut view = self.view(now);
        if room.messages > 1
            && self.sending.has_several()
            && self.has_only_data(&view)
            && let Some(batch) = self.write_batch(&mut view, memory, room)
        {
            return Some(batch);
        }
        self.write_alone(view, memory).map(Batch::from)
    }

    /// Writes one packet of any content, which shares the octets of its unit.
    fn write_alone(
        &mut self,
        mut view: View,
        memory: &mut Memory<C::Message>,
    ) -> Option<C::Message> {
        if self.has_ended(&view) {
            return None;
        }
        self.drop_useless(&mut view, memory);
        let next = if self.defers(&view) { None } else { self.sending.next() };
        let chosen = next.as_ref().and_then(|next| self.choose(&view, next));
        let next = if chosen.is_some() { next.as_ref() } else { None };
        let unit = chosen.map(|last| Occasion::Unit { last, lone: self.sending.is_lone() });
        let signals = self.slots.connection.signals(&view, unit.unwrap_or(Occasion::Nothing));
        let slots = &mut self.slots;
        let leaves = unit.is_some() || signals != Signals::NONE;
        // A peer that is told that it is over knows by then what has arrived.
        if signals.has(Signals::END.with(Signals::ENDED)) || leaves && slots.format.always_reports()
        {
            slots.acknowledgement.hurry(&view);
        }
        let reporting = self.reports(&view, memory);
        let slots = &mut self.slots;
        if reporting && slots.format.tells_marks() {
            memory.saying.ecn = Some(self.marks.received());
        }
        let signalling = signals != Signals::NONE && slots.connection.due(&view);
        let occasion = match unit {
            Some(unit) => unit,
            None if signalling => Occasion::Signal,
            None => Occasion::Nothing,
        };
        let asking = self.asks(&view, occasion);
        let proposal = self.proposal(&view);
        let tells = self.tells_terms() || proposal.is_some();
        if next.is_none() && !reporting && !signalling && !asking && !tells {
            return None;
        }

        let slots = &mut self.slots;
        let number = self.questions.next();
        let when_taken = asking && slots.inquiry.awaits_taking(&view, occasion);
        let terms = slots.rate.terms();
        let (since, lifetime) = next.map_or((view.now, None), |next| next.wish);
        let credit = slots.flow.credit(&view);
        let span = next.map_or(0..0, Next::span);
        let mut saying = Outgoing {
            unit: next.map(|next| next.pieces.cargo(&span)),
            part: None,
            report: reporting.then_some(&memory.saying),
            inquiry: asking.then_some(ReportRequest { when_taken, ..number.into() }),
            credit,
            signals,
            terms,
            mark: next.and_then(|next| slots.switching.mark(next.start, next.epoch)),
            proposal,
            priority: self.priority,
            stamp: slots.lifetime.stamp(&view, since, lifetime),
            clock: slots.lifetime.clock(&view),
        };
        let header = &mut memory.header;
        header.clear();
        slots.format.encode(&view, &mut saying, header);
        if let Some(part) = saying.part.clone() {
            let asked = (asking && saying.inquiry.is_none()).then_some(number);
            let (last, said) = (saying.unit.is_none(), signals.without(saying.signals));
            return self.write_part(&view, part, (last, asked, said), memory);
        }
        let unit_left = next.is_some() && saying.unit.is_none();
        let (reported, credited) = (reporting && saying.report.is_none(), saying.credit.is_none());
        let asked = (asking && saying.inquiry.is_none()).then_some(number);
        let said = signals.without(saying.signals);
        let terms_left = terms.is_some() && saying.terms.is_none();
        let proposed = proposal.is_some() && saying.proposal.is_none();
        let told = terms_left || proposed;
        assert!(
            unit_left || reported || asked.is_some() || said != Signals::NONE || told,
            "a format takes something"
        );
        let body = next.filter(|_| unit_left).map(|next| next.pieces.first_octets());
        let octets = header.len() + body.unwrap_or(0);
        let check = (slots.integrity.looks_at() > 0).then(|| slots.format.check(header, octets));
        if reported {
            slots.acknowledgement.on_reported(&view, &memory.saying);
        }
        if let Some(credit) = credit.filter(|_| credited) {
            slots.flow.on_credit_said(credit);
        }
        if terms_left {
            slots.rate.on_terms_said();
        }
        if proposed {
            slots.switching.on_proposed(&view);
        }
        self.tell_packets(&view, said, octets, body.unwrap_or(0));
        if !unit_left {
            self.on_asked(&view, asked);
            if let Some(at) = check {
                self.slots.integrity.seal(&mut memory.header, None::<&C::Message>, at);
            }
            return Some(memory.packet());
        }
        if asking && asked.is_none() {
            self.slots.inquiry.on_unasked(&view);
        }
        self.tell_units(&view);
        self.leave(&view, (1, asked, false), memory, |slots, header, body| {
            if let Some(at) = check {
                slots.integrity.seal(header, Some(body), at);
            }
            // The header goes in front of the octets themselves: in place if they are not shared,
            // and again when they are sent again.
            body.behind(header)
        })
    }

    /// Writes a part of a unit behind the header that was written. The unit counts as sent with its
    /// last part.
    #[cold]
    #[inline(never)]
    fn write_part(
        &mut self,
        view: &View,
        part: Range<usize>,
        (last, asked, said): (bool, Option<u32>, Signals),
        memory: &mut Memory<C::Message>,
    ) -> Option<C::Message> {
        let (slots, header, end) = (&mut self.slots, &mut memory.header, part.end);
        let mut body = self.sending.part(part, memory.headroom + header.len())?;
        let octets = header.len() + body.len();
        if slots.integrity.looks_at() > 0 {
            let at = slots.format.check(header, octets);
            slots.integrity.seal(header, Some(&body), at);
        }
        self.tell_packets(view, said, octets, body.len());
        body.push_front(header.len()).copy_from_slice(header);
        if last {
            self.tell_units(view);
            self.leave(view, (1, asked, true), memory, |_, _, _| ());
        } else {
            self.sending.hold(end);
        }
        Some(body)
    }

    /// Tells the judges of packets that packets of `octets` octets leave, `body` of them of units.
    #[inline]
    pub(super) fn tell_packets(&mut self, view: &View, said: Signals, octets: usize, body: usize) {
        self.slots.connection.on_said(view, said, octets);
        self.slots.rate.on_sent(view, octets, body);
    }

    /// Tells the judges of units that units leave.
    #[inline(always)] // for each packet
    pub(super) fn tell_units(&mut self, view: &View) {
        // Neither a probe nor a retransmission counts: a probe would be followed by a probe.
        if let Probe::Due(others) = self.probe {
            self.probe = Probe::Sent(others + 1);
        } else if !self.sending.is_losing() {
            (self.clocks.stirred, self.probe) = (view.now, Probe::Ready);
        }
        self.clocks.left_at = view.now;
        self.slots.inquiry.on_sent(view);
        self.slots.congestion.on_sent(view);
        if view.idle {
            self.go_on(view);
        }
    }

    /// Begins anew after a silence.
    #[cold]
    #[inline(never)]
    fn go_on(&mut self, view: &View) {
        self.clocks.go_on(view.now);
        self.set_pace(view); // it may be a new one
    }

    /// Records that the inquiry of this number left.
    #[inline]
    fn on_asked(&mut self, view: &View, number: Option<u32>) {
        let Some(number) = number else { return };
        self.questions.on_asked(number, view.now);
        self.slots.inquiry.on_asked(view, number);
        self.slots.congestion.on_asked(view, number);
        self.slots.membership.on_asked(view, number);
    }

    /// Sends the first `count` units, and with them perhaps the inquiry of a number, as the packet
    /// that `pack` makes of the header and their octets.
    #[inline(always)] // a packet is not moved once more
    pub(super) fn leave<T>(
        &mut self,
        view: &View,
        (count, asked, in_parts): (usize, Option<u32>, bool),
        memory: &mut Memory<C::Message>,
        pack: impl FnOnce(&mut Slots<C>, &mut Vec<u8>, &mut C::Message) -> T,
    ) -> Option<T> {
        if self.sending.is_losing() {
            self.counts.retransmitted += count as u64;
            self.tell_repeated(view, count);
        }
        // The next inquiry covers them, whether in this very packet or in a later one.
        let inquiry_number = self.questions.next();
        self.on_asked(view, asked);
        let (slots, header) = (&mut self.slots, &mut memory.header);
        if C::Switching::SWITCHES
            && let Some(Next { start, epoch, is_lost: false, .. }) = self.sending.next()
        {
            slots.switching.on_left(start, epoch);
        }
        let is_kept = slots.recovery.keeps();
        let leaving = Leaving { now: view.now, inquiry_number, in_parts, is_kept };
        // Pieces that are shared stay where they are.
        let headroom =
            if C::Message::SHARES { 0 } else { memory.headroom + slots.format.headroom() };
        self.sending
            .leave(count, leaving, (&memory.pool, headroom), |body| pack(slots, header, body))
    }

    fn tell_repeated(&mut self, view: &View, count: usize) {
        let Some(next) = self.sending.next() else { return };
        for unit in (0..count).map(|nth| next.skip(nth)) {
            self.slots.format.on_repeated(view, unit.start, unit.pieces.first_octets());
        }
    }

    /// Returns whether the next unit may leave now, and if so, whether nothing may follow it.
    #[inline]
    pub(super) fn choose(&mut self, view: &View, next: &Next) -> Option<bool> {
        let (octets, end) = (next.pieces.first_octets(), next.span().end);
        let slots = &self.slots;
        if !slots.connection.may_send(octets)
            || slots.inquiry.holds(view)
            || slots.rate.ready(view) > view.now
            || !next.is_lost && !slots.switching.may_leave(view, next.epoch)
        {
            // The peer's window is not what holds it back: the time to try that window, once past,
            // would be due for ever.
            self.shut_since = None;
            return None;
        }
        let (window, limit) = (slots.congestion.window(), slots.flow.limit(view));
        let in_flight = view.in_flight + octets as u64;
        // A window smaller than a packet would be shut for ever.
        let is_free = view.in_flight == 0 && window > 0;
        let is_probe = matches!(self.probe, Probe::Due(_));
        if in_flight > window && !is_free && !is_probe {
            self.shut_since = None;
            return None;
        }
        if self.cuts && !is_probe && slots.format.waits_for_more(view, next.start, octets) {
            return None;
        }
        // A unit that was sent may be sent again: it was within the limit, or tried it, and a try
        // that is lost must not be the last.
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
        let (slots, headroom) = (&self.slots, self.slots.format.headroom());
        let more = self.sending.second().is_some_and(|(size, number)| {
            in_flight + size as u64 <= window
                && number.max(end) <= limit
                && slots.connection.may_send(octets + headroom + size)
                && self
                    .sending
                    .second_epoch()
                    .is_none_or(|epoch| slots.switching.may_leave(view, epoch))
        });
        Some(!more)
    }

    /// Returns how many of the next packets, of `most`, may leave at this moment without an
    /// inquiry: all answers are as if each packet were asked for.
    #[inline]
    pub(super) fn choose_several(&mut self, view: &View, next: &Next, most: usize) -> usize {
        if most == 0 {
            return 0;
        }
        let Some(last) = self.choose(view, next) else { return 0 };
        let slots = &self.slots;
        let unit = Occasion::Unit { last, lone: false };
        if slots.inquiry.due(view, unit) || slots.congestion.asks(view) {
            return 0;
        }
        // A packet that leaves after an idle time shrinks the window for what leaves behind it; one
        // that probes is followed by what is no probe.
        let heeds = view.idle || slots.rate.heeds_sent() || slots.inquiry.heeds_sent();
        let is_probe = matches!(self.probe, Probe::Due(_));
        if heeds || is_probe || slots.inquiry.heeds_last() {
            return 1;
        }
        let window = usize::try_from(slots.congestion.window().saturating_sub(view.in_flight));
        let limit = usize::try_from(slots.flow.limit(view).max(view.sent_upto) - next.start);
        let (window, limit) = (window.unwrap_or(usize::MAX), limit.unwrap_or(usize::MAX));
        let count = next.count.min(most).min(next.within(limit));
        let octets = next.pieces.octets(count);
        if !slots.connection.may_send(octets + count * slots.format.headroom()) {
            return 1;
        }
        // Packets have a number each, and were counted by those.
        let first = next.pieces.first_octets();
        let several = if octets <= window { count } else { count.min(window / first.max(1)) };
        several.max(1)
    }

    /// Returns whether what could leave is deferred until an acknowledgement comes, to leave
    /// together with more (send deferral, as Linux' `tcp_tso_should_defer`): few packets cost as
    /// much as many do. It is deferred only while most of the window is on its way, and no longer
    /// than a millisecond: that much of the window is as good as it gets.
    #[inline]
    pub(super) fn defers(&self, view: &View) -> bool {
        if view.in_flight < GATHER_LEAST
            || self.sending.is_losing()
            || matches!(self.probe, Probe::Due(_))
        {
            return false;
        }
        let Some(first) = self.sending.waiting.first() else { return false };
        let first = first.pieces.first_octets();
        let (window, limit) = (self.slots.congestion.window(), self.slots.flow.limit(view));
        let packets = limit.saturating_sub(view.sent_upto) / self.sending.numbers_in(first).max(1);
        let room = window.saturating_sub(view.in_flight);
        let part = part_at_once(view, view.in_flight + room);
        // A part of messages that were sent together, once it left, prevents writing headers into
        // the gaps of the rest, which would be copied.
        if let Some((octets, all)) = self.sending.waiting.together()
            && octets <= part
            && (room < octets || packets < all)
        {
            return true;
        }
        let room = room.min(packets.saturating_mul(first as u64));
        let part = part_at_once(view, view.in_flight + room);
        // A burst that leaves at this moment is not interrupted. Fewer packets are not worth the
        // wait: they would only be bunched. Where none may leave, other judges decide.
        self.clocks.left_at != view.now
            && part >= RUN_LEAST * first as u64
            && room >= first as u64
            && room < part
            && room < self.sending.waiting_octets() as u64
    }

    /// Returns whether messages that were sent together are deferred in the same manner until the
    /// credit below, `room`, covers all of them, as its greatest value `most` does.
    #[inline]
    pub fn waits_for_room(&self, now: Instant, room: Credit, most: Credit) -> bool {
        let Some((octets, packets)) = self.sending.waiting.together() else { return false };
        let octets = octets + packets * self.slots.format.headroom() as u64;
        let fits = |room: Credit| octets <= room.octets as u64 && packets <= room.messages as u64;
        !fits(room) && fits(most) && self.has_only_data(&self.view(now))
    }

    /// Returns how many octets may leave at one moment, in packets whose bodies have `body` octets,
    /// as far as that is known in advance: 0 if they are paced.
    pub(super) fn leaves_at_once(&self, body: usize) -> u64 {
        let (slots, view) = (&self.slots, self.view(self.clocks.left_at));
        if slots.rate.heeds_sent() {
            return 0;
        }
        let packets = slots.flow.limit(&view).saturating_sub(view.settled_upto);
        let window = slots.congestion.window().min(packets.saturating_mul(body as u64));
        part_at_once(&view, window)
    }

    /// Tries the window of a peer that takes nothing: its report of a change may be lost, so a unit
    /// is sent all the same, now and then.
    #[cold]
    fn tries_shut_window(&mut self, view: &View) -> bool {
        let Some(wait) = self.slots.flow.tries_after(view) else { return false };
        let since = *self.shut_since.get_or_insert(view.now);
        let tries = view.idle && view.now.nanoseconds_since(since) >= wait && !self.cuts;
        if tries {
            self.shut_since = Some(view.now);
        }
        tries
    }

    #[cold]
    #[inline(never)]
    fn abandon_useless(&mut self, memory: &mut Memory<C::Message>) {
        let Some(Next { epoch, .. }) = self.sending.next() else { return };
        let usual = self.slots.recovery.resends();
        if let Some(resends) = self.slots.switching.resends(epoch, usual) {
            self.sending.abandon_first(resends.saturating_add(1), &memory.pool);
        }
    }

    /// Drops what has expired, which does not leave, for the first time or again; and abandons what
    /// was sent again as often as it may be.
    #[inline]
    pub(super) fn drop_useless(&mut self, view: &mut View, memory: &mut Memory<C::Message>) {
        if self.sending.is_losing() {
            self.abandon_useless(memory);
        }
        // Otherwise the lifetime was discarded when it was sent.
        if self.slots.format.expires() {
            self.drop_over(view, memory);
        }
    }

    fn drop_over(&mut self, view: &mut View, memory: &mut Memory<C::Message>) {
        while let Some(Next { wish: (since, wish @ Some(_)), .. }) = self.sending.next()
            && self.slots.lifetime.is_over(view, since, wish)
        {
            self.sending.drop_first(&memory.pool);
            *view = self.view(view.now);
        }
    }
}

/// Returns how much of a window leaves together.
#[inline]
fn part_at_once(view: &View, window: u64) -> u64 {
    let parts = (view.rtt.smoothed / MILLISECOND).max(4);
    (window / parts).min(GATHER_MOST)
}
