//! What a link did so far.

/// How many packets met what on one way of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Offered: each packet is counted here, and in exactly one of the next six.
    pub offered: u64,
    /// Arrived, or on the way; copies are not counted.
    pub delivered: u64,
    /// Lost on the way.
    pub lost: u64,
    /// Longer than the MTU.
    pub too_long: u64,
    /// Sent while the link was down.
    pub in_outage: u64,
    /// Found the queue full.
    pub dropped_at_tail: u64,
    /// Dropped by CoDel.
    pub dropped_by_codel: u64,
    /// Would have been dropped by CoDel, and were marked. They are counted above too, as what
    /// became of them.
    pub marked: u64,
    /// Arrive twice.
    pub duplicated: u64,
    /// Are held back so that later ones overtake.
    pub held_back: u64,
    /// Arrive altered.
    pub altered: u64,
    /// The octets of those delivered, without framing.
    pub octets: u64,
}
