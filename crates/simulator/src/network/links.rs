//! The links between all stations.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::hash::Hash;
use crate::{Conditions, Counts, Event, Link};

/// One link for each direction between two stations, made when something is sent on it.
#[derive(Clone, Debug)]
pub(super) struct Links {
    seed: u64,
    /// The conditions of links that were not set on their own.
    conditions: Conditions,
    ways: BTreeMap<(IpAddr, IpAddr), Way>,
    logs: bool,
    /// Whether links that are made from now on have no randomness.
    scripted: bool,
}

#[derive(Clone, Debug)]
struct Way {
    link: Link,
    /// Whether its conditions were set on their own.
    own: bool,
}

impl Links {
    pub(super) fn new(seed: u64) -> Self {
        let ways = BTreeMap::new();
        Links { seed, conditions: Conditions::IDEAL, ways, logs: false, scripted: false }
    }

    pub(super) fn set_conditions(&mut self, conditions: Conditions) {
        for way in self.ways.values_mut().filter(|way| !way.own) {
            way.link.set_conditions(conditions.clone());
        }
        self.conditions = conditions;
    }

    pub(super) fn set(&mut self, from: IpAddr, to: IpAddr, conditions: Conditions) {
        let way = self.way(from, to);
        way.link.set_conditions(conditions);
        way.own = true;
    }

    pub(super) fn link(&mut self, from: IpAddr, to: IpAddr) -> &mut Link {
        &mut self.way(from, to).link
    }

    fn way(&mut self, from: IpAddr, to: IpAddr) -> &mut Way {
        let Links { seed, conditions, ways, logs, scripted } = self;
        ways.entry((from, to)).or_insert_with(|| {
            let mut link = if *scripted {
                Link::scripted(conditions.clone(), Vec::new())
            } else {
                Link::new(conditions.clone(), seed_of(*seed, from, to))
            };
            if *logs {
                link.keep_log();
            }
            Way { link, own: false }
        })
    }

    pub(super) fn keep_log(&mut self) {
        self.logs = true;
        for way in self.ways.values_mut() {
            way.link.keep_log();
        }
    }

    pub(super) fn log(&self) -> Vec<(IpAddr, IpAddr, Event)> {
        let mut log = Vec::new();
        for ((from, to), way) in &self.ways {
            log.extend(way.link.log().iter().map(|event| (*from, *to, *event)));
        }
        log
    }

    pub(super) fn script(&mut self, from: IpAddr, to: IpAddr, events: Vec<Event>) {
        let logs = self.logs;
        let way = self.way(from, to);
        way.link = Link::scripted(way.link.conditions().clone(), events);
        if logs {
            way.link.keep_log();
        }
    }

    pub(super) fn replay(&mut self, log: &[(IpAddr, IpAddr, Event)]) {
        self.scripted = true;
        let mut scripts: BTreeMap<(IpAddr, IpAddr), Vec<Event>> =
            self.ways.keys().map(|way| (*way, Vec::new())).collect();
        for (from, to, event) in log {
            scripts.entry((*from, *to)).or_default().push(*event);
        }
        for ((from, to), events) in scripts {
            self.script(from, to, events);
        }
    }

    pub(super) fn conditions(&self, from: IpAddr, to: IpAddr) -> &Conditions {
        self.ways.get(&(from, to)).map_or(&self.conditions, |way| way.link.conditions())
    }

    pub(super) fn counts(&self, from: IpAddr, to: IpAddr) -> Counts {
        self.ways.get(&(from, to)).map(|way| way.link.counts()).unwrap_or_default()
    }
}

/// Returns the seed of a link, so that its randomness does not depend on which others there are.
fn seed_of(seed: u64, from: IpAddr, to: IpAddr) -> u64 {
    let mut hash = Hash::default();
    hash.add(&seed.to_le_bytes());
    hash.say(format_args!("{from} > {to}"));
    fastrand::Rng::with_seed(hash.value()).u64(..)
}
