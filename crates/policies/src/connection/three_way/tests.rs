//! What is said in each stage.

use alloc::vec::Vec;

use stackwright_transport::words::{Estimate, MILLISECOND};

use super::*;

const RTT: Nanoseconds = 10 * MILLISECOND;

fn at(seconds: u64) -> View {
    let rtt = Estimate { smoothed: RTT, variation: 0, least: RTT, timeout: SECOND };
    View { now: Instant::START.later(seconds * SECOND), rtt, ..View::START }
}

fn hear(policy: &mut ThreeWay, view: &View, signals: Signals) -> Result<(), Dropped> {
    let next = Some(view.received_upto);
    policy.admit(view, &PacketInfo { signals, octets: 40, next, ..PacketInfo::default() })
}

/// Says what is due, and returns it.
fn say(policy: &mut ThreeWay, view: &View) -> Signals {
    let said = policy.signals(view, Occasion::Nothing);
    // The end of a half waits for data to leave, and not for time.
    let waits = said.without(Signals::FINISH) != Signals::NONE;
    assert!(!waits || policy.deadline() <= view.now, "it wakes for that");
    policy.on_said(view, said, 40);
    said
}

fn open(now: u64) -> ThreeWay {
    let mut policy = ThreeWay::new(SECOND);
    policy.open(&at(now));
    say(&mut policy, &at(now));
    hear(&mut policy, &at(now), Signals::OPEN | Signals::ACCEPT).unwrap();
    assert_eq!(say(&mut policy, &at(now)), Signals::CONFIRM);
    assert_eq!(policy.phase(&at(now)), Phase::Open);
    policy
}

/// RFC 9293 figure 6, and RFC 6298 §5.7.
#[test]
fn a_request_is_repeated_six_times_and_then_the_peer_is_gone() {
    let mut policy = ThreeWay::new(SECOND);
    policy.open(&at(1));
    let mut said = Vec::new();
    for second in 1..200 {
        if let Phase::Ended(ending) = policy.phase(&at(second)) {
            assert_eq!((ending, second), (Ending::Silent, 64));
            break;
        }
        if say(&mut policy, &at(second)) == Signals::OPEN {
            said.push(second);
        }
    }
    assert_eq!(said, [1, 2, 4, 8, 16, 32]);
}

#[test]
fn what_a_request_shows_of_the_path_is_told_once() {
    let mut policy = ThreeWay::new(SECOND);
    policy.open(&at(1));
    say(&mut policy, &at(1));
    say(&mut policy, &at(2));
    hear(&mut policy, &at(3), Signals::OPEN | Signals::ACCEPT).unwrap();
    let opening = policy.take_opening().expect("it is open");
    assert_eq!((opening.tries, opening.took, opening.octets), (2, 2 * SECOND, 120));
    assert_eq!(policy.take_opening(), None);
}

/// RFC 9293 figure 8.
#[test]
fn both_may_ask_at_once() {
    let mut policy = ThreeWay::new(SECOND);
    policy.open(&at(1));
    assert_eq!(say(&mut policy, &at(1)), Signals::OPEN);
    hear(&mut policy, &at(1), Signals::OPEN).unwrap();
    assert!(!policy.is_half_open() && policy.phase(&at(1)) == Phase::Opening);
    assert_eq!(say(&mut policy, &at(1)), Signals::OPEN | Signals::ACCEPT);
    hear(&mut policy, &at(1), Signals::OPEN | Signals::ACCEPT).unwrap();
    assert_eq!(say(&mut policy, &at(1)), Signals::CONFIRM);
    assert_eq!(policy.phase(&at(1)), Phase::Open);
}

/// RFC 9293 §3.10.7.2 and §3.10.7.4.
#[test]
fn a_listener_answers_until_it_is_confirmed() {
    let mut policy = ThreeWay::new(SECOND);
    assert_eq!(hear(&mut policy, &at(1), Signals::ACCEPT), Err(Dropped::NotOurs));
    hear(&mut policy, &at(1), Signals::OPEN).unwrap();
    let answer = Signals::OPEN | Signals::ACCEPT;
    assert_eq!(say(&mut policy, &at(1)), answer);
    assert!(policy.is_half_open() && !policy.may_send(1));
    // The peer asks again: the answer was lost.
    hear(&mut policy, &at(1), Signals::OPEN).unwrap();
    assert_eq!([say(&mut policy, &at(1)), say(&mut policy, &at(2))], [answer, Signals::NONE]);
    assert_eq!(say(&mut policy, &at(3)), answer);
    hear(&mut policy, &at(3), Signals::ACCEPT).unwrap();
    assert!(!policy.is_half_open() && policy.may_send(1));
}

