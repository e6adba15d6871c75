//! Somebody who has recorded what was said, and says it again.

use stackwright_transport::words::Phase;

use crate::attacks::packets::request;
use crate::attacks::scene::{
    ASKS, GRANTS, acquainted, config, heard, later, send, soon, strangers, watch,
};

/// What was said in a session, from the asking on, by whom.
fn recorded(incarnation: u64) -> Vec<(usize, Vec<u8>)> {
    let mut ends = strangers(&config(), incarnation);
    let mut record = Vec::new();
    ends.ends[ASKS].open(ends.now());
    for round in 0..200 {
        if round == 50 {
            send(&mut ends, ASKS, 0..50);
            send(&mut ends, GRANTS, 100..150);
        }
        if round == 150 {
            ends.ends[ASKS].association.close();
        }
        let at = soon(&ends);
        watch(&mut ends, at, |side, octets| record.push((side, octets.to_vec())));
        heard(&mut ends, ASKS);
        heard(&mut ends, GRANTS);
    }
    assert!(record.len() > 60 && matches!(ends.ends[ASKS].phase(ends.now()), Phase::Ended(_)));
    record
}

#[test]
fn all_packets_of_the_same_session_said_three_times_deliver_each_datagram_once() {
    let mut ends = acquainted(&config(), 1);
    let (mut record, mut all) = (Vec::new(), Vec::new());
    send(&mut ends, ASKS, 0..200);
    for _ in 0..500 {
        let at = soon(&ends);
        watch(&mut ends, at, |side, octets| record.push((side, octets.to_vec())));
        all.extend(heard(&mut ends, GRANTS));
    }
    for _ in 0..2 {
        for (side, octets) in &record {
            ends.inject(1 - side, octets);
            all.extend(heard(&mut ends, GRANTS));
        }
    }
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..200));
    send(&mut ends, ASKS, 200..210);
    ends.pass(later(&ends, 1));
    assert_eq!(heard(&mut ends, GRANTS).len(), 10, "and nothing is broken");
}

/// Also who has recorded the request itself: he cannot show that he hears the answer.
#[test]
fn a_whole_earlier_session_said_again_to_who_grants_delivers_nothing() {
    let record = recorded(1);
    let mut ends = strangers(&config(), 2);
    for (side, octets) in &record {
        if *side == ASKS {
            ends.inject(GRANTS, octets);
            assert_eq!(heard(&mut ends, GRANTS), [0; 0]);
        }
    }
    assert!(ends.ends[GRANTS].association.is_half_open());
    for _ in 0..1000 {
        ends.pass(later(&ends, 1));
    }
    assert_eq!(heard(&mut ends, GRANTS), [0; 0]);
    assert!(
        matches!(ends.ends[GRANTS].phase(ends.now()), Phase::Ended(_)),
        "nothing is kept of him"
    );
}

/// The peer has restarted, or the same number was chosen again: packets of the earlier session are
/// still on their way. A number of theirs lies in the window once in 2²⁰ times.
#[test]
fn packets_of_an_earlier_session_with_the_same_number_are_not_of_this_one() {
    let mut delivered = 0;
    for incarnation in 0..20 {
        let record = recorded(2 * incarnation + 1000);
        // Sequence numbers follow from a secret.
        let mut ends = acquainted_far(2 * incarnation + 1001);
        for (side, octets) in &record {
            ends.inject(1 - side, octets);
            delivered += heard(&mut ends, 1 - side).len();
        }
        send(&mut ends, ASKS, 900..910);
        ends.pass(later(&ends, 5));
        assert_eq!(heard(&mut ends, GRANTS), Vec::from_iter(900..910), "and this one goes on");
    }
    assert_eq!(delivered, 0);
}

/// A session whose first number is far from those of [`recorded`].
fn acquainted_far(incarnation: u64) -> crate::attacks::scene::Ends {
    let first = Some((incarnation as u32).wrapping_mul(0x9e37_79b9) & 0x3fff_ffff);
    acquainted(&stackwright_artp::Config { first, ..config() }, incarnation)
}

/// Somebody who asks with another's number, while there is a session: it is not his.
#[test]
fn another_request_does_not_touch_a_session_that_is_there() {
    let mut ends = acquainted(&config(), 5);
    for nonce in 0..1000 {
        ends.inject(GRANTS, &request(nonce));
    }
    send(&mut ends, ASKS, 0..10);
    ends.pass(later(&ends, 1));
    assert_eq!(heard(&mut ends, GRANTS), Vec::from_iter(0..10));
}
