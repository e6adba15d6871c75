//! Credit for the buffers of the application.

use core::ops::Range;

use stackwright_transport::component;
use stackwright_transport::slots::{CreditUpdate, Flow};
use stackwright_transport::words::{Dropped, Nanoseconds, View};

/// Advertises as many numbers as the application has room for (XTP's reservation mode): what it has
/// taken, and the octets of its buffers, an edge that never moves back. Nothing waits here for an
/// application that does not read, but for two exceptions: at most `first` numbers that were sent
/// before the first credit arrived; and the rest of a packet, because packets are not cut to the
/// credit: where there is room at all, it is that for `least` numbers.
///
/// A sender tries a shut edge again after a retransmission timeout; where the inquiry slot asks as
/// long as something waits, it need not ([`asked_about`](Posted::asked_about)).
///
/// Choose it for bulk data that goes to where the application wants it.
///
/// ```
/// use stackwright_policies::flow::Posted;
/// let flow = Posted::new(1 << 14, 1500);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    first: u64,
    least: u64,
    /// The number before which all was received when nothing had been advertised.
    origin: u64,
    /// The octets that the application has room for now.
    room: u64,
    /// The right edge that the peer advertised.
    theirs: Option<u64>,
    /// The right edge that was last advertised to the peer.
    said: u64,
    asked_about: bool,
}

impl Posted {
    /// Creates the policy: `first` numbers may be sent before the peer has told its room, and
    /// `least` numbers are those of the longest packet.
    pub const fn new(first: u64, least: u64) -> Self {
        Posted { first, least, origin: 0, room: 0, theirs: None, said: 0, asked_about: false }
    }

    /// Leaves a shut edge to inquiries, which find out when it moves. The inquiry policy has to go
    /// on asking as long as something waits.
    #[must_use]
    pub const fn asked_about(self) -> Self {
        Posted { asked_about: true, ..self }
    }

    fn edge(&self, view: &View) -> u64 {
        let taken = view.received_upto.saturating_sub(view.pending);
        let room = if self.room > 0 { self.room.max(self.least) } else { 0 };
        self.said.max(taken.saturating_add(room)).max(view.received_upto)
    }
}

impl Flow for Posted {
    fn limit(&self, view: &View) -> u64 {
        self.theirs.unwrap_or(view.settled_upto + self.first)
    }

    fn on_credit(&mut self, credit: u64) {
        self.theirs = self.theirs.max(Some(credit));
    }

    fn admit(&self, view: &View, span: &Range<u64>) -> Result<(), Dropped> {
        // What left before the first credit arrived is admitted, too.
        if span.end <= self.edge(view).max(self.origin + self.first) {
            Ok(())
        } else {
            Err(Dropped::BeyondWindow)
        }
    }

    fn credit(&self, view: &View) -> Option<u64> {
        Some(self.edge(view))
    }

    fn on_credit_said(&mut self, credit: u64) {
        self.said = credit;
    }

    fn heeds_room(&self) -> bool {
        true
    }

    fn on_room(&mut self, view: &View, octets: usize) -> CreditUpdate {
        self.room = octets as u64;
        if self.said == 0 {
            self.origin = view.received_upto;
        }
        // The peer is at the edge, and may send again.
        let was_shut = self.said > 0 && self.said <= view.received_upto;
        if was_shut && self.edge(view) > self.said {
            CreditUpdate::Tell
        } else {
            CreditUpdate::None
        }
    }

    fn tries_after(&self, view: &View) -> Option<Nanoseconds> {
        (!self.asked_about).then_some(view.rtt.timeout)
    }
}

component! {
    Posted: "flow by reservation", "lets the peer send what the application has buffers for",
    needs: Property::CREDIT.and(Property::REPORTS).and(Property::COUNTS_OCTETS),
    needs_one_of: Property::REPEATS.and(Property::FORGIVES),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_is_what_was_taken_and_the_room_and_never_moves_back() {
        let mut flow = Posted::new(100, 1);
        let at = |received_upto, pending| View { received_upto, pending, ..View::START };
        assert_eq!(flow.on_room(&at(0, 0), 1000), CreditUpdate::None);
        assert_eq!(flow.credit(&at(0, 0)), Some(1000));
        flow.on_credit_said(1000);
        // What was taken has used up its room.
        flow.on_room(&at(400, 0), 600);
        assert_eq!(flow.credit(&at(400, 0)), Some(1000));
        flow.on_room(&at(400, 0), 100);
        assert_eq!(flow.credit(&at(400, 0)), Some(1000), "it was promised");
        assert!(flow.admit(&at(400, 0), &(999..1000)).is_ok());
        assert_eq!(flow.admit(&at(400, 0), &(1000..1001)), Err(Dropped::BeyondWindow));
        flow.on_room(&at(1000, 0), 0);
        assert_eq!(flow.on_room(&at(1000, 0), 50), CreditUpdate::Tell, "the peer waits for it");
        assert_eq!(flow.credit(&at(1000, 0)), Some(1050));
    }

    #[test]
    fn before_the_first_credit_little_is_sent_and_held() {
        let mut flow = Posted::new(100, 60);
        assert_eq!(flow.limit(&View::START), 100);
        assert!(flow.admit(&View::START, &(0..100)).is_ok());
        assert!(flow.admit(&View::START, &(0..101)).is_err());
        flow.on_credit(40);
        assert_eq!(flow.limit(&View::START), 40, "it has no room for more");
        assert_eq!(flow.credit(&View::START), Some(0));
        flow.on_room(&View::START, 1);
        assert_eq!(flow.credit(&View::START), Some(60), "a packet is not cut");
    }
}
