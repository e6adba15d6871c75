//! Three stations in a chain, with loss on both links: what one end sends the other one hears,
//! changed as the relay does it.

mod chain;

use std::net::SocketAddr;

use stackwright_contract::services::Ended;
use stackwright_relay::{Direction, Indication, Request};
use stackwright_simulator::{Conditions, seeds};

use chain::{Chain, ROOM, any_conditions, artp, stop_and_wait};

#[test]
fn over_artp_everything_passes_both_ways_and_so_does_the_end() {
    for seed in seeds(200) {
        let mut chain = Chain::new(seed, any_conditions(seed), [30, 20], artp);
        assert!(chain.ends(), "seed {seed}: it comes to an end");
        let [mut there, mut back] = chain.heard();
        there.sort_unstable();
        back.sort_unstable();
        assert!(
            there.into_iter().eq(0..30) && back.into_iter().eq(0..20),
            "seed {seed}: each once"
        );
        assert_eq!(chain.ended()[0], Some(Ended::Finished), "seed {seed}");
        let left = chain.told().last().copied();
        // Who leaves has heard all; that it did, its last packet but one may have told, and be
        // lost.
        assert!(
            matches!(
                left,
                Some(Indication::Left { first: Direction::Onward, passed: [30, 20], .. })
            ),
            "seed {seed}: {left:?}"
        );
    }
}

#[test]
fn over_stop_and_wait_everything_passes_in_order() {
    for seed in seeds(200) {
        let mut chain = Chain::new(seed, any_conditions(seed), [15, 10], stop_and_wait);
        let heard = |chain: &Chain<_>| chain.heard().map(|heard| heard.len()) == [15, 10];
        assert!(chain.run_until(heard), "seed {seed}");
        assert_eq!(chain.heard(), [Vec::from_iter(0..15), Vec::from_iter(0..10)], "seed {seed}");
    }
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender_and_nothing_is_lost() {
    for seed in 0..20 {
        let mut chain = Chain::new(seed, any_conditions(seed), [400, 0], artp);
        chain.receiver_mut().reads = false;
        chain.run_for(60);
        let sent = chain.sent();
        assert!(sent < 400, "seed {seed}: {sent} were sent, and nobody reads");
        assert!(chain.held() <= ROOM.octets, "seed {seed}: {} octets wait", chain.held());
        chain.run_for(60);
        assert_eq!(chain.sent(), sent, "seed {seed}: nothing moves");
        chain.read();
        assert!(chain.ends(), "seed {seed}");
        let [mut there, _] = chain.heard();
        there.sort_unstable();
        assert!(there.into_iter().eq(0..400), "seed {seed}");
    }
}

#[test]
fn who_cannot_be_led_onward_is_sent_away() {
    let mut chain = Chain::new(1, Conditions::IDEAL, [3, 1], artp);
    let nobody = SocketAddr::from(([10, 0, 0, 9], 7)).into();
    chain.lead_to(Some(nobody));
    assert!(chain.ends_at(&[0]));
    assert!(matches!(chain.told().last(), Some(Indication::Left { why: Ended::Unreachable, .. })));

    let mut chain = Chain::new(1, Conditions::IDEAL, [3, 1], artp);
    chain.lead_to(None);
    assert!(chain.ends_at(&[0]));
}

#[test]
fn stop_closes_what_is_there() {
    let mut chain = Chain::new(1, any_conditions(1), [400, 400], artp);
    chain.receiver_mut().reads = false;
    chain.run_for(5);
    chain.ask(Request::Stop);
    chain.read(); // what waits for it goes first
    assert!(chain.run_until(|chain| chain.relay().names() == 0));
    assert!(chain.ended().iter().all(Option::is_some), "both are told");
    assert!(chain.told().iter().any(|told| matches!(told, Indication::NotRelaying { .. })));
}
