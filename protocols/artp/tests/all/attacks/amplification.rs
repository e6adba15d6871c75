//! Somebody who asks in another's name: whoever is called that hears at most three octets for each
//! of the asker's (RFC 9000 §8.1), until he shows that he hears us.

use stackwright_artp::Config;
use stackwright_artp::header::{ControlKind, Proposal, Verdict};
use stackwright_contract::services::MessageProperties;
use stackwright_transport::words::{Ending, Phase};

use crate::attacks::packets::{OPEN, arrangement, datagram, encoded, proposal, ranges, request};
use crate::attacks::scene::{GRANTS, config, cut, later, said, send, soon, strangers, watch};

/// What an end says in ten minutes to who is not there, for each octet that was said in his name.
fn amplified(config: &Config, asked: &[Vec<u8>]) -> f64 {
    let mut ends = strangers(config, 1);
    cut(&mut ends, true);
    let mut heard = 0;
    let mut answered = 0;
    for packet in asked {
        ends.inject(GRANTS, packet);
        heard += packet.len();
        // The application has something to say at once.
        if heard == packet.len() {
            send(&mut ends, GRANTS, 0..200);
        }
        let at = soon(&ends);
        watch(&mut ends, at, |_, octets| answered += octets.len());
    }
    let end = later(&ends, 600);
    watch(&mut ends, end, |_, octets| answered += octets.len());
    assert_eq!(
        ends.ends[GRANTS].phase(ends.now()),
        Phase::Ended(Ending::Silent),
        "nothing is kept of him"
    );
    answered as f64 / heard as f64
}

#[test]
fn who_asks_once_in_anothers_name_makes_us_say_at_most_three_octets_for_each_of_his() {
    let factor = amplified(&config(), &[request(1)]);
    assert!(factor <= 3.0, "{factor}");
}

#[test]
fn who_asks_again_and_again_makes_us_say_at_most_three_octets_for_each_of_his() {
    let factor = amplified(&config(), &vec![request(1); 50]);
    assert!(factor <= 3.0, "{factor}");
}

/// What he sends is acknowledged, and what he acknowledges was never his to hear.
#[test]
fn who_also_sends_and_acknowledges_makes_us_say_at_most_three_octets_for_each_of_his() {
    for ranged in [true, false] {
        let mut asked = vec![request(1)];
        for nth in 0..300_u32 {
            asked.push(datagram(77 + nth, nth, b""));
            // A number that the other end has never used: his own guess.
            asked.push(ranges(
                &[(nth.wrapping_mul(0x9e37_79b9), nth.wrapping_mul(0x9e37_79b9))],
                None,
            ));
        }
        let factor = amplified(&Config { ranges: ranged, ..config() }, &asked);
        assert!(factor <= 3.0, "{factor}");
    }
}

/// He takes nothing, and is owed no more than he has sent: to try what he takes waits until he is
/// heard, and no timer rings for it meanwhile. It would ring for ever.
#[test]
fn a_window_of_none_is_not_tried_before_there_is_leave_to_send() {
    let mut ends = strangers(&config(), 1);
    let shut = encoded(&Proposal { window: 0, ..proposal(Verdict::Asked, 1, 0) });
    ends.inject(GRANTS, &arrangement(ControlKind::Request, OPEN, &shut));
    // Short enough beside the first answer, too long beside the second.
    let now = ends.now();
    ends.ends[GRANTS].send(now, &[0; 50], MessageProperties::default());
    for _ in 0..2000 {
        said(&mut ends, GRANTS);
        let now = ends.now();
        let Some(deadline) = ends.ends[GRANTS].association.next_deadline(now) else { break };
        assert!(deadline > now, "{deadline:?} has passed, and nothing is left to be said");
        ends.until(deadline);
        let now = ends.now();
        ends.ends[GRANTS].association.handle_timeout(now);
    }
    assert!(
        matches!(ends.ends[GRANTS].phase(ends.now()), Phase::Ended(_)),
        "nothing is kept of him"
    );
}
