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
/// How many that broke are remembered.
const BROKEN_MOST: usize = 32;

type Ends = (Ipv4Addr, Ipv4Addr);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    used: bool,
    until: Instant,
}

/// The cache of links.
#[derive(Default)]
pub(crate) struct Links {
    known: BTreeMap<Ends, Worth>,
    /// Those that broke, and until when only who tried them is believed that they are there.
    broken: VecDeque<(Ends, Instant)>,
}

fn ends(one: Ipv4Addr, other: Ipv4Addr) -> Ends {
    (one.min(other), one.max(other))
}

impl Links {
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn has(&self, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        self.known.contains_key(&ends(one, other))
    }

    /// Notes the links of a route, until some time. `tried`: something came by it just now.
    pub(crate) fn learn(&mut self, now: Instant, until: Instant, route: &[Ipv4Addr], tried: bool) {
        self.broken.retain(|(_, until)| *until > now);
        for pair in route.windows(2) {
            let key = ends(pair[0], pair[1]);
            if tried {
                self.broken.retain(|(broken, _)| *broken != key);
            } else if self.broken.iter().any(|(broken, _)| *broken == key) {
                continue;
            }
            if !self.known.contains_key(&key) && self.known.len() == LINKS_MOST {
                self.known.retain(|_, worth| worth.until > now);
                let least = self.known.iter().min_by_key(|(_, worth)| **worth).map(|(key, _)| *key);
                if let Some(key) = least.filter(|_| self.known.len() == LINKS_MOST) {
                    self.known.remove(&key);
                }
            }
            let used = self.known.get(&key).is_some_and(|worth| worth.used);
            self.known.insert(key, Worth { used, until });
        }
    }

    /// Notes that something is sent by a route.
    pub(crate) fn touch(&mut self, route: &[Ipv4Addr]) {
        for pair in route.windows(2) {
            if let Some(worth) = self.known.get_mut(&ends(pair[0], pair[1])) {
                worth.used = true;
            }
        }
    }

    /// Forgets a link that broke.
    pub(crate) fn break_link(&mut self, until: Instant, (one, other): Ends) {
        let key = ends(one, other);
        self.known.remove(&key);
        self.broken.retain(|(broken, _)| *broken != key);
        if self.broken.len() == BROKEN_MOST {
            self.broken.pop_front();
        }
        self.broken.push_back((key, until));
    }

    /// Returns the links that broke last, and how many at most.
    pub(crate) fn broken(&self, now: Instant, most: usize) -> impl Iterator<Item = Ends> {
        let lasts = self.broken.iter().rev().filter(move |(_, until)| *until > now);
        lasts.map(|(ends, _)| *ends).take(most)
    }

    /// Returns a shortest route from one station to another, both included, that visits none of
    /// `without`, takes no link of `broken`, and has at most `relays` between them.
    pub(crate) fn route(
        &self,
        now: Instant,
        (from, to): Ends,
        without: &[Ipv4Addr],
        broken: &[Ends],
        relays: usize,
    ) -> Option<Vec<Ipv4Addr>> {
        let mut before = BTreeMap::from([(from, (from, 0))]);
        let mut next = VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            let (_, hops) = before[&at];
            if at == to || hops > relays {
                continue;
            }
            let is_up = |(one, other): &Ends| {
                !broken.contains(&(*one, *other)) && !broken.contains(&(*other, *one))
            };
            let links = self.known.iter().filter(|(ends, worth)| worth.until > now && is_up(ends));
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
        (route.first() == Some(&from) && from != to).then_some(route)
    }
}
