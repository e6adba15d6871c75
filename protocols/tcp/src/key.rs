//! What tells the connections between two hosts apart.

use stackwright_base::PortPair;
use stackwright_wire::internet::Tcp;

/// The two ports of a connection; the hosts are those of the association below.
pub type TcpKey = PortPair;

/// Returns the key of a segment that arrives.
pub(crate) const fn key(header: &Tcp) -> TcpKey {
    TcpKey { own: header.destination_port, peer: header.source_port }
}
