//! The configuration.

use stackwright_contract::Duration;

/// How an [`Ordered`](crate::Ordered) behaves. The two ends of an association need not agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// How many octets of one association a peer is granted at a time: what may be on its way here
    /// or wait for the layer above, where a piece counts as 64 at least. At least 128. A stream
    /// moves no more than this in a round trip.
    pub window: usize,
    /// How many octets of one association may wait to leave: the first room downward. At least 1.
    pub room: usize,
    /// How many octets of the stream one datagram carries at most. At least 1. A datagram that is
    /// delivered whole keeps its first octet waiting for its last.
    pub piece: usize,
    /// How long a peer may say nothing where nothing above waits for it: before the first word of
    /// an arrival, before the last word of an association that is over, and without progress of our
    /// half of one that was closed.
    pub timeout: Duration,
}

impl Default for Config {
    /// 256 KiB each way in pieces of 16 KiB; a minute.
    fn default() -> Self {
        Config {
            window: 256 << 10,
            room: 256 << 10,
            piece: 16 << 10,
            timeout: Duration::from_secs(60),
        }
    }
}
