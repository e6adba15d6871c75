//! What a router or a host on the path reports about a packet of ours.

/// Trouble with one packet, as whoever met it reports (ICMP: RFC 792, RFC 4443). It is a hint:
/// anyone can forge it, and it never ends an association by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// No way leads to the network or to the host, now.
    #[error("no way leads there")]
    Unreachable,
    /// The host has nobody at that port, or of that protocol.
    #[error("nobody is there at that port")]
    Refused,
    /// A filter or a policy does not let it pass.
    #[error("a filter on the path does not let it pass")]
    Prohibited,
    /// It is longer than a link on the path takes, and may not be cut.
    #[error("a link on the path takes at most {longest} octets")]
    TooLong {
        /// The longest packet of the layer that tells it, in octets; 0: unknown.
        longest: u32,
    },
    /// Its hops, or the time to put it together, were used up.
    #[error("it was too long under way")]
    TooFar,
    /// Its header has an error, or asks for what is not known there.
    #[error("its header was not understood")]
    Malformed,
}
