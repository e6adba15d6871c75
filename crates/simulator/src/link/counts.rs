//! The counters of a link.

/// How many packets met which fate on one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Offered: each packet is counted here, and in exactly one of the next seven.
    pub offered: u64,
    /// Arrived, or in flight; copies are not counted.
    pub delivered: u64,
    /// Lost in flight.
    pub lost: u64,
    /// Longer than the MTU.
    pub too_long: u64,
    /// Dropped by the policer.
    pub policed: u64,
    /// Sent while the link was down.
    pub in_outage: u64,
    /// Dropped because the queue was full.
    pub dropped_at_tail: u64,
    /// Dropped by CoDel.
    pub dropped_by_codel: u64,
    /// Marked instead of dropped by CoDel. They are counted above too, by their fate.
    pub marked: u64,
    /// Duplicated.
    pub duplicated: u64,
    /// Held back so that later ones overtake.
    pub held_back: u64,
    /// Altered.
    pub altered: u64,
    /// The octets of offered packets, without framing.
    pub octets_offered: u64,
    /// The octets of delivered packets, without framing.
    pub octets: u64,
}
