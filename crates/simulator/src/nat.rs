//! Network address translators in front of stations (RFC 4787).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The translators: each has one station behind it.
#[derive(Debug, Default)]
pub(crate) struct Translators {
    /// The outside address of each station that has a translator, and what is added to its ports.
    outside: BTreeMap<IpAddr, (IpAddr, u16)>,
    /// The same, by the outside address.
    inside: BTreeMap<IpAddr, (IpAddr, u16)>,
}

impl Translators {
    /// Puts a translator in front of `station`, in the place of the one that is there.
    pub(crate) fn put(&mut self, station: IpAddr, outside: IpAddr, shift: u16) {
        if let Some((left, _)) = self.outside.insert(station, (outside, shift)) {
            self.inside.remove(&left);
        }
        self.inside.insert(outside, (station, shift));
    }

    /// Returns the address that a packet from `inside` bears outside.
    pub(crate) fn leaves(&self, inside: SocketAddr) -> SocketAddr {
        self.outside.get(&inside.ip()).map_or(inside, |(host, shift)| {
            SocketAddr::new(*host, inside.port().wrapping_add(*shift))
        })
    }

    /// Returns the address of the station that a packet to `outside` reaches; `None` if it is one
    /// that only those behind the same translator could reach.
    pub(crate) fn enters(&self, outside: SocketAddr) -> Option<SocketAddr> {
        match self.inside.get(&outside.ip()) {
            Some((host, shift)) => {
                Some(SocketAddr::new(*host, outside.port().wrapping_sub(*shift)))
            }
            None => (!self.outside.contains_key(&outside.ip())).then_some(outside),
        }
    }
}
