//! The configuration.

use stackwright_contract::Duration;

/// The configuration of an [`Ordered`](crate::Ordered). The two ends of an association need not
/// agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The most octets of one association that a peer is granted at a time: they may be in flight
    /// to this end or wait for the layer above, where a piece counts as 64 at least. At least 128.
    /// A stream moves no more than this in a round trip. The first grant is 256 KiB; a peer is
    /// granted more once the layer above took as much.
    pub window: usize,
    /// The octets of one association that may wait to leave: the initial credit downward. At least
    /// 1.
    pub room: usize,
    /// The most octets of the stream in one datagram. At least 1. A datagram that is delivered as a
    /// whole keeps its first octet waiting for its last.
    pub piece: usize,
    /// How long the peer may be silent where no layer above waits for it: before the first datagram
    /// of an arrival, and before the last datagram of an association that is over. Three times as
    /// long without progress of this side's half of one that was closed: a piece of 16 KiB takes
    /// two minutes at 1200 bit/s.
    pub timeout: Duration,
}

/// The window of a new association, in octets, where the configured one is not smaller.
pub(crate) const WINDOW_FIRST: usize = 256 << 10;

impl Default for Config {
    /// Returns 8 MiB to this end and 256 KiB that wait to leave it, in pieces of 16 KiB; a minute.
    fn default() -> Self {
        Config {
            window: 8 << 20,
            room: 256 << 10,
            piece: 16 << 10,
            timeout: Duration::from_secs(60),
        }
    }
}
