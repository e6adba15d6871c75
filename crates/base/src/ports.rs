//! Ports over hosts: what tells the associations of two hosts apart, and the ports that a side
//! chooses for itself.

use core::net::{IpAddr, Ipv6Addr};

use stackwright_contract::services::Ended;
use stackwright_contract::{Address, Participant};

use crate::Below;
use crate::map::{Hashing as _, Keyed};

/// The ports of an association between two hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PortPair {
    /// Ours.
    pub own: u16,
    /// The peer's.
    pub peer: u16,
}

impl PortPair {
    /// Returns the own address and the peer's with their ports, from those of two hosts.
    pub fn ends(self, [own, peer]: [Participant; 2]) -> [Participant; 2] {
        [with_port(own, self.own), with_port(peer, self.peer)]
    }

    /// Returns the ports at the front of a message of ours, where its source port comes first.
    pub fn quoted(octets: &[u8; 8]) -> Self {
        let port = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        PortPair { own: port(0), peer: port(2) }
    }
}

/// Returns an address of a host with a port.
pub fn with_port(of: Participant, port: u16) -> Participant {
    match of.address {
        Address::InternetProtocol { host, .. } => {
            Participant { address: Address::Internet { host, port, zone: 0 }, ..of }
        }
        _ => of,
    }
}

/// The ports of a protocol over IP: it names hosts and ports above, hosts and itself below.
#[derive(Debug)]
pub struct Ports {
    protocol: u8,
    ephemeral: EphemeralPorts,
    /// Whether the layer above chose the port of what is being opened.
    is_chosen: bool,
}

impl Ports {
    /// Creates those of the protocol of that number (IANA); no peer may know `secret`.
    pub fn new(protocol: u8, secret: u64) -> Self {
        Ports { protocol, ephemeral: EphemeralPorts::new(secret), is_chosen: false }
    }

    fn below(&self, of: Participant, host: IpAddr) -> Participant {
        let address = Address::InternetProtocol { host, protocol: self.protocol };
        Participant { address, ..of }
    }

    /// Returns any own address of a protocol: where strangers are heard.
    pub fn any(protocol: u8) -> Participant {
        Address::InternetProtocol { host: Ipv6Addr::UNSPECIFIED.into(), protocol }.into()
    }

    /// Opens an association with `remote`, from `local` where the layer above has chosen it.
    ///
    /// # Errors
    /// `Unreachable` where `remote` has no port; `Exhausted`.
    pub fn open(
        &mut self,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<PortPair>, Ended> {
        let there = remote.internet().filter(|there| there.port() > 0).ok_or(Ended::Unreachable)?;
        let from = local.and_then(Participant::internet);
        let chosen = from.map_or(0, |from| from.port());
        self.is_chosen = chosen != 0;
        let own = match chosen {
            0 => self.ephemeral.choose(Some(remote), |_| false).ok_or(Ended::Exhausted)?,
            port => port,
        };
        let local = local.zip(from).filter(|(_, from)| !from.ip().is_unspecified());
        Ok(Below {
            local: local.map(|(local, from)| self.below(local, from.ip())),
            remote: self.below(remote, there.ip()),
            key: PortPair { own, peer: there.port() },
        })
    }

    /// Returns the key of what was opened last: `key`, or another where it is taken and the port
    /// was not chosen.
    pub fn free(
        &mut self,
        key: PortPair,
        is_taken: impl Fn(&PortPair) -> bool,
    ) -> Option<PortPair> {
        if !is_taken(&key) {
            return Some(key);
        }
        let own = match self.is_chosen {
            true => None,
            false => self.ephemeral.choose(None, |own| is_taken(&PortPair { own, ..key })),
        };
        Some(PortPair { own: own?, ..key })
    }

    /// Listens: returns the address below, and the port.
    ///
    /// # Errors
    /// `Unavailable` where the port is taken, or none is free.
    pub fn listen(
        &mut self,
        local: Participant,
        is_taken: impl Fn(Participant, &u16) -> bool,
    ) -> Result<(Participant, u16), Ended> {
        let at = local.internet().ok_or(Ended::Unavailable)?;
        let below = self.below(local, at.ip());
        let port = match at.port() {
            0 => self.ephemeral.choose(None, |port| is_taken(below, &port)),
            port => Some(port).filter(|port| !is_taken(below, port)),
        };
        Ok((below, port.ok_or(Ended::Unavailable)?))
    }
}

/// The first of the ports that are given to nobody (RFC 6335 §6); the last is 65 535.
const FIRST: u16 = 49_152;

/// Chooses ephemeral ports so that nobody off the path can guess them, and none is used again soon
/// with the same peer: the simple hash-based algorithm (RFC 6056 §3.3.3).
#[derive(Debug)]
struct EphemeralPorts {
    hash: Keyed,
    /// How many were chosen.
    next: u16,
}

impl EphemeralPorts {
    /// Creates a choice that depends on `secret`, which no peer may know.
    fn new(secret: u64) -> Self {
        EphemeralPorts { hash: crate::map::Hashing::new(secret), next: 0 }
    }

    /// Returns the first free port for an association with `remote`, or for a listener where there
    /// is no peer; `None` where none is free.
    fn choose(
        &mut self,
        remote: Option<Participant>,
        is_taken: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        const ALL: u16 = u16::MAX - FIRST + 1;
        let offset = self.hash.hash(&remote) as u16;
        let port = |nth: u16| FIRST + offset.wrapping_add(nth) % ALL;
        let first = self.next;
        let step = (0..ALL).find(|step| !is_taken(port(first.wrapping_add(*step))))?;
        self.next = first.wrapping_add(step).wrapping_add(1);
        Some(port(first.wrapping_add(step)))
    }
}

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;

    use super::*;

    fn place(port: u16) -> Option<Participant> {
        Some(SocketAddr::from(([192, 0, 2, 1], port)).into())
    }

    #[test]
    fn it_chooses_what_is_free_until_nothing_is() {
        let mut ports = EphemeralPorts::new(7);
        let first = ports.choose(place(80), |_| false).expect("all are free");
        let second = ports.choose(place(80), |_| false).expect("all are free");
        assert!(first >= FIRST && second >= FIRST && first != second);
        assert_eq!(ports.choose(place(80), |port| port != 50_000), Some(50_000));
        assert_eq!(ports.choose(place(80), |_| true), None);
    }

    #[test]
    fn it_differs_by_peer_and_by_secret() {
        let first = |secret, port| EphemeralPorts::new(secret).choose(place(port), |_| false);
        assert_ne!(first(1, 80), first(1, 81));
        assert_ne!(first(1, 80), first(2, 80));
    }
}
