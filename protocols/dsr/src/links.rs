//! The links that are known, and the shortest route by them (RFC 4728 §4.1: a link cache).
//!
//! A link leads both ways, as radio's do. At most [`LINKS_MOST`] are kept: the place of a new one
//! is that of the one that was confirmed longest ago, of those by which nothing was sent before
//! others. So a flood of made-up routes drives out itself.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_contract::Instant;

/// How many links are kept.
pub(crate) const LINKS_MOST: usize = 256;

type Ends = (Ipv4Addr, Ipv4Addr);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    used: bool,
    until: Instant,
}

/// The cache of links.
#[derive(Default)]
pub(crate) struct Links(BTreeMap<Ends, Worth>);

fn ends(one: Ipv4Addr, other: Ipv4Addr) -> Ends {
    (one.min(other), one.max(other))
}

impl Links {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn has(&self, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        self.0.contains_key(&ends(one, other))
    }

    /// Notes the links of a route from `first` on, until some time.
    pub(crate) fn learn(&mut self, now: Instant, until: Instant, route: &[Ipv4Addr]) {
        for pair in route.windows(2) {
            let key = ends(pair[0], pair[1]);
            if !self.0.contains_key(&key) && self.0.len() == LINKS_MOST {
                self.0.retain(|_, worth| worth.until > now);
                let least = self.0.iter().min_by_key(|(_, worth)| **worth).map(|(key, _)| *key);
                if let Some(key) = least.filter(|_| self.0.len() == LINKS_MOST) {
                    self.0.remove(&key);
                }
            }
            let used = self.0.get(&key).is_some_and(|worth| worth.used);
            self.0.insert(key, Worth { used, until });
        }
    }

    /// Notes that something is sent by a route.
    pub(crate) fn touch(&mut self, route: &[Ipv4Addr]) {
        for pair in route.windows(2) {
            if let Some(worth) = self.0.get_mut(&ends(pair[0], pair[1])) {
                worth.used = true;
            }
        }
    }

    /// Forgets a link; returns whether it was known.
    pub(crate) fn forget(&mut self, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        self.0.remove(&ends(one, other)).is_some()
    }

    /// Returns a shortest route from one station to another, both included, that visits none of
    /// `without` and has at most `relays` between them.
    pub(crate) fn route(
        &self,
        now: Instant,
        (from, to): Ends,
        without: &[Ipv4Addr],
        relays: usize,
    ) -> Option<Vec<Ipv4Addr>> {
        let mut before = BTreeMap::from([(from, (from, 0))]);
        let mut next = VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            let (_, hops) = before[&at];
            if at == to || hops > relays {
                continue;
            }
            let links = self.0.iter().filter(|(_, worth)| worth.until > now);
            for (one, other) in links.map(|(ends, _)| *ends) {
                let neighbour = if at == one { other } else { one };
                if (at == one || at == other)
                    && !without.contains(&neighbour)
                    && !before.contains_key(&neighbour)
                {
                    before.insert(neighbour, (at, hops + 1));
                    next.push_back(neighbour);
                }
            }
        }
        let mut route = Vec::from([to]);
        while let Some((last, _)) =
            before.get(route.last()?).filter(|_| route.last() != Some(&from))
        {
            route.push(*last);
        }
        route.reverse();
        (route.first() == Some(&from)).then_some(route)
    }
}
