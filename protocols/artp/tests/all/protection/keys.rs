//! Whose keys belong together, and for how long.

use stackwright_artp::{Protection, Sealing, Secret, Signing};
use stackwright_contract::services::MessageProperties;
use stackwright_simulator::Conditions;
use stackwright_transport::words::{Dropped, Ending, Phase};
use stackwright_trial::{End, Trial};
use stackwright_wire::{BufferTree, Message};

use crate::protection::setting::{
    CIPHERS, config, end_of, heard, numbered_after, opened, say, sealed, signed, units,
};

/// Nothing is delivered, and the side that hears such datagrams says so after sixteen.
fn do_not_understand_each_other(what: &str, protections: [Protection; 2]) {
    let (mut ends, _) = opened(protections, 0);
    for nth in 0..16 {
        assert_eq!(ends.ends[1].phase(ends.now()), Phase::Open, "{what}: after {nth}");
        say(&mut ends, 0, &[nth; 700]);
    }
    assert_eq!(heard(&mut ends, 1), [[0; 0]; 0], "{what}");
    assert_eq!(ends.ends[1].phase(ends.now()), Phase::Ended(Ending::Forged), "{what}");
    assert_eq!(ends.ends[0].phase(ends.now()), Phase::Open, "{what}: who sends is told nothing");
    let forged = ends.dropped().iter().filter(|dropped| **dropped == (1, Dropped::Forged)).count();
    assert_eq!(forged, 16, "{what}");
}

#[test]
fn who_has_another_key_hears_nothing_and_says_so() {
    let other = Protection::Sealed(Sealing::new(CIPHERS[0], Secret([8; 32])));
    do_not_understand_each_other("another secret", [sealed(CIPHERS[0]), other]);
    do_not_understand_each_other("another cipher", [sealed(CIPHERS[0]), sealed(CIPHERS[1])]);
    let stranger = Signing::new(Secret([9; 32]), Signing::public(&Secret([2; 32]))).expect("a key");
    do_not_understand_each_other("another's signature", [Protection::Signed(stranger), signed(1)]);
}

#[test]
fn who_protects_otherwise_is_not_understood() {
    do_not_understand_each_other("none for sealed", [Protection::Absent, sealed(CIPHERS[0])]);
    do_not_understand_each_other("none for signed", [Protection::Absent, signed(1)]);
    do_not_understand_each_other("sealed for none", [sealed(CIPHERS[1]), Protection::Absent]);
    do_not_understand_each_other("signed for sealed", [signed(0), sealed(CIPHERS[0])]);
}

#[test]
fn nothing_is_sealed_before_both_sides_salts_are_known() {
    for protection in [sealed(CIPHERS[0]), signed(0)] {
        let mut trial =
            Trial::new(|side| end_of(&config(protection), side, 0), &Conditions::IDEAL, 1);
        let now = trial.now();
        trial.ends[0].open(now);
        let early = BufferTree::with_headroom(0, b"early");
        let End { association, memory, .. } = &mut trial.ends[0];
        let back = association.send(now, early, MessageProperties::default(), memory);
        assert!(back.is_err(), "there is no key yet");
    }
}

/// What one side has sealed, it cannot open itself: a mirror makes no peer.
#[test]
fn each_direction_has_its_own_key() {
    for protections in [[sealed(CIPHERS[0]); 2], [sealed(CIPHERS[1]); 2], [signed(0), signed(1)]] {
        let (mut ends, _) = opened(protections, 0);
        let there = say(&mut ends, 0, b"the same words");
        let back = say(&mut ends, 1, b"the same words");
        let (there, back) = (units(&there, 0).remove(0), units(&back, 1).remove(0));
        // Behind the header: the fragment's, the length, generation and counter, which are the
        // same.
        assert_eq!(there[20..40], back[20..40]);
        assert_ne!(there[40..], back[40..], "the same octets under different keys");
        heard(&mut ends, 0);
        ends.inject(0, &numbered_after(&there, &back));
        assert_eq!(ends.dropped().last(), Some(&(0, Dropped::Forged)));
        assert!(heard(&mut ends, 0).is_empty());
    }
}

#[test]
fn each_session_has_its_own_keys() {
    let wires = [0, 1].map(|nth| {
        let (mut ends, _) = opened([sealed(CIPHERS[0]); 2], nth);
        units(&say(&mut ends, 0, b"the same words"), 0).remove(0)
    });
    assert_eq!(wires[0][20..40], wires[1][20..40]);
    assert_ne!(wires[0][40..], wires[1][40..]);
}

#[test]
fn a_key_is_followed_by_the_next() {
    for cipher in CIPHERS {
        let sealing = Sealing::new(cipher, Secret([7; 32])).octets_per_key(1000);
        let (mut ends, _) = opened([Protection::Sealed(sealing), sealed(cipher)], 0);
        let (mut generations, mut last) = (Vec::new(), 0);
        for nth in 0..20_u8 {
            let wire = say(&mut ends, 0, &[nth; 300]);
            // Behind the packet's header, the fragment's and the length of the signature.
            let packet = units(&wire, 0).remove(0);
            let generation = u16::from_be_bytes([packet[32], packet[33]]);
            assert!(generation == last || generation == last + 1);
            last = generation;
            generations.push(generation);
        }
        assert_eq!(heard(&mut ends, 1).len(), 20, "{generations:?}");
        // 300 octets and 64 beside: two fit into a thousand.
        assert_eq!(last, 9, "{generations:?}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?}", config(sealed(CIPHERS[0])));
    assert!(shown.contains("secret: Secret"), "{shown}");
}

#[test]
fn what_is_no_public_key_is_none() {
    let own = Secret([1; 32]);
    let point = |y: u8| {
        let mut point = [0; 32];
        point[0] = y;
        point
    };
    assert!(Signing::new(own, point(2)).is_none(), "no point of the curve");
    assert!(Signing::new(own, point(1)).is_none(), "a key under which anything is signed");
}
