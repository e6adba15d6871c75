//! What is protected arrives as what is not, on bad links; and what was altered never does.

use std::collections::HashSet;

use stackwright_artp::{Protection, compose, take_apart};
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::{Conditions, seeds};
use stackwright_transport::words::Dropped;
use stackwright_trial::{End, Talk, Trial};
use stackwright_wire::{BufferTree, Message};

use crate::protection::setting::{
    CIPHERS, bad, config, end_of, heard, opened, run, say, sealed, signed,
};

fn talks(what: &str, protect: impl Fn(usize) -> Protection, usual: u64, talk: Talk) {
    for seed in seeds(usual) {
        let make = |side| end_of(&config(protect(side)), side, 0);
        let mut ends = Trial::new(make, &bad(seed), seed);
        let outcome = ends.talk(&Talk { waits: true, ..talk }, seed, |_, _| {});
        assert!(outcome.is_ok(), "{what}, seed {seed}: {outcome:?}");
        let forged = ends.dropped().iter().any(|(_, dropped)| *dropped == Dropped::Forged);
        assert!(!forged, "{what}, seed {seed}: nobody forges");
    }
}

#[test]
fn sealed_datagrams_arrive_once_on_a_bad_link() {
    for cipher in CIPHERS {
        talks(&format!("{cipher:?}"), |_| sealed(cipher), 40, Talk::default());
    }
}

#[test]
fn signed_datagrams_arrive_once_on_a_bad_link() {
    talks("signed", signed, 40, Talk::default());
}

#[test]
fn opaque_datagrams_go_up_as_they_came_down() {
    let (mut ends, _) = opened([Protection::Opaque; 2], 0);
    let mut datagram = compose(b"signed by me", BufferTree::with_headroom(16, b"and secret"));
    let length = datagram.len();
    say(&mut ends, 0, datagram.front(length).expect("in memory"));
    let heard = heard(&mut ends, 1).pop().expect("a datagram");
    let (mut signature, mut data) =
        take_apart(BufferTree::with_headroom(0, &heard)).expect("whole");
    assert_eq!(signature.front(12), Some(&b"signed by me"[..]));
    assert_eq!(data.front(10), Some(&b"and secret"[..]));
    assert!(
        take_apart(BufferTree::with_headroom(0, &[0, 0, 0, 9, 1])).is_err(),
        "shorter than it says"
    );
}

#[test]
fn what_says_that_it_is_longer_than_it_is_does_not_leave() {
    let (mut ends, _) = opened([Protection::Opaque; 2], 0);
    for wrong in [&[][..], &[0, 0, 0], &[0, 0, 0, 2, 1], &[255; 8]] {
        let (now, message) = (ends.now(), BufferTree::with_headroom(0, wrong));
        let End { association, memory, .. } = &mut ends.ends[0];
        let back = association.send(now, message, MessageProperties::default(), memory);
        assert_eq!(back.map_err(|message| message.len()), Err(wrong.len()));
    }
}

#[test]
fn static_and_boxed_policies_have_the_same_trace() {
    for seed in 0..10 {
        let config = config(sealed(CIPHERS[0]));
        let talk = Talk { waits: true, ..Talk::default() };
        let one = Trial::new(|side| end_of(&config, side, 0), &bad(seed), seed).talk(
            &talk,
            seed,
            |_, _| {},
        );
        let other = Trial::new(|side| end_of(&config, side, 0).boxed(), &bad(seed), seed).talk(
            &talk,
            seed,
            |_, _| {},
        );
        assert!(one.is_ok(), "seed {seed}: {one:?}");
        assert_eq!(one, other, "seed {seed}");
    }
}

/// Nothing but the seal tells what was altered: what arrives was sent, and none arrives twice. What
/// is altered in a packet's own header may be lost to the engine, which is what the check of UDP is
/// for.
#[test]
fn what_was_altered_is_never_delivered() {
    let (mut forged, mut delivered) = (0, 0);
    for seed in seeds(30) {
        let (mut ends, _) = opened([sealed(CIPHERS[seed as usize % 2]); 2], 0);
        ends.set_conditions(&Conditions { corrupt: 0.03, ..bad(seed) });
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sent = [HashSet::new(), HashSet::new()];
        for nth in 0_u32..120 {
            let side = random.usize(..2);
            let mut octets =
                vec![nth as u8; 4 + random.usize(..if nth % 8 == 0 { 4000 } else { 300 })];
            octets[..4].copy_from_slice(&nth.to_be_bytes());
            say(&mut ends, side, &octets);
            sent[side].insert(octets);
        }
        run(&mut ends, Duration::from_secs(20));
        for side in [0, 1] {
            for octets in heard(&mut ends, side) {
                assert!(
                    sent[1 - side].remove(&octets),
                    "seed {seed}: altered, or for the second time"
                );
                delivered += 1;
            }
        }
        forged += ends.dropped().iter().filter(|(_, dropped)| *dropped == Dropped::Forged).count();
    }
    assert!(forged > 10 && delivered > 1000, "{forged} were altered, {delivered} arrived");
}
