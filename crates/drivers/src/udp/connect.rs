//! Associations that this side opens, and the canonical form of a peer's address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use mio::net::UdpSocket;
use rustix::io::Errno;
use stackwright_contract::services::{Credit, DatagramsIndication, Ended};
use stackwright_contract::{Handle, Outlet, Participant, PathLimits};
use stackwright_wire::Message;

use super::{Association, Ends, LONGEST, Network, Peers, SEND_ROOM, Udp};
use crate::registry::Registry;
use crate::unopened::{unbound, unconnected};

impl<M: Message> Udp<M> {
    pub(super) fn open(
        &mut self,
        name: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        let remote_address = remote.internet().map(|remote| self.network.identity(remote));
        if let Some(group) = remote_address.filter(|remote| remote.ip().is_multicast()) {
            let local = local.and_then(Participant::internet);
            return self.open_group(name, group, local, credit, out);
        }
        let opened = connect(self.network, self.shared_port, &self.registry, remote, local)
            .and_then(|(socket, remote)| {
                let socket =
                    self.start(socket, Peers::One(name)).map_err(|why| unbound(why, true))?;
                Ok((socket, remote))
            });
        match opened {
            Ok((socket, remote)) => {
                let local = self.sockets.get(socket).expect("it was just started").local;
                if self.network != Network::Udp {
                    self.connected.insert(Ends { remote, local: Some(local) });
                }
                let ends = Ends { remote, local: None };
                self.names.open(name, Association::new(socket, ends, credit));
                out.indicate(DatagramsIndication::Opened {
                    association: name,
                    local: local.into(),
                    remote: remote.into(),
                    credit: SEND_ROOM,
                    path: PathLimits::of_longest(LONGEST),
                });
            }
            Err(why) => out.indicate(DatagramsIndication::Ended { name, why }),
        }
    }
}

/// Opens a socket, at `local` or on any port, that is connected to `remote` only. Nothing is sent
/// yet: whether the port is open shows when the first datagram is refused.
fn connect(
    network: Network,
    shared_port: bool,
    registry: &Registry,
    remote: Participant,
    local: Option<Participant>,
) -> Result<(UdpSocket, SocketAddr), Ended> {
    let remote = network.identity(remote.internet().ok_or(Ended::Unreachable)?);
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = match local {
        Some(local) => local.internet().ok_or(Ended::Unavailable)?,
        None => SocketAddr::new(any, 0),
    };
    let any = local.port() == 0;
    let socket = network
        .bind(local, shared_port && local.port() != 0, registry)
        .map_err(|why| unbound(why, any))?;
    socket.connect(network.destination(remote)).map_err(unconnected)?;
    // The unspecified address leads to this machine: the kernel tells the peer's actual address. At
    // port 0 there is no peer.
    let remote = socket.peer_addr().map_err(|_| Ended::Unreachable)?;
    Ok((socket, network.identity(remote)))
}

/// Returns the one address that identifies a peer: an IPv4 peer of a socket for both families has
/// an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2), and a flow label (RFC 6437) does not identify a
/// sender.
pub(super) fn identity(address: SocketAddr) -> SocketAddr {
    match (address.ip().to_canonical(), address) {
        (IpAddr::V6(ip), SocketAddr::V6(address)) => {
            SocketAddrV6::new(ip, address.port(), 0, address.scope_id()).into()
        }
        (ip, _) => SocketAddr::new(ip, address.port()),
    }
}

/// Returns a peer's address in the form that a socket with the address `local` requires.
pub(super) fn address(peer: SocketAddr, local: SocketAddr) -> SocketAddr {
    match (local, peer) {
        (SocketAddr::V6(_), SocketAddr::V4(peer)) => {
            SocketAddr::new(peer.ip().to_ipv6_mapped().into(), peer.port())
        }
        _ => peer,
    }
}

/// Whether an error says that the peer cannot be reached: that ICMP (RFC 792, RFC 4443 §3.1)
/// reported it for a connected socket (RFC 1122 §4.1.3.3), or that there is no route.
pub(super) fn unreachable(error: Errno) -> bool {
    matches!(
        error,
        Errno::CONNREFUSED
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
            | Errno::HOSTDOWN
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
    )
}
