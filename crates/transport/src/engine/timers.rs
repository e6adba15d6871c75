//! Time has passed. Deadlines are asked, never set, once a batch.

use stackwright_contract::Instant;

use super::Association;
use crate::configuration::Configuration;
use crate::slots::{
    Acknowledgement as _, Congestion as _, Connection as _, Flow as _, Framing as _, Inquiry as _, Rate as _,
    Recovery as _, Rtt as _,
};
use crate::words::{Ending, Nanoseconds, SECOND, View};

/// After so long without a packet an association gives back the memory of its queues.
const IDLE: Nanoseconds = SECOND;

/// How many times as long as for one who says nothing, an association that is closed waits for a peer who takes nothing.
const STANDSTILL: u64 = 20;

impl<C: Configuration> Association<C> {
    /// Some time has passed. Only units need to be told; every other policy is asked with the time by `transmit`.
    pub fn handle_timeout(&mut self, now: Instant) {
        let view = self.view(now);
        self.lose_overdue(&view);
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

    /// A server has many associations of which few do anything.
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

    fn lose_overdue(&mut self, view: &View) {
        let mut lost = 0;
        while let Some(patience) = self.slots.recovery.patience(view) {
            let before = view.now.nanoseconds().checked_sub(patience).map(Instant::from_nanoseconds);
            let Some(place) = before.and_then(|before| self.sending.overdue(before)) else { break };
            let times = self.sending.get(place).times;
            let silence = view.now.nanoseconds_since(self.quiet_since);
            // Nobody is left above to give up on a peer who says that he is there, and takes nothing.
            let standstill = view.now.nanoseconds_since(self.moved) / STANDSTILL;
            let recovery = &self.slots.recovery;
            if recovery.gives_up(times, silence) || self.closing && recovery.gives_up(times, standstill) {
                self.given_up = Some(Ending::Silent);
            }
            lost += self.sending.give_up_waiting(place);
        }
        if lost > 0 {
            self.slots.rtt.on_timeout();
            self.slots.congestion.on_lost(view, lost);
            if self.sending.in_flight() == 0 {
                self.slots.congestion.on_silence(view);
                self.marks.doubt();
            }
        }
    }

    /// The end of a burst was lost, and nothing that follows it tells: the last unit is sent once more.
    fn probe(&mut self, view: &View) {
        if let Some(at) = self.probe_at(view)
            && at <= view.now
        {
            self.probed = self.sending.probe();
        }
    }

    fn probe_at(&self, view: &View) -> Option<Instant> {
        if self.probed || self.sending.is_idle() || !view.drained {
            return None;
        }
        let wait = self.slots.recovery.probes_after(view)?;
        Some(self.stirred.later(wait))
    }

    /// When they are wanted for what was received: all of [`next_deadline`](Self::next_deadline) that a message can bring nearer which
    /// went up as it came.
    #[inline]
    pub fn next_receiving(&self) -> Instant {
        let slots = &self.slots;
        let at =
            slots.connection.deadline().min(slots.acknowledgement.deadline()).min(slots.framing.deadline());
        self.used.map_or(at, |used| at.min(used.later(IDLE)))
    }

    /// When `handle_timeout` and `transmit` are wanted next.
    pub fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        let view = self.view(now);
        if self.has_ended(&view) {
            return None;
        }
        let (slots, mut at) = (&self.slots, self.next_receiving());
        if slots.connection.may_send(0) {
            at = at.min(slots.inquiry.deadline(&view)).min(slots.congestion.deadline());
        }
        if let Some(patience) = slots.recovery.patience(&view)
            && let Some(sent) = self.sending.oldest_at()
        {
            at = at.min(sent.later(patience));
        }
        if let Some(probe) = self.probe_at(&view) {
            at = at.min(probe);
        }
        // What would try a shut window may have expired.
        if let Some(since) = self.shut_since
            && view.idle
            && !view.drained
            && let Some(wait) = self.slots.flow.tries_after(&view)
        {
            at = at.min(since.later(wait));
        }
        if !view.drained {
            let ready = self.slots.rate.ready(&view);
            if ready > now {
                at = at.min(ready);
            }
        }
        (at != Instant::END).then_some(at)
    }
}
