//! How links end.

use stackwright_ax25::LinkVersion;
use stackwright_contract::Duration;
use stackwright_contract::services::{Ended, StreamsRequest};

use crate::simulated::air::{Air, Fate, name, station};
use crate::simulated::exchange::{config, radio};
use crate::simulated::talk::{End, check, data};

const OCTETS: usize = 8000;

/// What the first does when the other has half of its octets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Finish,
    Close,
    Abort,
}

/// The first sends; then it does that. Returns both ends.
fn sends_and(deed: Deed, version: LinkVersion, fates: &[(u64, Fate)]) -> [End; 2] {
    let configs = ["A", "B"].map(|own| config(own, version));
    let mut air = Air::new(radio("packet-radio-1200"), configs.to_vec(), 11);
    air.fates = fates.iter().copied().collect();
    let mut one = End::new(0, 1, data(OCTETS, 1));
    let mut other = End::new(1, 1, Vec::new());
    other.listen(&mut air, "B");
    one.open(&mut air, station("B"));
    let mut done = false;
    let over = air.run_until(Duration::from_secs(1200), |air| {
        one.turn(air);
        other.turn(air);
        if !done && other.received.len() >= OCTETS / 2 {
            done = true;
            let (association, code) = (name(1), 0);
            match deed {
                Deed::Finish => one.finishes = true,
                Deed::Close => air.ask_stream(0, StreamsRequest::Close { name: association }),
                Deed::Abort => air.ask_stream(0, StreamsRequest::Abort { association, code }),
            }
            one.turn(air);
        }
        one.ended.is_some() && other.ended.is_some()
    });
    assert!(over, "{one:?} {other:?}");
    check(&one, &other);
    [one, other]
}

/// Nothing, and each of the frames in turn lost.
fn losses() -> impl Iterator<Item = Vec<(u64, Fate)>> {
    std::iter::once(Vec::new()).chain((1..60).map(|nth| vec![(nth, Fate::Lost)]))
}

#[test]
fn what_was_sent_arrives_before_the_end() {
    for version in [LinkVersion::V20, LinkVersion::V22] {
        for deed in [Deed::Finish, Deed::Close] {
            for fates in losses() {
                let [one, other] = sends_and(deed, version, &fates);
                assert_eq!(other.received.len(), OCTETS, "{fates:?}");
                assert!(other.peer_finished, "{fates:?}");
                let ended = (one.ended, other.ended);
                assert_eq!(ended, (Some(Ended::Finished), Some(Ended::Finished)), "{fates:?}");
            }
        }
    }
}

#[test]
fn half_of_a_stream_is_no_whole_one() {
    for version in [LinkVersion::V20, LinkVersion::V22] {
        let [one, other] = sends_and(Deed::Abort, version, &[]);
        assert!((OCTETS / 2..OCTETS).contains(&other.received.len()), "{}", other.received.len());
        assert!(!other.peer_finished);
        assert_eq!((one.ended, other.ended), (Some(Ended::Aborted), Some(Ended::Reset(0))));
    }
}
