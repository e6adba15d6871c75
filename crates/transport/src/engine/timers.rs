//! Time passes: deadlines are asked for, once a batch, and never set.

use stackwright_contract::Instant;

use super::Association;
use crate::configuration::Configuration;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Framing as _, Inquiry as _,
    Rate as _, Recovery as _, Rtt as _,
};
use crate::words::{Ending, Nanoseconds, SECOND, View};

/// How long an association without packets keeps the memory of its queues.
const IDLE: Nanoseconds = SECOND;

/// How many times as long as for a silent peer a closed association waits for one that takes
/// nothing.
const STANDSTILL: u64 = 20;

impl<C: Configuration> Association<C> {
    /// Handles the passing of time. Only units need to be told; every other policy is asked with
    /// the time by `transmit`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let view = self.view(now);
        self.lose_overdue(&view);
        if self.dead_at(&view).is_some_and(|at| at <= now) {
            self.given_up.get_or_insert(Ending::Silent);
        }
        self.probe(&view);
        let numbers = self.slots.framing.forget(&view);
        if numbers > 0 {
            self.share.set(self.slots.framing.held());
            self.taken(now, numbers);
        }
        if self.slots.inquiry.gives_up() {
            self.given_up = Some(Ending::Silent);
        }
        self.give_back(&view);
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
        let silent =
            recovery.dead_after(view, self.timeouts).map(|wait| self.quiet_since.later(wait));
        if !self.closing {
            return silent;
        }
        // There is no application that could give up on a peer that acknowledges and takes nothing.
        let standstill = recovery.dead_after(view, u32::MAX)?.saturating_mul(STANDSTILL);
        let standstill = self.moved.later(standstill);
        Some(silent.map_or(standstill, |silent| silent.min(standstill)))
    }

    /// Returns when the oldest unit in flight is overdue, after `patience`. Progress restarts the
    /// timer (RFC 6298 (5.3)): what waits in the queue of a slow link is not lost while earlier
    /// data arrives. So does its expiry (5.6): a unit that left a little later is not a second
    /// timeout.
    fn overdue_at(&mut self, patience: Nanoseconds) -> Option<Instant> {
        let sent = self.sending.sent.oldest_at()?;
        Some(sent.max(self.timer_since).later(patience))
    }

    fn lose_overdue(&mut self, view: &View) {
        let Some(patience) = self.slots.recovery.patience(view) else { return };
        if self.overdue_at(patience).is_none_or(|at| at > view.now) {
            return;
        }
        let Some(before) = view.now.nanoseconds().checked_sub(patience) else { return };
        let lost = self.sending.sent.lose_overdue(Instant::from_nanoseconds(before));
        if lost > 0 {
            (self.timeouts, self.timer_since) = (self.timeouts.saturating_add(1), view.now);
            self.counts.timeouts += 1;
            self.counts.lost += lost;
            self.slots.rtt.on_timeout();
            self.slots.congestion.on_lost(view, lost);
            if self.sending.in_flight() == 0 {
                self.slots.congestion.on_silence(view);
                self.marks.doubt();
            }
        }
    }

    /// Sends the last unit once more (a tail probe): the end of a burst was lost, and nothing that
    /// follows shows it.
    fn probe(&mut self, view: &View) {
        if let Some(at) = self.probe_at(view)
            && at <= view.now
        {
            self.probed = self.sending.sent.probe();
        }
    }

    fn probe_at(&self, view: &View) -> Option<Instant> {
        if self.probed || self.sending.is_idle() || !view.drained {
            return None;
        }
        let wait = self.slots.recovery.probes_after(view)?;
        Some(self.stirred.later(wait))
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
        let patience = self.slots.recovery.patience(&view);
        let overdue = patience.and_then(|patience| self.overdue_at(patience));
        let slots = &self.slots;
        // The unit that would try a shut window may have expired.
        let shut = self.shut_since.filter(|_| view.idle && !view.drained);
        let tries = shut.and_then(|since| Some(since.later(slots.flow.tries_after(&view)?)));
        let ready = if view.drained { now } else { slots.rate.ready(&view) };
        let ready = (ready > now).then_some(ready);
        let mut at = self.next_receiving();
        if slots.connection.may_send(0) {
            at = at.min(slots.inquiry.deadline(&view)).min(slots.congestion.deadline());
        }
        for deadline in [overdue, self.dead_at(&view), self.probe_at(&view), tries, ready] {
            at = at.min(deadline.unwrap_or(Instant::END));
        }
        (at != Instant::END).then_some(at)
    }
}
