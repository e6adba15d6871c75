//! The local address of an association, where a socket has all of this host's: the kernel tells at
//! which of them a datagram arrived, and is told from which the answer leaves (RFC 1122 §4.1.3.5,
//! RFC 3542 §6.1). Left to itself, it takes the one that the route prefers, and a peer that asked
//! another does not know the answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsFd;

use nix::libc;
use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo};
use nix::sys::socket::{ControlMessage, setsockopt};

/// Has the kernel tell at which address each datagram arrived at a socket with the address `local`.
pub(super) fn ask(socket: &impl AsFd, local: SocketAddr) {
    // Without it, answers leave as the route says. A socket for both families has both.
    let _ = setsockopt(socket, Ipv4PacketInfo, &true);
    if local.is_ipv6() {
        let _ = setsockopt(socket, Ipv6RecvPacketInfo, &true);
    }
}

/// Returns the address in an `in_pktinfo` (ip(7)): of its three fields the second, which is an
/// address of this host even if the datagram was sent to all of them.
pub(super) fn of_ipv4(info: &[u8]) -> Option<SocketAddr> {
    let ip = Ipv4Addr::from(*info.get(4..)?.first_chunk::<4>()?);
    (!ip.is_unspecified()).then_some(SocketAddr::new(ip.into(), 0))
}

/// Returns the address in an `in6_pktinfo` (ipv6(7)), with its interface where it means nothing
/// without (RFC 4007 §6); `None` if it is that of a group, from which nothing is sent.
pub(super) fn of_ipv6(info: &[u8]) -> Option<SocketAddr> {
    let (ip, interface) = info.split_first_chunk::<16>()?;
    let (ip, interface) = (Ipv6Addr::from(*ip), u32::from_ne_bytes(*interface.first_chunk()?));
    let scope = if ip.is_unicast_link_local() { interface } else { 0 };
    (!ip.to_canonical().is_multicast()).then_some(SocketAddrV6::new(ip, 0, 0, scope).into())
}

/// From where datagrams leave, as the kernel is told.
pub(super) enum Source {
    V4(libc::in_pktinfo),
    V6(libc::in6_pktinfo),
}

impl Source {
    pub(super) fn of(local: SocketAddr) -> Self {
        let scope = if let SocketAddr::V6(local) = local { local.scope_id() } else { 0 };
        match local.ip() {
            IpAddr::V4(ip) => Source::V4(libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) },
                ipi_addr: libc::in_addr { s_addr: 0 },
            }),
            IpAddr::V6(ip) => Source::V6(libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: ip.octets() },
                ipi6_ifindex: scope,
            }),
        }
    }

    pub(super) fn message(&self) -> ControlMessage<'_> {
        match self {
            Source::V4(info) => ControlMessage::Ipv4PacketInfo(info),
            Source::V6(info) => ControlMessage::Ipv6PacketInfo(info),
        }
    }
}
