//! The two ends of an association, as addresses of any kind.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, SocketAddr, SocketAddrV6};
use core::num::NonZeroU16;

use crate::CallSign;

/// An address, and the interface through which it is reached.
///
/// It is small and `Copy`, because every boundary that an association crosses names it. What does
/// not fit (a path of digipeaters) is kept by the protocol that needs it, which puts an index here.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Debug)]
pub struct Participant {
    /// Which of several lower layers, or of several ports of one; `None`: any. `Join` sets and
    /// reads it; AX.25 says with it at which port a station is.
    pub interface: Option<Interface>,
    /// The address there.
    pub address: Address,
}

// Nearly all layers compare them only where associations begin: one copy in a program will do.

impl PartialEq for Participant {
    #[inline(never)]
    fn eq(&self, other: &Self) -> bool {
        self.interface == other.interface && self.address == other.address
    }
}

impl Hash for Participant {
    #[inline(never)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.interface.hash(state);
        self.address.hash(state);
    }
}

/// The number of a lower layer, counted from 0. `Option<Interface>` has two octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Interface(NonZeroU16);

/// An address of any kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Address {
    /// A station on a link of Ethernet's kind.
    Hardware {
        /// Its address (EUI-48).
        address: [u8; 6],
        /// The protocol that it carries: an EtherType.
        kind: u16,
    },
    /// An Internet address with a port.
    Internet {
        /// The host.
        host: IpAddr,
        /// The port; 0 asks for any.
        port: u16,
        /// The zone of a link-local IPv6 address (RFC 4007 §11); 0 elsewhere.
        zone: u32,
    },
    /// An Internet protocol without ports: raw sockets, an IP layer in user space.
    InternetProtocol {
        /// The host.
        host: IpAddr,
        /// The protocol's number (IANA).
        protocol: u8,
    },
    /// A radio station.
    Station {
        /// Call sign and SSID.
        call: CallSign,
        /// Protocol identifier (AX.25 v2.2 §3.4); 0xF0: no layer 3.
        pid: u8,
        /// An index into the route table of the protocol below; 0: direct.
        route: u16,
    },
    /// The only one at the other end of a pipe or a serial line.
    OtherEnd,
    /// A program of this machine, as the kernel says it (unix(7), `SO_PEERCRED`).
    Program {
        /// Its user.
        user: u32,
        /// The first of its user's groups.
        group: u32,
    },
}

impl Participant {
    /// The only one at the other end of a pipe or a serial line.
    pub const OTHER_END: Self = Participant { interface: None, address: Address::OtherEnd };

    /// Returns the Internet address and port, if it is one.
    pub const fn internet(self) -> Option<SocketAddr> {
        match self.address {
            Address::Internet { host: IpAddr::V6(host), port, zone } => {
                Some(SocketAddr::V6(SocketAddrV6::new(host, port, 0, zone)))
            }
            Address::Internet { host, port, .. } => Some(SocketAddr::new(host, port)),
            _ => None,
        }
    }

    /// Returns the number of the lower layer, if it is known.
    pub const fn interface(self) -> Option<u16> {
        match self.interface {
            Some(interface) => Some(interface.number()),
            None => None,
        }
    }

    /// Returns the same participant behind the lower layer of this number.
    #[must_use]
    pub const fn through(self, interface: u16) -> Self {
        Participant { interface: Interface::new(interface), ..self }
    }

    /// Returns the same participant as the lower layer itself knows it: without an interface.
    #[must_use]
    pub const fn direct(self) -> Self {
        Participant { interface: None, ..self }
    }
}

impl Interface {
    /// Returns the interface of this number; `None` for 65 535.
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number.wrapping_add(1)) {
            Some(number) => Some(Interface(number)),
            None => None,
        }
    }

    /// Returns its number.
    pub const fn number(self) -> u16 {
        self.0.get() - 1
    }
}

impl From<Address> for Participant {
    fn from(address: Address) -> Self {
        Participant { interface: None, address }
    }
}

/// A host and a port.
impl<H: Into<IpAddr>> From<(H, u16)> for Participant {
    fn from(place: (H, u16)) -> Self {
        SocketAddr::from(place).into()
    }
}

/// The flow label of an IPv6 address is left out: it belongs to a packet, not to its sender.
impl From<SocketAddr> for Participant {
    fn from(address: SocketAddr) -> Self {
        let zone = match address {
            SocketAddr::V6(address) => address.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        Address::Internet { host: address.ip(), port: address.port(), zone }.into()
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.internet(), self.address) {
            (Some(address), _) => address.fmt(f),
            (None, address) => address.fmt(f),
        }?;
        match self.interface() {
            Some(interface) => write!(f, " through {interface}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Internet { .. } => Participant::from(*self).fmt(to),
            Address::Hardware { address: [a, b, c, d, e, f], .. } => {
                write!(to, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
            }
            Address::InternetProtocol { host, protocol } => {
                write!(to, "{host} protocol {protocol}")
            }
            Address::Station { call, .. } => call.fmt(to),
            Address::OtherEnd => to.write_str("the other end"),
            Address::Program { user, .. } => write!(to, "a program of user {user}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn all() -> [Participant; 5] {
        let host = IpAddr::from([192, 0, 2, 1]);
        let call = "OE1XYZ-7".parse().expect("a call sign");
        [
            SocketAddr::new(host, 7).into(),
            Address::InternetProtocol { host, protocol: 36 }.into(),
            Address::Station { call, pid: 0xF0, route: 3 }.into(),
            Address::Hardware { address: [2, 0, 0, 0, 0, 1], kind: 0x800 }.into(),
            Participant::OTHER_END,
        ]
    }

    #[test]
    fn every_kind_keeps_its_interface() {
        for participant in all() {
            let there = participant.through(2);
            assert_eq!((there.interface(), there.direct()), (Some(2), participant));
            assert_eq!(there.to_string(), participant.to_string() + " through 2");
            assert_eq!(participant.through(u16::MAX).interface(), None);
        }
    }

    #[test]
    fn an_internet_address_keeps_its_zone() {
        for text in ["127.0.0.1:80", "[::1]:80", "[fe80::1%4]:21"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(Participant::from(address).internet(), Some(address));
            assert_eq!(Participant::from(address).to_string(), text);
        }
        assert!(all()[1..].iter().all(|other| other.internet().is_none()));
    }

    #[test]
    fn it_is_small() {
        assert_eq!(size_of::<Option<Interface>>(), 2);
        assert!(size_of::<Participant>() <= 28, "{}", size_of::<Participant>());
    }
}
