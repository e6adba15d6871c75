//! The address of this side or of its peer has changed: what is in flight went to where it is lost,
//! and another path is judged anew.

use stackwright_contract::Instant;

use super::{Association, Probe};
use crate::configuration::Configuration;
use crate::slots::Acknowledgement as _;
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
}
