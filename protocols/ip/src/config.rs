//! The configuration.

use alloc::vec::Vec;
use core::net::IpAddr;

/// What a host or a router is told of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The interfaces, in the order of the layers below.
    pub interfaces: Vec<IpInterface>,
    /// Routes besides those that follow from the addresses.
    pub routes: Vec<IpRoute>,
    /// Whether packets for others are forwarded.
    pub forwards: bool,
    /// Whether echo requests are answered.
    pub answers_echo: bool,
    /// Whether what is longer than the path leaves in fragments. TCP's never does.
    pub fragments: bool,
    /// The hops that packets of this host may take (IPv4: time to live), at least 1.
    pub hop_limit: u8,
    /// A random number that no peer knows.
    pub seed: u64,
}

/// The addresses of an interface.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IpInterface {
    /// Each with the length of its prefix in bits: what has the same prefix is on the link.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A route: by which interface, and whom, a prefix is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpRoute {
    /// The prefix.
    pub prefix: IpAddr,
    /// Its length in bits.
    pub length: u8,
    /// The interface, counted from 0.
    pub interface: u16,
    /// The router; `None`: what has the prefix is on the link.
    pub next_hop: Option<IpAddr>,
    /// Of routes with equally long prefixes, that with the smallest is used.
    pub metric: u32,
}

impl Config {
    /// Returns the configuration of a host with these interfaces: it answers echoes, fragments,
    /// and does not forward.
    pub fn new(interfaces: Vec<IpInterface>) -> Self {
        Config {
            interfaces,
            routes: Vec::new(),
            forwards: false,
            answers_echo: true,
            fragments: true,
            hop_limit: 64,
            seed: 0,
        }
    }

    /// Returns the configuration of a host with one interface that has one address.
    pub fn host(address: IpAddr, prefix: u8) -> Self {
        Self::new(Vec::from([IpInterface { addresses: Vec::from([(address, prefix)]) }]))
    }

    /// Returns it with a route to everything else through a router.
    #[must_use]
    pub fn through(mut self, router: IpAddr, interface: u16) -> Self {
        let prefix = crate::address::unspecified(router);
        let next_hop = Some(router);
        self.routes.push(IpRoute { prefix, length: 0, interface, next_hop, metric: 0 });
        self
    }

    /// # Panics
    /// Where a prefix is longer than an address, or a route names an interface that is not there.
    pub(crate) fn check(&self) {
        let fits = |host: IpAddr, length: u8| length <= crate::address::bits(host);
        let addresses = self.interfaces.iter().flat_map(|interface| &interface.addresses);
        for (host, length) in addresses {
            assert!(fits(*host, *length), "the prefix of {host} has {length} bits");
            assert!(crate::address::is_host(*host), "{host} is no address of one host");
        }
        for route in &self.routes {
            let is_there = usize::from(route.interface) < self.interfaces.len();
            assert!(is_there, "there is no interface {}", route.interface);
            assert!(fits(route.prefix, route.length), "a prefix has {} bits", route.length);
        }
        assert!(self.hop_limit > 0, "a packet may take a hop");
    }
}
