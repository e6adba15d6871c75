//! The path MTU to peers, as routers report it (RFC 1191, RFC 8201): for ten minutes each.

use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_contract::{Duration, Instant};

/// Peers of which it is known; the oldest gives way.
const PEERS_MOST: usize = 256;

/// How long it is believed (RFC 1191 §6.3, RFC 8201 §5.3).
const BELIEVED: Duration = Duration::from_secs(600);

/// The least that is believed of IPv4: less is more likely forged than true, and no link of today
/// has it. It is Linux' own, too.
const LEAST: u32 = 552;
/// Every link of IPv6 takes as much (RFC 8200 §5).
const LEAST6: u32 = 1280;

/// Lengths of packets that links take (RFC 1191 §7), for routers that do not say theirs.
const PLATEAUS: [u32; 8] = [65_535, 32_000, 17_914, 8166, 4352, 2002, 1492, 1006];

/// What is known of paths.
#[derive(Default, Debug)]
pub(crate) struct PathMtu {
    /// The first ends first.
    known: Vec<(IpAddr, u32, Instant)>,
}

impl PathMtu {
    /// Returns the longest packet to `peer`, in octets; `u32::MAX`: it is not known.
    pub(crate) fn to(&self, peer: IpAddr) -> u32 {
        let known = self.known.iter().find(|(known, ..)| *known == peer);
        known.map_or(u32::MAX, |(_, mtu, _)| *mtu)
    }

    /// Notes what a router reports of a packet of `total` octets: `mtu`, or 0 where it does not
    /// say. Returns the path MTU now.
    pub(crate) fn learn(&mut self, now: Instant, peer: IpAddr, mtu: u32, total: u32) -> u32 {
        let below = || PLATEAUS.into_iter().find(|plateau| *plateau < total).unwrap_or(LEAST);
        let least = if peer.is_ipv4() { LEAST } else { LEAST6 };
        let (mtu, before) = (if mtu == 0 { below() } else { mtu }.max(least), self.to(peer));
        if mtu >= before || mtu >= total {
            return before; // that cannot have been too long
        }
        self.known.retain(|(known, ..)| *known != peer);
        if self.known.len() >= PEERS_MOST {
            self.known.remove(0);
        }
        self.known.push((peer, mtu, now + BELIEVED));
        mtu
    }

    /// Returns a peer whose path is to be tried anew, and forgets it.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<IpAddr> {
        self.deadline().filter(|deadline| *deadline <= now)?;
        Some(self.known.remove(0).0)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.known.first().map(|(_, _, deadline)| *deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_bounded_and_ages() {
        let (mut paths, now) = (PathMtu::default(), Instant::START);
        let peer = |number: u16| IpAddr::from([10, 0, (number >> 8) as u8, number as u8]);
        for number in 0..1000 {
            assert_eq!(paths.learn(now, peer(number), 1400, 1500), 1400);
        }
        assert_eq!(paths.known.len(), PEERS_MOST);
        assert_eq!((paths.to(peer(0)), paths.to(peer(999))), (u32::MAX, 1400));
        assert_eq!(paths.expired(now + Duration::from_secs(599)), None);
        let later = now + BELIEVED;
        assert!(core::iter::from_fn(|| paths.expired(later)).count() == PEERS_MOST);
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        let (mut paths, now) = (PathMtu::default(), Instant::START);
        let (peer, peer6) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([1u16; 8]));
        assert_eq!(paths.learn(now, peer, 1500, 1500), u32::MAX, "it was no longer than that");
        assert_eq!(paths.learn(now, peer, 0, 1500), 1492, "the next plateau");
        assert_eq!(paths.learn(now, peer, 1493, 1500), 1492, "it does not grow");
        assert_eq!(paths.learn(now, peer, 68, 1500), LEAST);
        assert_eq!(paths.learn(now, peer6, 68, 1500), LEAST6);
    }
}
