//! Exactly one thing goes wrong: with the n-th packet, for each n.

use stackwright_artp::Config;
use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, Deed, Event};
use stackwright_trial::Trial;

use crate::engine::conversation::{Conversation, Outcome};
use crate::engine::setting::{config, end};

/// How many packets are tried, each way.
const PACKETS: u64 = 200;

/// A way of ten milliseconds.
fn line() -> Conditions {
    Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL }
}

fn one(side: usize, nth: u64, deed: Deed) -> Result<Outcome, String> {
    let mut events = [Vec::new(), Vec::new()];
    events[side].push(Event { nth, deed });
    let mut ends = Trial::scripted(
        |side| end(&Config { gather_most: 1, gather_full: 1, ..config() }, side),
        &line(),
        events,
    );
    // More than PACKETS packets each way: data one way are acknowledgements the other.
    let conversation = Conversation {
        counts: [105, 105],
        longest: 200,
        pauses: false,
        limit: Duration::from_secs(60),
        ..Conversation::default()
    };
    let outcome = conversation.hold(&mut ends, 1, |_| Ok(()));
    assert!(outcome.is_err() || ends.packets() > 2 * PACKETS, "only {} packets", ends.packets());
    outcome
}

fn ends_well(deed: impl Fn(u64) -> Deed) {
    for side in [0, 1] {
        for nth in 0..PACKETS {
            if let Err(failure) = one(side, nth, deed(nth)) {
                panic!("packet {nth} of end {side}: {failure}");
            }
        }
    }
}

#[test]
fn the_nth_packet_is_lost_and_it_ends_well() {
    ends_well(|_| Deed::Lose);
}

#[test]
fn the_nth_packet_comes_twice_and_it_ends_well() {
    ends_well(|nth| Deed::Duplicate { by: Duration::from_millis(nth % 7 * 20) });
}

#[test]
fn the_nth_packet_is_overtaken_by_five_others_and_it_ends_well() {
    ends_well(|_| Deed::HoldBack { by: Duration::from_millis(60) });
}

/// The format alone has to survive it, without a check. Then a datagram may be another than was
/// sent, or have another number or priority; an acknowledgement may name a packet that never came,
/// so that its datagram never does either; and a stamp may say that something is over. But there is
/// always an end, or somebody who waits for one in quiet.
#[test]
fn one_bit_of_the_nth_packet_is_altered_and_nothing_panics_or_storms() {
    for side in [0, 1] {
        for nth in 0..PACKETS {
            // The bits of the headers, one after the other.
            if let Err(failure) = one(side, nth, Deed::Alter { bit: nth * 37 % 320 }) {
                assert!(
                    !failure.contains("storm") && !failure.contains("timer"),
                    "packet {nth} of end {side}: {failure}"
                );
            }
        }
    }
}
