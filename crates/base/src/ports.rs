//! Ports that a side chooses for itself.

use stackwright_contract::Participant;

use crate::map::{Hashing as _, Keyed};

/// The first of the ports that are given to nobody (RFC 6335 §6); the last is 65 535.
const FIRST: u16 = 49_152;

/// Chooses ephemeral ports so that nobody off the path can guess them, and none is used again soon
/// with the same peer: the simple hash-based algorithm (RFC 6056 §3.3.3).
#[derive(Debug)]
pub struct EphemeralPorts {
    hash: Keyed,
    /// How many were chosen.
    next: u16,
}

impl EphemeralPorts {
    /// Creates a choice that depends on `secret`, which no peer may know.
    pub fn new(secret: u64) -> Self {
        EphemeralPorts { hash: crate::map::Hashing::new(secret), next: 0 }
    }

    /// Returns the first free port for an association with `remote`, or for a listener where there
    /// is no peer; `None` where none is free.
    pub fn choose(
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
