//! Octets in both directions.

use stackwright_ax25::{Config, LinkState, LinkVersion};
use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::{ChannelConditions, Profile};

use crate::simulated::air::{Air, call, station};
use crate::simulated::talk::{End, check, data};

pub(crate) fn radio(name: &str) -> ChannelConditions {
    match Profile::named(name) {
        Some(Profile::Channel(conditions)) => conditions,
        _ => panic!("a shared channel"),
    }
}

pub(crate) fn config(own: &str, version: LinkVersion) -> Config {
    Config { version, ..Config::new(call(own)) }
}

/// The first opens, both send, the first finishes when it has everything.
fn both_ways(version: LinkVersion, profile: &str, rate: u32, octets: usize) {
    let configs = ["N0AAA", "N0BBB-1"].map(|own| Config { rate, ..config(own, version) });
    let mut air = Air::new(radio(profile), configs.to_vec(), 7);
    let mut one = End::new(0, 1, data(octets, 1));
    let mut other = End::new(1, 1, data(octets, 2));
    other.listen(&mut air, "N0BBB-1");
    one.open(&mut air, station("N0BBB-1"));
    let done = air.run_until(Duration::from_secs(3600), |air| {
        one.turn(air);
        other.turn(air);
        one.finishes = one.received.len() == octets && other.received.len() == octets;
        one.ended.is_some() && other.ended.is_some()
    });
    assert!(done, "{one:?}\n{other:?}");
    check(&one, &other);
    check(&other, &one);
    assert_eq!((one.received.len(), other.received.len()), (octets, octets));
    assert_eq!((one.ended, other.ended), (Some(Ended::Finished), Some(Ended::Finished)));
    assert!(other.peer_finished);
    assert_eq!(
        air.stations[0].stack.upper.links().count() + air.stations[1].stack.upper.links().count(),
        0
    );
    println!(
        "{version:?} {profile}: {octets} octets each way in {:?}, {} frames",
        air.now().since(stackwright_contract::Instant::START),
        air.frames()
    );
}

#[test]
fn octets_arrive_in_both_directions() {
    both_ways(LinkVersion::V20, "packet-radio-1200", 1200, 4096);
    both_ways(LinkVersion::V22, "packet-radio-1200", 1200, 4096);
    both_ways(LinkVersion::V20, "packet-radio-9600", 9600, 16384);
    both_ways(LinkVersion::Auto, "packet-radio-9600", 9600, 16384);
}

#[test]
fn a_link_shows_its_state() {
    let configs = ["A", "B"].map(|own| config(own, LinkVersion::Auto));
    let mut air = Air::new(radio("packet-radio-1200"), configs.to_vec(), 7);
    let other = End::new(1, 1, Vec::new());
    other.listen(&mut air, "B");
    End::new(0, 1, Vec::new()).open(&mut air, station("B"));
    let state = |air: &Air| air.stations[0].stack.upper.links().next().map(|link| link.state);
    assert_eq!(state(&air), Some(LinkState::AwaitingV22Connection));
    let connected = |air: &mut Air| state(air) == Some(LinkState::Connected);
    assert!(air.run_until(Duration::from_secs(60), connected));
}
