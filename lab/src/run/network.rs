//! What lies between the simulated stations.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};
use stackwright::wire::SingleBuffer;
use stackwright_simulator::{Profile, World};

use crate::scenario::{Fault, Scenario};

type M = SingleBuffer;

/// Where the end of a flow is: each has an address of its own, and those of one station share its
/// links.
pub(super) fn address(station: usize, flow: usize) -> IpAddr {
    let flow = u16::try_from(flow + 1).unwrap_or(u16::MAX).to_be_bytes();
    Ipv4Addr::new(10, u8::try_from(station + 1).unwrap_or(u8::MAX), flow[0], flow[1]).into()
}

/// The address by which the links of a station are known.
fn place(station: usize) -> IpAddr {
    Ipv4Addr::new(10, u8::try_from(station + 1).unwrap_or(u8::MAX), 0, 0).into()
}

/// The station at a place.
pub(crate) fn station_at(place: IpAddr) -> Option<usize> {
    match place {
        IpAddr::V4(place) => usize::from(place.octets()[1]).checked_sub(1),
        IpAddr::V6(_) => None,
    }
}

/// Lays the links of a scenario. `faults`, where there are any, are all that goes wrong on them.
pub(super) fn lay(world: &mut World<M>, scenario: &Scenario, faults: Option<&[Fault]>, keep: bool) {
    let network = world.network_mut();
    if keep {
        network.keep_log();
    }
    for (at, flow) in scenario.flows.iter().enumerate() {
        for station in [flow.from, flow.to] {
            network.place(address(station, at), place(station));
        }
    }
    for link in &scenario.links {
        match &link.profile {
            Profile::Link { forward, back } => {
                let [one, other] = [place(link.between[0]), place(link.between[1])];
                network.set_link(one, other, forward.clone());
                network.set_link(other, one, back.clone());
            }
            Profile::Channel(conditions) => {
                let members: Vec<_> = link.between.iter().map(|station| place(*station)).collect();
                network.share(&members, conditions.clone());
            }
        }
    }
    if let Some(faults) = faults {
        for (from, to) in ways(scenario) {
            let here = |fault: &&Fault| (fault.from, fault.to) == (from, to);
            let events = faults.iter().filter(here).map(|fault| fault.event).collect();
            network.script(place(from), place(to), events);
        }
    }
}

/// Both ways of each link that is no channel.
fn ways(scenario: &Scenario) -> impl Iterator<Item = (usize, usize)> {
    let links = scenario.links.iter().filter(|link| matches!(link.profile, Profile::Link { .. }));
    links.flat_map(|link| [(link.between[0], link.between[1]), (link.between[1], link.between[0])])
}

/// What went wrong with which packet, where a log was kept.
pub(super) fn faults(world: &World<M>) -> Vec<Fault> {
    let log = world.network().log().into_iter();
    log.filter_map(|(from, to, event)| {
        Some(Fault { from: station_at(from)?, to: station_at(to)?, event })
    })
    .collect()
}

/// What each way of each link did.
pub(super) fn told(world: &World<M>, scenario: &Scenario) -> Vec<Value> {
    let told = |(from, to): (usize, usize)| {
        let counts = world.network().counts(place(from), place(to));
        json!({
            "from": scenario.stations[from], "to": scenario.stations[to],
            "offered": counts.offered, "delivered": counts.delivered, "lost": counts.lost,
            "octets_offered": counts.octets_offered, "octets": counts.octets,
            "duplicated": counts.duplicated, "held_back": counts.held_back, "altered": counts.altered,
            "too_long": counts.too_long, "policed": counts.policed, "in_outage": counts.in_outage,
            "dropped_at_tail": counts.dropped_at_tail, "dropped_by_codel": counts.dropped_by_codel,
            "marked": counts.marked,
        })
    };
    ways(scenario).map(told).collect()
}
