//! How an association ends: halves are closed, a side gives up, or nothing is left to do.

use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::Code;

use super::Association;
use crate::configuration::Configuration;
use crate::sending::Sending;
use crate::slots::{
    Acknowledgement as _, Connection as _, Format as _, Integrity as _, Membership as _,
};
use crate::words::{Ending, Nanoseconds, Phase, View};

/// For how many retransmission timeouts a peer is told that an association is over.
const FAREWELL: u64 = 3;

impl<C: Configuration> Association<C> {
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
    pub(super) fn stop(&mut self) {
        self.closing = true;
        self.slots.connection.stop(!self.inbox.is_empty());
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

    /// Returns the phase of the association.
    pub fn phase(&self, now: Instant) -> Phase {
        self.phase_in(&self.view(now))
    }

    /// Returns whether the peer was told that the association is over, and only its answer is
    /// awaited.
    pub fn has_parted(&self) -> bool {
        self.slots.connection.has_parted()
    }

    pub(super) fn phase_in(&self, view: &View) -> Phase {
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

    pub(super) fn has_ended(&self, view: &View) -> bool {
        matches!(self.phase_in(view), Phase::Ended(_))
    }

    pub(super) fn lacks_members(&self) -> bool {
        self.slots.membership.counts().is_some_and(|counts| counts.dropped > 0)
    }
}
