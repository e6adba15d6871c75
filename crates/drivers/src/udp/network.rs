//! What the sockets carry: UDP, or a protocol of IP that has no ports.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use mio::net::UdpSocket;
use rustix::net::{
    self, AddressFamily, Protocol, SocketFlags, SocketType, ipproto, socket_with, sockopt,
};

use crate::granted::Wanted;
use crate::registry::Registry;

/// Opens a socket of UDP at `local`.
pub(crate) fn bound(local: SocketAddr) -> io::Result<OwnedFd> {
    let socket = std::net::UdpSocket::bind(local)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// What the sockets of an adapter carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Network {
    Udp,
    /// A protocol of IP, by raw sockets. Addresses have the port 0.
    Raw(Protocol),
}

/// The octets of an IPv4 header without options (RFC 791 §3.1).
const HEADER_LEAST: usize = 20;

impl Network {
    /// Returns the name of the adapter, as the context counts by it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Network::Udp => super::NAME,
            Network::Raw(_) => crate::ip::NAME,
        }
    }

    /// Returns an address as a peer or a listener is known by.
    pub(super) fn identity(self, address: SocketAddr) -> SocketAddr {
        let mut address = super::connect::identity(address);
        if self != Network::Udp {
            address.set_port(0);
        }
        address
    }

    /// Returns an address in the form in which a socket is connected to it: one without a port is
    /// taken for no address, and raw sockets of IPv6 accept only the protocol's number in its place
    /// (raw(7), ipv6(7)).
    pub(super) fn destination(self, mut address: SocketAddr) -> SocketAddr {
        if let Network::Raw(protocol) = self {
            address.set_port(protocol.as_raw().get() as u16);
        }
        address
    }

    /// Opens a socket at `local`, which others may share if it is `shared`.
    ///
    /// # Errors
    /// The operating system's: raw sockets need a right.
    pub(super) fn bind(
        self,
        local: SocketAddr,
        shared: bool,
        registry: &Registry,
    ) -> io::Result<UdpSocket> {
        // No SO_REUSEADDR, unlike TCP: a UDP port is free as soon as its socket is closed, and with
        // the option two programs could take the same one.
        if self == Network::Udp && !shared {
            let socket = registry.or_granted(super::bound(local), || Wanted::Udp(local))?;
            return Ok(UdpSocket::from_std(socket.into()));
        }
        let socket = self.opened(local.is_ipv4(), registry)?;
        if shared {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        net::bind(&socket, &local)?;
        // It has the same calls, whatever it carries.
        Ok(UdpSocket::from_std(socket.into()))
    }

    /// Opens a socket without an address, or has a server do so.
    pub(super) fn opened(self, ipv4: bool, registry: &Registry) -> io::Result<OwnedFd> {
        let own = self.open(ipv4);
        let Network::Raw(protocol) = self else { return own };
        let protocol = protocol.as_raw().get() as u8;
        registry.or_granted(own, || Wanted::Ip { protocol, ipv4 })
    }

    /// Opens a socket without an address.
    pub(crate) fn open(self, ipv4: bool) -> io::Result<OwnedFd> {
        let family = if ipv4 { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (kind, protocol) = match self {
            Network::Udp => (SocketType::DGRAM, ipproto::UDP),
            Network::Raw(protocol) => (SocketType::RAW, protocol),
        };
        Ok(socket_with(family, kind, flags, Some(protocol))?)
    }

    /// Returns whether another socket of this host, too, receives all that `socket` does, which
    /// listens. Of raw sockets the system lets any number have the same addresses, and each receives
    /// everything: two programs would answer the same peer.
    pub(super) fn is_taken(self, socket: &UdpSocket, local: SocketAddr) -> bool {
        let Network::Raw(protocol) = self else { return false };
        // Members of a group have its address in common; and one program may have several endpoints
        // that ask the same peer.
        if local.ip().is_multicast() || socket.peer_addr().is_ok() {
            return false;
        }
        let file = if local.is_ipv4() { "/proc/net/raw" } else { "/proc/net/raw6" };
        let own = format!("{}:{:04X}", hexadecimal(local.ip()), protocol.as_raw());
        let nowhere = if local.is_ipv4() { "0".repeat(8) } else { "0".repeat(32) };
        let there = format!("{nowhere}:");
        // Where the system lists no sockets, nothing is known.
        let sockets = fs::read_to_string(file).unwrap_or_default();
        let is_same = |line: &&str| {
            let mut words = line.split_whitespace().skip(1);
            words.next() == Some(&*own) && words.next().is_some_and(|at| at.starts_with(&*there))
        };
        sockets.lines().filter(is_same).count() > 1
    }

    /// Returns how many octets precede the datagram in what a socket of one family received: raw
    /// sockets of IPv4 receive the header too. `None`: it is not what its header says.
    pub(super) fn header(self, ipv4: bool, octets: &[u8]) -> Option<usize> {
        if self == Network::Udp || !ipv4 {
            return Some(0);
        }
        let first = octets.get(..HEADER_LEAST)?;
        let length = usize::from(first[0] & 0xf) * 4;
        let total = usize::from(u16::from_be_bytes([first[2], first[3]]));
        let is_sound = first[0] >> 4 == 4 && length >= HEADER_LEAST && total == octets.len();
        (is_sound && length <= total).then_some(length)
    }
}

/// Returns an address as the lists of sockets in proc(5) show it: words of 32 bits, as they are in
/// memory.
fn hexadecimal(address: IpAddr) -> String {
    let words = |octets: &[u8]| {
        let words = octets.chunks_exact(4).map(|word| word.try_into().expect("four of them"));
        words.map(|word| format!("{:08X}", u32::from_ne_bytes(word))).collect()
    };
    match address {
        IpAddr::V4(address) => words(&address.octets()),
        IpAddr::V6(address) => words(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn what_precedes_a_datagram_is_what_its_header_says() {
        let raw = Network::Raw(Protocol::from_raw(NonZeroU32::new(36).expect("not 0")));
        let mut octets = [0_u8; 30];
        (octets[0], octets[3]) = (0x45, 30);
        assert_eq!(raw.header(true, &octets), Some(20));
        assert_eq!(raw.header(false, &octets), Some(0), "IPv6 keeps its header");
        assert_eq!(Network::Udp.header(true, &octets), Some(0));
        octets[0] = 0x47;
        assert_eq!(raw.header(true, &octets), Some(28), "with options");
        for (first, total) in [(0x48, 30), (0x44, 30), (0x65, 30), (0x45, 29), (0x45, 31)] {
            (octets[0], octets[3]) = (first, total);
            assert_eq!(raw.header(true, &octets), None, "{first:x} {total}");
        }
        assert_eq!(raw.header(true, &octets[..19]), None);
    }
}
