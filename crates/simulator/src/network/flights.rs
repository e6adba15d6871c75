//! Which packets were under way when.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use stackwright_contract::Instant;

/// A packet that was under way between two places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flight {
    /// From where.
    pub from: IpAddr,
    /// To where.
    pub to: IpAddr,
    /// The packets before it on its link, which is how an [`Event`](crate::Event) names it; `None`
    /// on a channel.
    pub nth: Option<u64>,
    /// Its octets, with the headers of IP and of UDP or TCP, without framing.
    pub octets: usize,
    /// When it was sent.
    pub sent: Instant,
    /// When it arrived, and a copy of it; empty: it was lost, or is still under way.
    pub arrivals: Vec<Instant>,
}

/// All flights, if they are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights {
    all: Option<Vec<Flight>>,
    /// Those on channels that may still arrive, which they do in their order.
    waiting: BTreeMap<(IpAddr, IpAddr), VecDeque<usize>>,
}

impl Flights {
    pub(super) fn keep(&mut self) {
        self.all.get_or_insert_default();
    }

    pub(super) fn all(&self) -> &[Flight] {
        self.all.as_deref().unwrap_or_default()
    }

    /// Records a packet on a link, made by `flight` where they are kept.
    pub(super) fn carried(&mut self, flight: impl FnOnce() -> Flight) {
        if let Some(all) = &mut self.all {
            all.push(flight());
        }
    }

    /// Records a packet that is sent on a channel.
    pub(super) fn sent(&mut self, sent: Instant, (from, to): (IpAddr, IpAddr), octets: usize) {
        if let Some(all) = &mut self.all {
            self.waiting.entry((from, to)).or_default().push_back(all.len());
            all.push(Flight { from, to, nth: None, octets, sent, arrivals: Vec::new() });
        }
    }

    /// Records that a packet arrives from a channel: what was sent before it is lost.
    pub(super) fn arrived(&mut self, at: Instant, way: (IpAddr, IpAddr), octets: usize) {
        let Some(waiting) = self.waiting.get_mut(&way) else { return };
        while let Some(nth) = waiting.pop_front() {
            let flight = self.all.as_mut().and_then(|all| all.get_mut(nth));
            if let Some(flight) = flight.filter(|flight| flight.octets == octets) {
                return flight.arrivals.push(at);
            }
        }
    }
}