/// RFC 9293 §3.10.7.3.
#[test]
fn a_reset_refuses_and_a_strange_acknowledgement_is_refused() {
    let mut policy = ThreeWay::new(SECOND);
    policy.open(&at(1));
    say(&mut policy, &at(1));
    hear(&mut policy, &at(1), ThreeWay::STRANGE).unwrap();
    assert_eq!(say(&mut policy, &at(1)), Signals::REFUSE);
    assert_eq!(policy.phase(&at(1)), Phase::Opening);
    hear(&mut policy, &at(1), Signals::END).unwrap();
    assert_eq!(policy.phase(&at(1)), Phase::Ended(Ending::Refused(0)));
}

/// RFC 9293 figures 12 and 13.
#[test]
fn it_is_over_when_both_halves_are_closed_and_both_sides_know() {
    for together in [false, true] {
        let mut policy = open(1);
        policy.finish();
        assert_eq!(say(&mut policy, &at(1)), Signals::FINISH);
        assert_eq!(say(&mut policy, &at(1)), Signals::NONE);
        assert_eq!(say(&mut policy, &at(2)), Signals::FINISH, "it was lost");
        let steps = if together {
            [Signals::FINISH, Signals::STOP]
        } else {
            [Signals::STOP, Signals::FINISH]
        };
        for signals in steps {
            assert_eq!(policy.phase(&at(2)), Phase::Open);
            hear(&mut policy, &at(2), signals).unwrap();
            let owes = Signals::CONFIRM.when(signals == Signals::FINISH);
            assert_eq!(say(&mut policy, &at(2)), owes);
        }
        assert_eq!(policy.phase(&at(2)), Phase::Ended(Ending::Finished));
    }
}

/// RFC 2525 §2.17, RFC 1122 §4.2.2.13.
#[test]
fn data_that_nobody_reads_resets() {
    let mut policy = open(1);
    let data = |next| PacketInfo { unit: true, next: Some(next), ..PacketInfo::default() };
    policy.finish();
    policy.admit(&at(1), &data(9)).unwrap();
    assert_eq!(say(&mut policy, &at(1)), Signals::FINISH, "a half close reads on");
    policy.stop(false);
    policy.admit(&at(1), &data(0)).unwrap();
    assert_eq!(policy.phase(&at(1)), Phase::Open, "it is old");
    policy.admit(&at(1), &data(9)).unwrap();
    assert!(say(&mut policy, &at(1)).has(Signals::END));
    assert_eq!(policy.phase(&at(1)), Phase::Ended(Ending::Reset(0)));
}

/// RFC 9293 §3.6.1.
#[test]
fn an_orphan_waits_for_a_minute() {
    for stops_late in [false, true] {
        let mut policy = open(1);
        policy.finish();
        if !stops_late {
            policy.stop(false);
        }
        say(&mut policy, &at(1));
        hear(&mut policy, &at(1), Signals::STOP).unwrap();
        if stops_late {
            assert_eq!(policy.deadline(), Instant::END, "the application still reads");
            policy.stop(false);
            assert!(policy.deadline() <= at(1).now);
            policy.on_time(&at(1));
        }
        assert_eq!(policy.deadline(), at(61).now);
        assert_eq!(policy.phase(&at(60)), Phase::Open);
        assert_eq!(policy.phase(&at(61)), Phase::Ended(Ending::Finished));
    }
}

#[test]
fn a_peer_that_does_not_acknowledge_the_end_is_gone() {
    let mut policy = open(1);
    policy.finish();
    let gone = (1..200).find(|second| {
        say(&mut policy, &at(*second));
        policy.phase(&at(*second)) == Phase::Ended(Ending::Silent)
    });
    assert_eq!(gone, Some(101));
}

/// A round trip in which the peer was suspended does not keep it from hearing of the end.
#[test]
fn the_end_is_sent_several_times_before_the_peer_is_gone() {
    let mut policy = open(1);
    policy.finish();
    let slow = |second| {
        let (smoothed, timeout) = (15 * SECOND, 45 * SECOND);
        let rtt = Estimate { smoothed, variation: 8 * SECOND, least: RTT, timeout };
        View { rtt, ..at(second) }
    };
    let said = (1..100).filter(|second| say(&mut policy, &slow(*second)) == Signals::FINISH);
    assert!(said.count() >= 4);
}

#[test]
fn an_abort_is_told_once() {
    let mut policy = open(1);
    assert!(policy.abandon(&at(1), Ending::Aborted(7)));
    assert!(say(&mut policy, &at(1)).has(Signals::END));
    assert_eq!(policy.phase(&at(1)), Phase::Ended(Ending::Aborted(7)));
    assert_eq!(say(&mut policy, &at(9)), Signals::NONE);
}
