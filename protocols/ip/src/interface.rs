//! Interfaces: their addresses, and what their links take.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};

use stackwright_contract::PathLimits;

use crate::address::{is_broadcast_of, is_group, source};
use crate::config::IpInterface;

/// An interface.
#[derive(Debug)]
pub(crate) struct Link {
    addresses: Vec<Own>,
    /// What it takes of IPv4, and of IPv6; `None`: it is down.
    path: [Option<PathLimits>; 2],
}

/// An own address.
#[derive(Debug)]
struct Own {
    host: IpAddr,
    prefix: u8,
    /// Whether nobody else on the link has it.
    is_usable: bool,
}

/// Whose a destination is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// This host's alone.
    Own,
    /// All hosts' of a link, or a group's.
    Several,
    Other,
}

impl Link {
    pub(crate) fn new(interface: &IpInterface) -> Self {
        let own = |&(host, prefix)| Own { host, prefix, is_usable: false };
        let addresses = interface.addresses.iter().map(own).collect();
        Link { addresses, path: [None; 2] }
    }

    /// Notes whether an address may be used.
    pub(crate) fn use_address(&mut self, host: IpAddr, is_usable: bool) {
        let own = self.addresses.iter_mut().find(|own| own.host == host);
        own.into_iter().for_each(|own| own.is_usable = is_usable);
    }

    /// Notes what the link takes of the version of `host`; `None`: it is down.
    pub(crate) fn set_path(&mut self, host: IpAddr, path: Option<PathLimits>) {
        self.path[usize::from(host.is_ipv6())] = path;
    }

    /// Returns what the link takes of the version of `host`; `None`: it is down.
    #[inline]
    pub(crate) fn path(&self, host: IpAddr) -> Option<PathLimits> {
        self.path[usize::from(host.is_ipv6())]
    }

    /// Returns whether it has an address of the version of `host`.
    pub(crate) fn speaks(&self, host: IpAddr) -> bool {
        self.addresses.iter().any(|own| own.host.is_ipv4() == host.is_ipv4())
    }

    /// Returns whether an address is its own; whether it is usable, too, where that is asked.
    pub(crate) fn has(&self, host: IpAddr, usable: bool) -> bool {
        self.addresses.iter().any(|own| own.host == host && (own.is_usable || !usable))
    }

    /// Returns its usable addresses.
    fn usable(&self) -> impl Iterator<Item = (IpAddr, u8)> {
        let usable = self.addresses.iter().filter(|own| own.is_usable);
        usable.map(|own| (own.host, own.prefix))
    }

    /// Returns whether a host is reached by the broadcast address of one of its prefixes.
    pub(crate) fn is_broadcast(&self, host: IpAddr) -> bool {
        self.addresses.iter().any(|own| is_broadcast_of(host, own.host, own.prefix))
    }
}

/// Returns whose `host` is, in a packet that came by the interface `by`.
pub(crate) fn owner(links: &[Link], by: u16, host: IpAddr) -> Owner {
    let broadcast = || links.get(usize::from(by)).is_some_and(|link| link.is_broadcast(host));
    if links.iter().any(|link| link.has(host, true)) {
        Owner::Own
    } else if is_group(host) || broadcast() {
        Owner::Several
    } else {
        Owner::Other
    }
}

/// Returns whether every host here is in a group: all hosts of a link, or those that an own address
/// of IPv6 has neighbours ask in (RFC 1112 §4, RFC 4291 §2.8).
pub(crate) fn is_joined(links: &[Link], group: IpAddr) -> bool {
    let IpAddr::V6(group) = group else {
        return !group.is_multicast() || group == IpAddr::from([224, 0, 0, 1]);
    };
    let asked = |own: &Own| match own.host {
        IpAddr::V6(own) => {
            group.to_bits() >> 24 == ASKED.to_bits() >> 24
                && group.octets()[13..] == own.octets()[13..]
        }
        IpAddr::V4(_) => false,
    };
    ALL_NODES.contains(&group) || links.iter().flat_map(|link| &link.addresses).any(asked)
}

/// All nodes of an interface, and of a link.
const ALL_NODES: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xff01, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)];
/// The groups whose last 24 bits are those of an address.
const ASKED: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0);

/// Returns the source of packets to `peer` that leave by an interface: one of its own addresses,
/// or where it has none, another (RFC 6724 §4).
pub(crate) fn source_of(links: &[Link], by: u16, peer: IpAddr) -> Option<IpAddr> {
    let own = source(peer, links.get(usize::from(by))?.usable());
    own.or_else(|| source(peer, links.iter().flat_map(Link::usable)))
}
