//! The counters of a channel.

use stackwright_contract::Duration;

/// How many packets met which fate on a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelCounts {
    /// Offered to a station.
    pub offered: u64,
    /// Longer than the MTU.
    pub too_long: u64,
    /// Dropped because the queue of their station was full.
    pub dropped_at_tail: u64,
    /// Sent.
    pub sent: u64,
    /// How often a packet arrived at a station that it was for.
    pub delivered: u64,
    /// How often a packet did not, because that station heard another one as well, or was sending.
    pub collided: u64,
    /// How often a packet did not, because that station does not hear the sender.
    pub unheard: u64,
    /// Arrived altered.
    pub altered: u64,
    /// The octets of delivered packets, without framing.
    pub octets: u64,
    /// The time that transmitters were on, summed over all stations.
    pub on_air: Duration,
}
