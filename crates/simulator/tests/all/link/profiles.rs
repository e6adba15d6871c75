//! Links known by name.

use stackwright_contract::Duration;
use stackwright_simulator::{Carried, Conditions, Link, Loss, Profile};

use crate::link::{Probe, at};

fn both(name: &str) -> [Conditions; 2] {
    match Profile::named(name) {
        Some(Profile::Link { forward, back }) => [forward, back],
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn every_name_is_found_once_and_says_what_it_is() {
    let names: Vec<_> = Profile::ALL.iter().map(|known| known.name).collect();
    for (nth, known) in Profile::ALL.iter().enumerate() {
        assert!(!names[..nth].contains(&known.name));
        assert_eq!(Profile::named(known.name), Some(known.profile()));
        assert!(
            known.about.len() > 40 && !known.about.contains("  "),
            "{}: {}",
            known.name,
            known.about
        );
    }
    assert_eq!(Profile::named("wann"), None);
}

#[test]
fn every_link_carries_its_longest_packet() {
    for known in Profile::ALL {
        let Profile::Link { forward, back } = known.profile() else { continue };
        for way in [forward, back] {
            let (mtu, rate) = (way.mtu.expect("each has one"), way.rate.expect("each has one"));
            let mut link =
                Link::new(Conditions { loss: Loss::None, bit_errors: 0.0, ..way.clone() }, 0);
            assert_eq!(link.carry(at(0), Probe::new(0, mtu + 1)), Carried::Lost, "{}", known.name);
            let Carried::Once(arrival, _) = link.carry(at(0), Probe::new(0, mtu)) else {
                panic!("{}: it does not arrive", known.name)
            };
            let sent = Duration::from_secs_f64((mtu + way.overhead) as f64 / rate as f64);
            let earliest = at(0) + sent + way.delay;
            let range = earliest.nanoseconds() - 1..=(earliest + way.jitter).nanoseconds() + 1;
            assert!(range.contains(&arrival.nanoseconds()), "{}: {arrival:?}", known.name);
        }
    }
}

#[test]
fn a_near_name_is_suggested() {
    for (wrong, right) in [
        ("wann", "wan"),
        ("geo ", "geo"),
        ("packet-radio-96", "packet-radio-9600"),
        ("FDDI", "fddi"),
        ("moon", ""),
    ] {
        assert_eq!(Profile::suggestion(wrong).unwrap_or_default(), right, "{wrong}");
    }
}

#[test]
fn figures_are_those_of_what_they_are_named_after() {
    let [ethernet, _] = both("ethernet-10m");
    assert_eq!((ethernet.rate, ethernet.mtu, ethernet.overhead), (Some(1_250_000), Some(1500), 38));
    let [fddi, _] = both("fddi");
    assert_eq!((fddi.rate, fddi.mtu), (Some(12_500_000), Some(4352)));
    let [down, up] = both("geo");
    assert_eq!((down.rate, up.rate), (Some(2_500_000), Some(250_000)));
    assert_eq!(down.queue.octets, Some(1_350_000), "20 Mb/s for 540 ms");
    let Some(Profile::Channel(radio)) = Profile::named("packet-radio-1200") else {
        panic!("a radio is a shared channel")
    };
    assert_eq!((radio.rate, radio.persistence), (150, 0.25));
}
