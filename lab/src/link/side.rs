//! The two ends of a link.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One end of a link: a network namespace with a device in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The first; its packets go forward.
    A,
    /// The second; its packets go back.
    B,
}

impl Side {
    /// Both.
    pub(crate) const ALL: [Side; 2] = [Side::A, Side::B];

    /// In the names of namespaces.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
        }
    }

    /// Its address, in a network of 30 bits.
    pub(crate) const fn address(self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 77, 0, self as u8 + 1))
    }

    /// Its IPv6 address, in a network of 64 bits; not there where the link's MTU is below IPv6's
    /// least.
    pub(super) const fn address_ipv6(self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, self as u16 + 1))
    }
}
