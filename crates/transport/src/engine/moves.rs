//! The path has changed: with the address of this side or of its peer, when what is in flight went
//! to where it is lost, and another path is judged anew; or as a router on it reports.

use stackwright_contract::{Instant, Trouble};

use super::{Association, Probe};
use crate::configuration::Configuration;
use crate::slots::{Acknowledgement as _, Connection as _, Format as _};
use crate::transport::NewPath;

impl<C: Configuration> Association<C> {
    /// Handles a change of an address. All that is in flight leaves again at once, and what was
    /// received is reported. Where the path is `new`, its judges begin anew (RFC 9000 §9.4);
    /// otherwise they are told of no loss, because no queue dropped anything.
    pub fn on_moved(&mut self, now: Instant, new: Option<NewPath<C>>) {
        self.sending.sent.lose_all();
        self.marks.doubt();
        self.clocks.on_moved(now);
        self.probe = Probe::Ready;
        if let Some(NewPath { slots, opening }) = new {
            (self.slots.rtt, self.slots.recovery) = (slots.rtt, slots.recovery);
            (self.slots.congestion, self.slots.rate) = (slots.congestion, slots.rate);
            self.on_opened(&self.view(now), opening);
        }
        let view = self.view(now);
        self.slots.acknowledgement.on_moved(&view, &self.receipts);
    }

    /// Handles trouble with a packet that began with `quoted`. Anyone can report that: it is a hint
    /// only if such a packet is in flight. Returns whether one is.
    pub fn on_trouble(&mut self, now: Instant, what: Trouble, quoted: &[u8; 8]) -> bool {
        let view = self.view(now);
        let Some(number) = self.slots.format.quoted(&view, quoted) else { return false };
        if let Trouble::TooLong { .. } = what {
            // It leaves again at once; no queue dropped it (RFC 1191 §6.5).
            self.sending.sent.judge(number..number + 1, view.settled_upto, |_| true);
        }
        self.slots.connection.on_trouble(&view, what);
        true
    }
}
