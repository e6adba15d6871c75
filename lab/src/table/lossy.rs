//! Modelled links, near and far, that lose packets: the cells of several tables.

use stackwright_contract::Duration;
use stackwright_results::outcome::Row;
use stackwright_simulator::{Conditions, Loss};

use super::Cell;

/// Octets of the longest packet.
pub(super) const MTU: usize = 1500;

/// Returns a link of `rate` octets per second for packets of [`MTU`], which keeps their order.
pub(super) fn link(rate: u64, round_trip_ms: u64) -> Conditions {
    Conditions {
        rate: Some(rate),
        mtu: Some(MTU),
        delay: Duration::from_micros(500 * round_trip_ms),
        keeps_order: true,
        ..Conditions::IDEAL
    }
}

/// What is lost with this probability.
pub(super) fn loss(probability: f64) -> Loss {
    if probability > 0.0 { Loss::Bernoulli(probability) } else { Loss::None }
}

/// A link of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lossy {
    /// To and fro, in milliseconds.
    pub(super) round_trip: u64,
    /// Of packets, each way.
    pub(super) percent: f64,
}

impl Lossy {
    /// The probability that a packet is lost.
    pub(super) fn lost(&self) -> f64 {
        self.percent / 100.0
    }

    /// The link, where it carries so many octets a second.
    pub(super) fn link(&self, rate: u64) -> Conditions {
        Conditions { loss: loss(self.lost()), ..link(rate, self.round_trip) }
    }

    /// The octets that are on their way to and fro when the link is full.
    pub(super) fn product(&self, rate: u64) -> u64 {
        rate * self.round_trip / 1000
    }
}

/// A cell for each link, in groups of one round trip.
pub(super) fn cells(round_trips: &[u64], percents: &[f64], unit: &str) -> Vec<Cell<Lossy>> {
    let links = round_trips.iter().flat_map(|round_trip| {
        percents.iter().map(|percent| Lossy { round_trip: *round_trip, percent: *percent })
    });
    let cell = |link: Lossy| {
        let Lossy { round_trip, percent } = link;
        let group = format!("{round_trip} ms to and fro");
        let row =
            Row::new(format!("{round_trip}ms/{percent}"), group, format!("{percent} % lost"), unit);
        (row.at(percent), link)
    };
    links.map(cell).collect()
}
