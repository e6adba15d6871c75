//! Somebody who asks in another's name: whoever is called that hears at most three octets for each of the asker's
//! (RFC 9000 §8.1), until he shows that he hears us.

use stackwright_artp::Config;
use stackwright_transport::words::{Ending, Phase};

use crate::packets::{datagram, ranges, request};
use crate::scene::{GRANTS, config, cut, later, send, soon, strangers, watch};

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
    assert_eq!(ends.ends[GRANTS].phase(ends.now()), Phase::Ended(Ending::Silent), "nothing is kept of him");
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
            asked.push(ranges(&[(nth.wrapping_mul(0x9e37_79b9), nth.wrapping_mul(0x9e37_79b9))], None));
        }
        let factor = amplified(&Config { ranges: ranged, ..config() }, &asked);
        assert!(factor <= 3.0, "{factor}");
    }
}
