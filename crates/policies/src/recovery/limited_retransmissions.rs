//! An end to retransmission.

use stackwright_transport::component;
use stackwright_transport::slots::{Recovery, Suspect, Suspects};
use stackwright_transport::words::{Nanoseconds, Opening, Report, View};

use super::{RackTlp, SelectiveRepeat};

/// Sends a packet again a number of times at most, when another policy finds it lost; then its
/// message is abandoned, and the peer is told so in place of the packet, until it acknowledges that
/// (SCTP's limited retransmissions, RFC 7496 §3.1). So neither the order nor the window of the peer
/// waits for what will not come.
///
/// Choose it where a message is of less use the later it comes, and the next one is coming anyway.
/// Not for go-back-N, which sends again what has arrived as well.
///
/// ```
/// use stackwright_policies::recovery::{LimitedRetransmissions, SelectiveRepeat};
/// use stackwright_transport::slots::Recovery;
/// let recovery = LimitedRetransmissions::new(SelectiveRepeat::new(), 3);
/// assert_eq!(recovery.resends(), Some(3));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LimitedRetransmissions<R> {
    other: R,
    resends: u16,
}

impl<R> LimitedRetransmissions<R> {
    /// Creates the policy around `other`, which finds what is lost: it is sent again `resends`
    /// times at most.
    pub const fn new(other: R, resends: u16) -> Self {
        LimitedRetransmissions { other, resends }
    }
}

impl<R: Recovery> Recovery for LimitedRetransmissions<R> {
    fn resends(&self) -> Option<u16> {
        Some(self.resends)
    }

    fn on_opened(&mut self, opening: &Opening) {
        self.other.on_opened(opening);
    }

    fn on_lost(&mut self, view: &View) {
        self.other.on_lost(view);
    }

    fn on_reordered(&mut self, view: &View, was_lost: bool, by: Nanoseconds) {
        self.other.on_reordered(view, was_lost, by);
    }

    fn keeps(&self) -> bool {
        self.other.keeps()
    }

    fn suspects(&self, view: &View, report: &Report) -> Suspects {
        self.other.suspects(view, report)
    }

    fn is_lost(&self, view: &View, suspect: &Suspect, report: &Report) -> bool {
        self.other.is_lost(view, suspect, report)
    }

    fn tolerance(&self) -> Option<u64> {
        self.other.tolerance()
    }

    fn lag(&self, view: &View) -> Option<Nanoseconds> {
        self.other.lag(view)
    }

    fn patience(&self, view: &View) -> Option<Nanoseconds> {
        self.other.patience(view)
    }

    fn probes_after(&self, view: &View) -> Option<Nanoseconds> {
        self.other.probes_after(view)
    }

    fn dead_after(&self, view: &View, timeouts: u32) -> Option<Nanoseconds> {
        self.other.dead_after(view, timeouts)
    }
}

component! {
    LimitedRetransmissions<RackTlp>: "recovery by RACK-TLP, limited",
    "sends a packet again a few times, when later ones have arrived, and probes the tail",
    needs: Property::UNASKED.and(Property::COUNTS_PACKETS).and(Property::GAPS),
    gives: Property::REPEATS.and(Property::ABANDONS),
}

component! {
    LimitedRetransmissions<SelectiveRepeat>: "recovery by selective repeat, limited",
    "sends again a few times what an answer misses",
    needs: Property::REPORTS
        .and(Property::ASKS)
        .and(Property::SPANS)
        .and(Property::COUNTS_PACKETS)
        .and(Property::GAPS),
    gives: Property::REPEATS.and(Property::ABANDONS),
}
