//! What policies rely on.

use stackwright_contract::services::{Batch, Credit, MessageProperties};
use stackwright_contract::{Duration, Instant};
use stackwright_policies::{framing, recovery};
use stackwright_simulator::Conditions;
use stackwright_transport::slots::Rtt as _;
use stackwright_transport::words::{Ending, MILLISECOND, Phase, SECOND};
use stackwright_transport::{Association, Boxed, IntoPart, Memory, Parts, SLOTS};
use stackwright_trial::choices::{Choice, M, built, but, parts};
use stackwright_trial::{Promise, Talk, Trial};
use stackwright_wire::{BufferTree, Message};

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
    let mut opening = transmit(&mut caller, start, &mut memory).expect("it asks");
    let heard = opening.len();
    called
        .receive(start, None, &mut opening, None, &mut memory, Credit::default())
        .expect("it is heard");
    for _ in 0..4 {
        assert!(
            called.send(start, message(&[7; 40]), MessageProperties::default(), &memory).is_ok()
        );
    }
    let mut said = 0;
    for step in 0..600 {
        let now = start.later(step * 100 * MILLISECOND);
        called.handle_timeout(now);
        while let Some(packet) = transmit(&mut called, now, &mut memory) {
            said += packet.len();
        }
    }
    assert!(said <= 5 * heard, "{said} octets for {heard}");
}

#[test]
fn a_message_of_no_octets_is_nothing_or_refused_where_it_has_no_number() {
    let nothing = |mut end: Association<Boxed<M>>| {
        let sent = end.send(
            Instant::START,
            message(&[]),
            MessageProperties::default(),
            &Memory::new(2048, 32, 64),
        );
        sent.map(|()| end)
    };
    let mut stream = nothing(association(parts(&polled()))).expect("it is nothing");
    assert_eq!(stream.released(), Credit { octets: 0, messages: 1 });
    assert!(stream.sending().is_drained());

    let mut marks = parts(&but(polled(), "format", "a format of octets"));
    marks.framing = framing::MessageEnd::new(100).part();
    assert!(nothing(association(marks)).is_err());

    let mut marks = parts(&polled());
    marks.framing = framing::MessageEnd::new(100).part();
    assert!(nothing(association(marks)).is_ok());
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
    let talk =
        Talk { there: 500, back: 0, promise: Promise::Octets, closes: false, ..Talk::default() };
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

/// Reported of without a question, and asked about where something is lost; but for what `differs`.
fn probed(differs: &[(&str, &str)]) -> Choice {
    let probed = [
        ("ordering", "total ordering"),
        ("framing", "framing as a stream"),
        ("acknowledgement", "acknowledgement of the first missing number"),
        ("recovery", "recovery by individual timeouts"),
        ("rtt", "rtt by RFC 6298"),
        ("congestion", "congestion by probing"),
    ];
    probed
        .iter()
        .chain(differs)
        .fold([0; SLOTS.len()], |choice, (slot, name)| but(choice, slot, name))
}

/// The next packet.
fn transmit(end: &mut Association<Boxed<M>>, now: Instant, memory: &mut Memory<M>) -> Option<M> {
    let one = Credit { octets: usize::MAX, messages: 1 };
    end.transmit(now, memory, one).map(Batch::into_octets)
}

/// What leaves at one moment.
fn said(end: &mut Association<Boxed<M>>, now: Instant, memory: &mut Memory<M>) -> Vec<M> {
    end.handle_timeout(now);
    core::iter::from_fn(|| transmit(end, now, memory)).collect()
}

#[test]
fn what_is_heard_of_only_because_it_was_asked_for_measures_the_question() {
    let policies = probed(&[]);
    let (mut sender, mut receiver) = (association(parts(&policies)), association(parts(&policies)));
    let mut memory = Memory::new(2048, 32, 64);
    let mut now = Instant::from_nanoseconds(1_000_000_000);
    assert!(sender.send(now, message(&[7; 40]), MessageProperties::default(), &memory).is_ok());
    let mut unit = said(&mut sender, now, &mut memory).pop().expect("it leaves");
    receiver
        .receive(now, None, &mut unit, None, &mut memory, Credit::default())
        .expect("it arrives");
    now = now.later(20 * MILLISECOND);
    assert_eq!(said(&mut receiver, now, &mut memory).len(), 1, "a report, which is lost");
    // As is every question for twenty seconds.
    let late = now.later(20 * SECOND);
    let mut question = loop {
        now = now.later(200 * MILLISECOND);
        if let Some(question) = said(&mut sender, now, &mut memory).pop().filter(|_| now > late) {
            break question;
        }
    };
    receiver
        .receive(now, None, &mut question, None, &mut memory, Credit::default())
        .expect("it arrives");
    let mut answer = said(&mut receiver, now, &mut memory).pop().expect("it is answered");
    now = now.later(30 * MILLISECOND);
    sender
        .receive(now, None, &mut answer, None, &mut memory, Credit::default())
        .expect("it arrives");
    assert!(sender.sending().is_idle());
    let estimate = sender.slots().rtt().estimate();
    assert_eq!(estimate.smoothed, 30 * MILLISECOND, "{estimate:?}");
}

#[test]
fn one_loss_more_is_not_taken_for_a_death() {
    for rtt in ["rtt static", "rtt smoothed", "rtt by RFC 6298"] {
        let mut sender =
            association(parts(&probed(&[("rtt", rtt), ("congestion", "congestion absent")])));
        let mut memory = Memory::new(2048, 32, 64);
        let mut now = Instant::from_nanoseconds(1_000_000_000);
        assert!(sender.send(now, message(&[7; 40]), MessageProperties::default(), &memory).is_ok());
        let mut times = 0;
        while sender.phase(now) != Phase::Ended(Ending::Silent) {
            times += said(&mut sender, now, &mut memory).len();
            now = sender.next_deadline(now).unwrap_or(now);
        }
        assert!(times > 5, "{rtt}: gone after {times} packets");
    }
}

#[test]
fn who_has_spent_what_he_may_send_hears_a_confirmation_though_many_are_lost() {
    let cautious = but(polled(), "connection", "connection in two stages");
    let (mut caller, mut called) = (association(parts(&cautious)), association(parts(&cautious)));
    let mut memory = Memory::new(2048, 32, 64);
    let mut now = Instant::from_nanoseconds(1_000_000_000);
    caller.open(now);
    let mut opening = transmit(&mut caller, now, &mut memory).expect("it asks");
    called
        .receive(now, None, &mut opening, None, &mut memory, Credit::default())
        .expect("it is heard");
    let mut granted = said(&mut called, now, &mut memory).swap_remove(0);
    caller
        .receive(now, None, &mut granted, None, &mut memory, Credit::default())
        .expect("it is heard");
    // Nothing of either arrives for twenty seconds.
    while now < Instant::from_nanoseconds(21_000_000_000) {
        said(&mut caller, now, &mut memory);
        said(&mut called, now, &mut memory);
        now = now.later(100 * MILLISECOND);
    }
    assert!(called.is_half_open());
    while called.is_half_open() {
        now = caller.next_deadline(now).expect("the caller says no more").max(now);
        for mut packet in said(&mut caller, now, &mut memory) {
            called
                .receive(now, None, &mut packet, None, &mut memory, Credit::default())
                .expect("it is heard");
        }
    }
}
