//! Bit errors at a rate.

use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, Link};

use crate::link::{Probe, arrivals, is_plausible};

fn arrived(rate: f64, count: u64, octets: usize) -> Vec<Probe> {
    let mut link = Link::new(Conditions { bit_errors: rate, ..Conditions::IDEAL }, 9);
    arrivals(&mut link, count, octets, Duration::ZERO).into_iter().map(|(_, probe)| probe).collect()
}

#[test]
fn bits_are_altered_at_the_rate_wherever_packets_begin() {
    for (rate, count, octets) in [(1e-6, 20_000, 1500), (1e-3, 50_000, 25), (0.3, 20_000, 1)] {
        let bits = 8 * octets as u64;
        let probes = arrived(rate, count, octets);
        let altered = probes.iter().map(|probe| probe.altered.len() as u64).sum();
        assert!(
            is_plausible(altered, count * bits, rate),
            "{altered} of {} at {rate}",
            count * bits
        );
        // Each bit is altered at most once, and no part of a packet is spared.
        assert!(probes.iter().all(|probe| probe.altered.is_sorted_by(|one, other| one < other)));
        assert!(probes.iter().flat_map(|probe| &probe.altered).all(|bit| *bit < bits));
        let first =
            probes.iter().flat_map(|probe| &probe.altered).filter(|bit| **bit < bits / 2).count();
        assert!(is_plausible(first as u64, altered, 0.5), "{first} of {altered} in the first half");
    }
}

#[test]
fn the_share_of_whole_packets_is_that_of_independent_bits() {
    let (rate, octets) = (1e-4, 329);
    let whole =
        arrived(rate, 50_000, octets).iter().filter(|probe| probe.altered.is_empty()).count();
    let probability = (1.0 - rate).powi(8 * octets as i32);
    assert!(is_plausible(whole as u64, 50_000, probability), "{whole}");
}

#[test]
fn at_a_rate_of_one_every_bit_is_altered() {
    for probe in arrived(1.0, 10, 3) {
        assert_eq!(probe.altered, Vec::from_iter(0..24));
    }
    assert!(arrived(0.0, 10, 3).iter().all(|probe| probe.altered.is_empty()));
}
