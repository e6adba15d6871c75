//! An end to retransmission.

use stackwright_transport::slots::{self, Recovery};
use stackwright_transport::{component, wraps};

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
/// use stackwright_transport::slots::{self, Recovery};
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

wraps! { LimitedRetransmissions<R>: other }

impl<R: Recovery> slots::WrapsRecovery for LimitedRetransmissions<R> {
    fn resends(&self) -> Option<u16> {
        Some(self.resends)
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
