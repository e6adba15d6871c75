//! What happened on a channel so far.

use stackwright_contract::Duration;

/// How many packets met what on a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelCounts {
    /// Handed to a station.
    pub offered: u64,
    /// Longer than the MTU.
    pub too_long: u64,
    /// Found the queue of their station full.
    pub dropped_at_tail: u64,
    /// Sent.
    pub sent: u64,
    /// How often one arrived at a station that it was for.
    pub delivered: u64,
    /// How often one did not, because that station heard another one as well, or was sending
    /// itself.
    pub collided: u64,
    /// How often one did not, because that station does not hear the sender.
    pub unheard: u64,
    /// Arrived altered.
    pub altered: u64,
    /// The octets of those delivered, without framing.
    pub octets: u64,
    /// How long transmitters were on, added up over all stations.
    pub on_air: Duration,
}
