//! The two versions of IP, and their protocols on the link.

use core::net::IpAddr;

/// A link-layer address, and the protocol spoken with it.
pub(crate) type Key = ([u8; 6], u16);

/// The EtherType of ARP (RFC 826).
pub(crate) const ARP: u16 = 0x806;
/// The EtherType of IPv4 (RFC 894).
const IPV4: u16 = 0x800;
/// The EtherType of IPv6 (RFC 2464 §3).
const IPV6: u16 = 0x86dd;

/// A version of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    V4,
    V6,
}

impl Version {
    pub(crate) const BOTH: [Version; 2] = [Version::V4, Version::V6];

    pub(crate) const fn of(host: IpAddr) -> Self {
        if host.is_ipv4() { Version::V4 } else { Version::V6 }
    }

    /// Returns the version of the packets of that kind; `None` where they are not IP's.
    pub(crate) fn of_kind(kind: u16) -> Option<Self> {
        Version::BOTH.into_iter().find(|version| version.kind() == kind)
    }

    /// Returns the kind of its packets.
    pub(crate) const fn kind(self) -> u16 {
        match self {
            Version::V4 => IPV4,
            Version::V6 => IPV6,
        }
    }

    /// Returns the kinds that it needs on the link.
    pub(crate) const fn kinds(self) -> &'static [u16] {
        match self {
            Version::V4 => &[IPV4, ARP],
            Version::V6 => &[IPV6],
        }
    }

    /// Returns the station that stands for all: of IPv4, those that ARP asks; of IPv6, all nodes.
    pub(crate) const fn all(self) -> Key {
        match self {
            Version::V4 => ([0xff; 6], ARP),
            Version::V6 => ([0x33, 0x33, 0, 0, 0, 1], IPV6),
        }
    }
}
