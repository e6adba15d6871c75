//! Bit errors: each who hears a frame has its own.

use stackwright_simulator::{Channel, ChannelConditions};

use crate::channel::{at, plain, probe, rest};

#[test]
fn all_who_hear_have_errors_of_their_own_at_the_rate() {
    let conditions = ChannelConditions { bit_errors: 1e-3, ..plain() };
    let mut channel = Channel::new(conditions, 4, 7);
    for number in 0..2000 {
        channel.send(at(0), 0, None, probe(number, 125));
    }
    let heard = rest(&mut channel);
    assert_eq!(heard.len(), 3 * 2000);
    for station in 1..4 {
        let mine = heard.iter().filter(|reception| reception.station == station);
        let altered: u64 = mine.map(|reception| reception.packet.altered).sum();
        // 2000 frames of 1000 bits: 2000 errors, with a deviation of 45.
        assert!((1775..2225).contains(&altered), "{altered} at {station}");
    }
    let alike = heard.chunks(3).filter(|three| three[0].packet == three[1].packet);
    assert!(alike.count() < 1000, "not all hear the same");
    let altered = heard.iter().filter(|reception| reception.packet.altered > 0).count() as u64;
    assert_eq!(channel.counts().altered, altered);
}
