//! What tells the connections between two hosts apart.

use stackwright_wire::internet::Tcp;

/// The two ports of a connection; the hosts are those of the association below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TcpKey {
    /// The port of this side.
    pub own: u16,
    /// The port of the peer.
    pub peer: u16,
}

impl TcpKey {
    /// Returns the key of a segment that arrives.
    pub const fn of(header: &Tcp) -> Self {
        TcpKey { own: header.destination_port, peer: header.source_port }
    }
}
