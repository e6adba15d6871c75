//! Links of a station that may transmit a small share of the time.

use stackwright_ax25::{Config, LinkVersion};
use stackwright_contract::services::Ended;
use stackwright_contract::{Duration, Instant};

use crate::simulated::air::{Air, station};
use crate::simulated::exchange::{config, radio};
use crate::simulated::talk::{End, check, data};

/// The first sends; then it finishes. Returns how long that took, in seconds.
fn sends(version: LinkVersion, duty: [Option<u8>; 2], octets: usize, seed: u64) -> f64 {
    let configs = ["N0AAA", "N0BBB"].map(|own| Config { window: 7, ..config(own, version) });
    let mut air =
        Air::ruled(radio("packet-radio-1200"), configs.to_vec(), seed, |index| duty[index]);
    let mut one = End::new(0, 1, data(octets, 1));
    let mut other = End::new(1, 1, Vec::new());
    one.finishes = true;
    other.listen(&mut air, "N0BBB");
    one.open(&mut air, station("N0BBB"));
    let done = air.run_until(Duration::from_secs(7 * 86_400), |air| {
        one.turn(air);
        other.turn(air);
        one.ended.is_some() && other.ended.is_some()
    });
    assert!(done, "{version:?} {duty:?}: {one:?} {other:?}");
    check(&one, &other);
    let ended = (one.ended, other.ended);
    assert_eq!(ended, (Some(Ended::Finished), Some(Ended::Finished)), "{version:?} {duty:?}");
    assert_eq!(other.received.len(), octets, "{version:?} {duty:?}");
    // Its budget of ten minutes, and its share of the time since.
    let took = air.now().since(Instant::START).as_secs_f64();
    for (there, duty) in air.stations.iter().zip(duty) {
        let on_the_air = there.stack.lower.transmitted().air.as_secs_f64();
        let may_be = duty.map_or(1.0, |duty| f64::from(duty) / 100.0) * (took + 600.0);
        assert!(on_the_air <= may_be, "{on_the_air} s of {took} s with {duty:?}");
    }
    took
}

/// A window is 29 s on the air, and waits a quarter of an hour.
#[test]
fn a_link_outlives_the_wait_for_its_share_of_the_time() {
    for version in [LinkVersion::V20, LinkVersion::V22] {
        for duty in [3, 5, 7, 20] {
            let took = sends(version, [Some(duty), None], 16 << 10, 1);
            println!("{version:?}, {duty} %: {took:.0} s");
        }
    }
    sends(LinkVersion::V22, [Some(3), None], 64 << 10, 2);
}

/// The other one has little time to acknowledge.
#[test]
fn a_link_outlives_a_peer_that_may_say_little() {
    for version in [LinkVersion::V20, LinkVersion::V22] {
        for (ours, theirs) in [(None, 3), (Some(10), 10), (Some(5), 3)] {
            sends(version, [ours, Some(theirs)], 8000, 3);
        }
    }
}
