//! How much was sent from each address to each other.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// What was sent from one address to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their octets, with the headers of IP and of UDP or TCP, without framing.
    pub octets: u64,
}

/// The traffic between all addresses, if it is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent(Option<BTreeMap<(IpAddr, IpAddr), Traffic>>);

impl Sent {
    pub(super) fn keep(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(super) fn count(&mut self, from: IpAddr, to: IpAddr, octets: usize) {
        if let Some(ways) = &mut self.0 {
            let traffic = ways.entry((from, to)).or_default();
            traffic.packets += 1;
            traffic.octets += octets as u64;
        }
    }

    pub(super) fn between(&self, from: IpAddr, to: IpAddr) -> Traffic {
        self.0.as_ref().and_then(|ways| ways.get(&(from, to)).copied()).unwrap_or_default()
    }
}
