//! Time passes: deadlines are asked for, once a batch, and never set.

use stackwright_contract::Instant;
use stackwright_contract::services::MessageProperties;

use super::{Association, Probe};
use crate::configuration::Configuration;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Format as _, Framing as _,
    Inquiry as _, Rate as _, Recovery as _, Rtt as _, Switching as _,
};
use crate::words::{Ending, Nanoseconds, SECOND, View};

/// How long an association without packets keeps the memory of its queues.
const IDLE: Nanoseconds = SECOND;

/// How many times the wait for what a probe shows is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// How many times as long as for a silent peer a closed association waits for one that takes
/// nothing.
const STANDSTILL: u64 = 20;

/// Which part of the silence after which a peer counts as gone a wait takes at most that is guessed
/// from the opening: its answer may have been late for another reason than the path's rate.
const GUESSED_MOST: u64 = 8;

impl<C: Configuration> Association<C> {
    /// Handles the passing of time. Only units, and the policy that waits for the peer to be heard,
    /// need to be told; every other policy is asked with the time by `transmit`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let view = self.view(now);
        self.lose_overtaken(&view);
        self.lose_overdue(&view);
        if self.dead_at(&view).is_some_and(|at| at <= now) {
            self.given_up.get_or_insert(Ending::Silent);
        }
        self.slots.connection.on_time(&view);
        self.slots.inquiry.on_time(&view, self.slots.connection.heard());
        self.slots.switching.on_time(&view);
        self.probe(&view);
        self.cut_for_window(&view);
        let numbers = self.slots.framing.forget(&view);
        if numbers > 0 {
            self.share.set_incomplete(self.slots.framing.held());
            self.taken(now, numbers);
        }
        if self.slots.inquiry.gives_up() {
            self.given_up = Some(Ending::Silent);
        }
        self.give_back(&view);
    }

    /// Cuts what leaves next to what the peer takes, where it has taken less for too long.
    fn cut_for_window(&mut self, view: &View) {
        let (slots, sending) = (&self.slots, &mut self.sending);
        let Some(since) = self.shut_since.filter(|_| view.idle) else { return };
        let fits = slots.flow.limit(view).saturating_sub(view.sent_upto);
        let is_due = slots.flow.tries_after(view).is_some_and(|wait| since.later(wait) <= view.now);
        if is_due && fits > 0 && self.cuts && !sending.is_losing() {
            sending.waiting.cut_first(fits as usize);
            self.shut_since = None;
        }
    }

    /// Frees memory of an idle association: a server has many of which few do anything.
    fn give_back(&mut self, view: &View) {
        if self.used.is_none_or(|used| used.later(IDLE) > view.now) {
            return;
        }
        let idle = view.idle && view.drained && self.inbox.is_empty();
        self.used = (!idle).then_some(view.now);
        if idle {
            self.sending.shrink();
            self.receipts.shrink();
            self.inbox.shrink_to_fit();
        }
    }

    /// Returns when the peer is taken for dead: a deadline of its own, because a retransmission may
    /// be due long before or after it.
    fn dead_at(&self, view: &View) -> Option<Instant> {
        if self.sending.is_idle() {
            return None;
        }
        let recovery = &self.slots.recovery;
        // A peer that would still wait is not given up.
        let agreed = self.slots.connection.agreed_silence();
        let silent = recovery.dead_after(view, self.clocks.timeouts);
        let silent = silent.map(|wait| self.clocks.quiet_since.later(wait.max(agreed)));
        if !self.closing {
            return silent;
        }
        // There is no application that could give up on a peer that acknowledges and takes nothing.
        let standstill = recovery.dead_after(view, u32::MAX)?.saturating_mul(STANDSTILL);
        let standstill = self.clocks.moved.later(standstill);
        Some(silent.map_or(standstill, |silent| silent.min(standstill)))
    }

    /// Returns when the oldest unit in flight is overdue, after `patience`. Progress restarts the
    /// timer (RFC 6298 (5.3)): what waits in the queue of a slow link is not lost while earlier
    /// data arrives. So does its expiry (5.6): a unit that left a little later is not a second
    /// timeout. One that may merely be late is lost alone, when it is `overtaken` for long enough.
    fn overdue_at(&mut self, view: &View, overtaken: Option<Instant>) -> Option<Instant> {
        let patience = self.slots.recovery.patience(view)?;
        let sent = self.sending.sent.oldest_at()?;
        let at = sent
            .max(self.clocks.timer_since)
            .later(patience.max(self.first_takes(view, view.in_flight)));
        Some(overtaken.map_or(at, |late| late.max(at)))
    }

    /// Returns how long `octets` octets take to be acknowledged on a path whose rate is known from
    /// the opening alone, with a quarter more for headers: a request and its answer took at least
    /// as long as their octets take on its slowest link, and so do an acknowledgement and what it
    /// waits behind. On a slow link, the first packets are not lost when they take much longer.
    fn first_takes(&self, view: &View, octets: u64) -> Nanoseconds {
        let Some(opening) = self.opening else { return 0 };
        let own = opening.octets.max(1) as u64;
        let takes = opening.took.saturating_mul(octets + octets / 4 + own) / own;
        let silence = self.slots.recovery.dead_after(view, u32::MAX);
        silence.map_or(takes, |silence| takes.min(silence / GUESSED_MOST))
    }

    /// Returns when a packet that is merely late now is lost: one that left later was acknowledged
    /// (RFC 8985 §6.2, step 5).
    fn overtaken_at(&mut self, view: &View) -> Option<Instant> {
        let sent = &mut self.sending.sent;
        let (sent_at, silent) = match sent.overtaken_at() {
            Some(sent_at) => (sent_at, Instant::START),
            // In a queue that grows, each takes longer than the one before, but one after the other
            // is acknowledged. Other reports, as those of data the other way, say nothing of it.
            None => (sent.restored_at()?, self.clocks.moved.later(view.rtt.smoothed)),
        };
        let lag = self.slots.recovery.lag(view)?;
        Some(sent_at.later(self.overtaker_took + lag).max(silent))
    }

    fn lose_overtaken(&mut self, view: &View) {
        if self.overtaken_at(view).is_none_or(|at| at > view.now) {
            return;
        }
        let late = self.overtaker_took + self.slots.recovery.lag(view).unwrap_or(0);
        let before = view.now.sooner(late).later(1);
        let sent = &mut self.sending.sent;
        let lost = if sent.overtaken_at().is_some() {
            sent.lose_overtaken(u64::MAX, Some(before), view.settled_upto)
        } else {
            sent.lose_restored(before, view.settled_upto)
        };
        self.on_lost(view, lost);
        self.set_pace(view);
    }

    fn lose_overdue(&mut self, view: &View) {
        let overtaken = self.overtaken_at(view);
        if self.overdue_at(view, overtaken).is_none_or(|at| at > view.now) {
            return;
        }
        self.counts.timeouts += 1;
        self.counts.lost += view.in_flight;
        self.sending.sent.lose_all();
        self.clocks.on_timeout(view.now);
        (self.timed_out, self.probe) = (true, Probe::Ready);
        self.opening = None; // it was too short, or the path loses more than it takes time
        self.slots.rtt.on_timeout();
        self.slots.congestion.on_timeout(view);
        self.set_pace(view);
        self.marks.doubt();
    }

    /// Sends one packet more when nothing is reported: its report shows what of the flight was
    /// lost.
    fn probe(&mut self, view: &View) {
        if self.probe_at(view).is_some_and(|at| at <= view.now) {
            self.send_probe(view.now);
        }
    }

    /// Has a packet leave that is lost, or else a new one, or else the last once more (a tail
    /// probe). Where a new one showed nothing, the next is the last once more: what a path drops
    /// for its length arrives in parts, and only what leaves again does leave in parts.
    #[cold]
    pub(super) fn send_probe(&mut self, now: Instant) {
        let view = self.view(now);
        let others = if let Probe::Sent(others) = self.probe { others } else { 0 };
        let is_new = others == 0 && !view.drained && self.slots.flow.limit(&view) > view.sent_upto;
        if self.sending.is_losing() || is_new || self.sending.sent.probe() {
            self.probe = Probe::Due(others);
        }
    }

    /// Returns when a probe leaves: each waits twice as long as the one before. Where something is
    /// lost, it is sent again; where nothing of that is reported, and behind a timeout, the next
    /// timeout decides.
    fn probe_at(&self, view: &View) -> Option<Instant> {
        if self.sending.is_idle() || self.sending.is_losing() || self.clocks.timeouts > 0 {
            return None;
        }
        let wait = self.slots.recovery.probes_after(view)?;
        // Of several packets, the first is reported when it has arrived.
        let one = self.slots.format.room(usize::MAX, &MessageProperties::default()) as u64;
        let wait = wait.max(self.first_takes(view, view.in_flight.min(one)));
        match self.probe {
            Probe::Ready => Some(self.clocks.stirred.later(wait)),
            Probe::Due(_) => None,
            Probe::Sent(others) => {
                Some(self.clocks.left_at.later(wait << others.min(DOUBLED_MOST)))
            }
        }
    }

    /// Returns when `handle_timeout` and `transmit` are needed for what was received: the part of
    /// [`next_deadline`](Self::next_deadline) that a message delivered as it came can bring nearer.
    #[inline]
    pub fn next_receiving(&self) -> Instant {
        let slots = &self.slots;
        let at = slots
            .connection
            .deadline()
            .min(slots.acknowledgement.deadline())
            .min(slots.framing.deadline());
        self.used.map_or(at, |used| at.min(used.later(IDLE)))
    }

    /// Returns when `handle_timeout` and `transmit` are needed next.
    pub fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let view = self.view(now);
        if self.has_ended(&view) {
            return None;
        }
        let overtaken = self.overtaken_at(&view);
        let overdue = self.overdue_at(&view, overtaken);
        let slots = &self.slots;
        // The unit that would try a shut window may have expired.
        let shut = self.shut_since.filter(|_| view.idle && !view.drained);
        let tries = shut.and_then(|since| Some(since.later(slots.flow.tries_after(&view)?)));
        let ready = if view.drained { now } else { slots.rate.ready(&view) };
        let ready = (ready > now).then_some(ready);
        let mut at = self.next_receiving();
        if slots.connection.may_send(0) {
            at = at.min(slots.inquiry.deadline(&view)).min(slots.congestion.deadline());
            at = at.min(slots.switching.deadline());
        }
        for deadline in
            [overtaken, overdue, self.dead_at(&view), self.probe_at(&view), tries, ready]
        {
            at = at.min(deadline.unwrap_or(Instant::END));
        }
        (at != Instant::END).then_some(at)
    }
}
