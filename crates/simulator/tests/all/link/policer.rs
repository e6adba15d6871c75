//! A policer.

use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, Link, Policer};

use crate::link::{arrivals, millis};

/// Ten packets at once, then one for each 100 octets of the rate: what is dropped takes nothing.
#[test]
fn a_burst_passes_and_then_its_rate() {
    let policer = Some(Policer { rate: 10_000, burst: 1000 });
    for (pause, passed) in [(Duration::ZERO, 10), (millis(5), 59), (millis(10), 100)] {
        let mut link = Link::new(Conditions { policer, ..Conditions::IDEAL }, 0);
        let arrived = arrivals(&mut link, 100, 100, pause);
        assert_eq!((arrived.len() as u64, link.counts().policed), (passed, 100 - passed));
        assert!(arrived.iter().take(10).map(|(_, probe)| probe.number).eq(0..10), "{pause:?}");
    }
}

#[test]
fn what_is_longer_than_the_burst_never_passes() {
    let policer = Some(Policer { rate: 10_000, burst: 1000 });
    let mut link = Link::new(Conditions { policer, ..Conditions::IDEAL }, 0);
    assert_eq!(arrivals(&mut link, 5, 1001, Duration::from_secs(9)).len(), 0);
}
