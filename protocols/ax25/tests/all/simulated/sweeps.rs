//! Each frame in turn is lost, doubled or altered.

use stackwright_ax25::LinkVersion;
use stackwright_contract::Duration;
use stackwright_contract::services::Ended;

use crate::simulated::air::{Air, Fate, station};
use crate::simulated::exchange::{config, radio};
use crate::simulated::talk::{End, check, data};

const OCTETS: usize = 1500;

/// Returns how many frames there were.
fn exchange(version: LinkVersion, fates: &[(u64, Fate)]) -> u64 {
    let configs = ["A", "B"].map(|own| config(own, version));
    let mut air = Air::new(radio("packet-radio-1200"), configs.to_vec(), 3);
    air.fates = fates.iter().copied().collect();
    let mut one = End::new(0, 1, data(OCTETS, 1));
    let mut other = End::new(1, 1, data(OCTETS, 2));
    other.listen(&mut air, "B");
    one.open(&mut air, station("B"));
    let done = air.run_until(Duration::from_secs(1200), |air| {
        one.turn(air);
        other.turn(air);
        one.finishes = one.received.len() == OCTETS && one.acknowledged == OCTETS;
        one.ended.is_some() && other.ended.is_some()
    });
    assert!(done, "{version:?} {fates:?}: {one:?} {other:?}");
    check(&one, &other);
    check(&other, &one);
    assert_eq!((one.received.len(), other.received.len()), (OCTETS, OCTETS), "{fates:?}");
    assert_eq!(
        (one.ended, other.ended),
        (Some(Ended::Finished), Some(Ended::Finished)),
        "{fates:?}"
    );
    air.frames()
}

#[test]
fn one_frame_after_the_other_fails() {
    for version in [LinkVersion::V20, LinkVersion::V22, LinkVersion::Auto] {
        let frames = exchange(version, &[]);
        assert!(frames > 20, "{frames}");
        for fate in [Fate::Lost, Fate::Doubled, Fate::Altered] {
            for nth in 1..=64 {
                exchange(version, &[(nth, fate)]);
            }
        }
    }
}

#[test]
fn two_frames_fail() {
    for version in [LinkVersion::V20, LinkVersion::V22] {
        for first in 1..=16 {
            for second in first + 1..=first + 8 {
                exchange(version, &[(first, Fate::Lost), (second, Fate::Lost)]);
                exchange(version, &[(first, Fate::Lost), (second, Fate::Doubled)]);
            }
        }
    }
}
