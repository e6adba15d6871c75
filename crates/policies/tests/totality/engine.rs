//! What policies rely on.

use stackwright_contract::services::{Quality, Room};
use stackwright_contract::{Duration, Instant};
use stackwright_policies::{framing, recovery};
use stackwright_simulator::Conditions;
use stackwright_transport::slots::Rtt as _;
use stackwright_transport::words::MILLISECOND;
use stackwright_transport::{Association, Boxed, IntoPart, Memory, Parts, SLOTS};
use stackwright_trial::{Promise, Talk, Trial};
use stackwright_wire::{BufferTree, Message};

use crate::choices::{Choice, M, built, but, parts};

fn association(parts: Parts<M>) -> Association<Boxed<M>> {
    Association::new(built(parts))
}

fn message(octets: &[u8]) -> M {
    BufferTree::with_headroom(64, octets)
}

/// Asked for and polled, on units in order.
fn polled() -> Choice {
    [
        ("ordering", "total ordering"),
        ("framing", "framing as a stream"),
        ("connection", "connection by a handshake"),
        ("acknowledgement", "acknowledgement on request, with spans"),
        ("inquiry", "inquiry by polls"),
        ("recovery", "recovery by selective repeat"),
        ("rtt", "rtt smoothed"),
    ]
    .into_iter()
    .fold([0; SLOTS.len()], |choice, (slot, name)| but(choice, slot, name))
}

#[test]
fn who_has_not_shown_that_he_hears_is_not_flooded_with_questions() {
    let cautious = but(polled(), "connection", "connection in two stages");
    let (mut caller, mut called) = (association(parts(&cautious)), association(parts(&cautious)));
    let mut memory = Memory::new(2048, 32, 64);
    let start = Instant::from_nanoseconds(1_000_000_000);
    caller.open(start);
    let opening = caller.transmit(start, &mut memory).expect("it asks");
    let heard = opening.len();
    called.receive(start, opening, &mut memory).expect("it is heard");
    for _ in 0..4 {
        assert!(called.send(start, message(&[7; 40]), Quality::default()).is_ok());
    }
    let mut said = 0;
    for step in 0..600 {
        let now = start.later(step * 100 * MILLISECOND);
        called.handle_timeout(now);
        while let Some(packet) = called.transmit(now, &mut memory) {
            said += packet.len();
        }
    }
    assert!(said <= 5 * heard, "{said} octets for {heard}");
}

#[test]
fn a_message_of_no_octets_is_nothing_or_refused_where_it_has_no_number() {
    let mut stream = association(parts(&polled()));
    assert!(stream.send(Instant::START, message(&[]), Quality::default()).is_ok());
    assert_eq!(stream.released(), Room { octets: 0, messages: 1 });
    assert!(stream.sending().is_drained());

    let mut marks = parts(&but(polled(), "format", "a format of octets"));
    marks.framing = framing::Marks::new(100).part();
    assert!(association(marks).send(Instant::START, message(&[]), Quality::default()).is_err());

    let mut marks = parts(&polled());
    marks.framing = framing::Marks::new(100).part();
    assert!(association(marks).send(Instant::START, message(&[]), Quality::default()).is_ok());
}

#[test]
fn a_round_trip_is_measured_though_questions_follow_each_other_faster() {
    let delay = Duration::from_millis(150);
    let conditions = Conditions { delay, ..Conditions::IDEAL };
    let talk = Talk { back: 0, promise: Promise::Octets, closes: false, ..Talk::default() };
    let mut trial = Trial::new(|_| built(parts(&polled())), &conditions, 1);
    trial.talk(&talk, 1, |_, _| {}).unwrap();
    let estimate = trial.ends[0].association.slots().rtt().estimate();
    assert!(estimate.smoothed >= 300 * MILLISECOND, "{estimate:?}");
}

#[test]
fn what_left_is_forgotten_though_nobody_asks_for_the_oldest() {
    let talk = Talk { there: 500, back: 0, promise: Promise::Octets, closes: false, ..Talk::default() };
    let never_overtaken = |_| {
        let mut parts = parts(&but(polled(), "flow", "flow by credit"));
        parts.recovery = recovery::SelectiveRepeat::new().part();
        built(parts)
    };
    let mut trial = Trial::new(never_overtaken, &Conditions::IDEAL, 1);
    trial.talk(&talk, 1, |_, _| {}).unwrap();
    let kept = format!("{:?}", trial.ends[0].association.sending()).matches("order:").count();
    assert!(kept < 200, "{kept} of thousands");
}
