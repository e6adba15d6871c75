//! CXOR and Fletcher's check: against their definitions, vectors, and their algebra.

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_wire::check::{Cxor, Fletcher};

/// Word by word, as INRIA RR-2102 §2.4.6 defines it.
fn slow_cxor(octets: &[u8]) -> u32 {
    let (mut xor, mut rotated) = (0, 0_u16);
    for pair in octets.chunks(2) {
        let word = u16::from(pair[0]) << 8 | u16::from(*pair.get(1).unwrap_or(&0));
        xor ^= word;
        rotated = rotated.rotate_left(1) ^ word;
    }
    u32::from(xor) << 16 | u32::from(rotated)
}

/// Octet by octet, as RFC 905 annex B defines it.
fn slow_fletcher(octets: &[u8]) -> u16 {
    let (mut sum, mut weighted) = (0_u64, 0_u64);
    for octet in octets {
        sum = (sum + u64::from(*octet)) % 255;
        weighted = (weighted + sum) % 255;
    }
    (weighted << 8 | sum) as u16
}

/// Random octets of `length`: `seed` is any number.
fn random(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(next).collect()
}

#[test]
fn vectors() {
    let rising: Vec<u8> = (0..100).collect();
    assert_eq!(Cxor::of(&[]), 0);
    assert_eq!(Cxor::of(&[0x80, 0, 0, 0]), 0x8000_0001);
    assert_eq!(Cxor::of(b"XTP!"), 0x0875_e089);
    assert_eq!(Cxor::of(b"12345678"), 0x0008_1815);
    assert_eq!(Cxor::of(&rising[..32]), 0);
    assert_eq!(Cxor::of(&rising[..68]), 0x0202_c2c1);
    assert_eq!(Cxor::of(&rising), 0x0202_a2a1);

    assert_eq!(Fletcher::of(&[]), 0);
    assert_eq!(Fletcher::of(b"abcde"), 0xc8f0);
    assert_eq!(Fletcher::of(b"abcdef"), 0x2057);
    assert_eq!(Fletcher::of(b"abcdefgh"), 0x0627);
}

#[test]
fn every_length_as_defined() {
    let octets = random(4096, 1);
    for length in 0..=octets.len() {
        let octets = &octets[..length];
        assert_eq!(Cxor::of(octets), slow_cxor(octets), "length {length}");
        assert_eq!(Fletcher::of(octets), slow_fletcher(octets), "length {length}");
    }
}

/// Lengths of packets, for the most part, and some long ones.
#[test]
fn a_hundred_thousand_as_defined() {
    for seed in 0..100_000 {
        let most = if seed % 100 == 0 { 5000 } else { 200 };
        let octets = random((seed * 7919 % most) as usize, seed);
        assert_eq!(Cxor::of(&octets), slow_cxor(&octets), "seed {seed}");
        assert_eq!(Fletcher::of(&octets), slow_fletcher(&octets), "seed {seed}");
    }
}

/// The sums that grow fastest.
#[test]
fn nothing_overflows() {
    for length in [4095, 4096, 4097, 8192, 1 << 20] {
        let octets = vec![0xff; length];
        assert_eq!(Fletcher::of(&octets), 0, "255 is 0");
        assert_eq!(Cxor::of(&octets), slow_cxor(&octets));
        let octets = vec![0xfe; length];
        assert_eq!(Fletcher::of(&octets), slow_fletcher(&octets));
    }
}

/// What the documentation says that it misses.
#[test]
fn cxor_is_blind_to_one_bit_in_two_octets_that_are_32_apart() {
    let octets = random(100, 1);
    let mut altered = octets.clone();
    altered[20] ^= 8;
    altered[52] ^= 8;
    assert_eq!(Cxor::of(&octets), Cxor::of(&altered));
    altered[52] ^= 8;
    altered[54] ^= 8;
    assert_ne!(Cxor::of(&octets), Cxor::of(&altered), "another column");
    assert_eq!(Cxor::of(&[&[0; 6], &octets[..]].concat()), Cxor::of(&octets));
}

#[test]
#[should_panic(expected = "odd number of octets")]
fn a_first_piece_of_odd_length_cannot_be_combined() {
    Cxor::combine(Cxor::of(b"odd"), 3, Cxor::of(b"even"), 4);
}

proptest! {
    #[test]
    fn piece_by_piece(pieces in vec(vec(any::<u8>(), 0..200), 0..8)) {
        let (mut cxor, mut fletcher) = (Cxor::new(), Fletcher::new());
        for piece in &pieces {
            cxor.add(piece);
            fletcher.add(piece);
        }
        let whole = pieces.concat();
        prop_assert_eq!(cxor.value(), slow_cxor(&whole));
        prop_assert_eq!(fletcher.value(), slow_fletcher(&whole));
    }

    #[test]
    fn combined(mut first in vec(any::<u8>(), 0..300), second in vec(any::<u8>(), 0..300)) {
        let whole = [&first[..], &second].concat();
        let length = second.len() as u64;
        let fletcher =
            Fletcher::combine(Fletcher::of(&first), Fletcher::of(&second), length);
        prop_assert_eq!(fletcher, slow_fletcher(&whole));
        first.truncate(first.len() & !1);
        let whole = [&first[..], &second].concat();
        let before = first.len() as u64;
        let cxor = Cxor::combine(Cxor::of(&first), before, Cxor::of(&second), length);
        prop_assert_eq!(cxor, slow_cxor(&whole));
    }

    #[test]
    fn updated(mut octets in vec(any::<u8>(), 2..300), place: prop::sample::Index, new: u16) {
        let words = octets.len() / 2;
        octets.truncate(2 * words);
        let word = place.index(words);
        let (cxor, fletcher) = (Cxor::of(&octets), Fletcher::of(&octets));
        let at = 2 * word;
        let old = u16::from_be_bytes([octets[at], octets[at + 1]]);
        let (old_octet, new_octet) = (octets[at], new.to_be_bytes()[0]);
        let behind = (octets.len() - at - 1) as u64;
        octets[at] = new_octet;
        let updated = Fletcher::update(fletcher, old_octet, new_octet, behind);
        prop_assert_eq!(updated, slow_fletcher(&octets));
        octets[at + 1] = new.to_be_bytes()[1];
        let behind = (words - word - 1) as u64;
        prop_assert_eq!(Cxor::update(cxor, old, new, behind), slow_cxor(&octets));
    }

    /// Both sums of a packet that holds its own check are 0 (RFC 905 annex B).
    #[test]
    fn with_its_own_check(mut octets in vec(any::<u8>(), 2..300), place: prop::sample::Index) {
        let at = place.index(octets.len() - 1);
        octets[at..at + 2].fill(0);
        let mut check = Fletcher::new();
        check.add(&octets);
        let own = check.octets((octets.len() - at - 2) as u64);
        octets[at..at + 2].copy_from_slice(&own);
        prop_assert_eq!(slow_fletcher(&octets), 0);
    }

    #[test]
    fn an_odd_number_of_inverted_bits_is_detected(
        octets in vec(any::<u8>(), 1..200),
        bits in vec(any::<prop::sample::Index>(), 1..10),
    ) {
        let mut altered = octets.clone();
        let bits = &bits[..bits.len() - 1 + bits.len() % 2];
        for bit in bits {
            let bit = bit.index(8 * octets.len());
            altered[bit / 8] ^= 1 << (bit % 8);
        }
        prop_assert_ne!(Cxor::of(&octets), Cxor::of(&altered));
    }
}
