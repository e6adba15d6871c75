//! The checks: vectors that others have written down, and their algebra.

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_wire::check::{Crc16, Crc32c, Internet};

/// The check value of the CRC catalogues is that of these octets.
const CATALOGUE: &[u8] = b"123456789";

#[test]
fn catalogue() {
    assert_eq!(Crc16::of(CATALOGUE), 0x906e);
    assert_eq!(Crc32c::of(CATALOGUE), 0xe306_9283);
}

/// RFC 3720 appendix B.4.
#[test]
fn vectors_of_iscsi() {
    let rising: Vec<u8> = (0..32).collect();
    assert_eq!(Crc32c::of(&[0; 32]), 0x8a91_36aa);
    assert_eq!(Crc32c::of(&[0xff; 32]), 0x62a8_ab43);
    assert_eq!(Crc32c::of(&rising), 0x46dd_794e);
}

/// RFC 1071 §3.
#[test]
fn vector_of_rfc_1071() {
    assert_eq!(Internet::of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
}

/// RFC 1624 §4: where the older equation 2 gives the wrong zero.
#[test]
fn vector_of_rfc_1624() {
    assert_eq!(Internet::update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn of_nothing() {
    assert_eq!((Internet::of(&[]), Internet::new().value()), (0xffff, 0xffff));
    assert_eq!((Crc16::of(&[]), Crc16::new().value()), (0, 0));
    assert_eq!((Crc32c::of(&[]), Crc32c::new().value()), (0, 0));
}

/// The largest sum there can be in a datagram.
#[test]
fn carries() {
    for length in [2, 8, 65534, 1 << 20] {
        assert_eq!(Internet::of(&vec![0xff; length]), 0);
    }
}

/// Bit by bit, as the standards define it.
fn slow_crc(polynomial: u32, ones: u32, octets: &[u8]) -> u32 {
    let mut register = ones;
    for octet in octets {
        register ^= u32::from(*octet);
        for _ in 0..8 {
            register = register >> 1 ^ if register & 1 == 1 { polynomial } else { 0 };
        }
    }
    register ^ ones
}

/// Word by word, as RFC 1071 defines it.
fn slow_internet(octets: &[u8]) -> u16 {
    let words = octets
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

proptest! {
    #[test]
    fn as_defined(octets in vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(Internet::of(&octets), slow_internet(&octets));
        prop_assert_eq!(u32::from(Crc16::of(&octets)), slow_crc(0x8408, 0xffff, &octets));
        prop_assert_eq!(Crc32c::of(&octets), slow_crc(0x82f6_3b78, 0xffff_ffff, &octets));
    }

    #[test]
    fn piece_by_piece(pieces in vec(vec(any::<u8>(), 0..40), 0..8)) {
        let (mut internet, mut crc16, mut crc32c) = (Internet::new(), Crc16::new(), Crc32c::new());
        for piece in &pieces {
            internet.add(piece);
            crc16.add(piece);
            crc32c.add(piece);
        }
        let whole = pieces.concat();
        prop_assert_eq!(internet.value(), Internet::of(&whole));
        prop_assert_eq!(crc16.value(), Crc16::of(&whole));
        prop_assert_eq!(crc32c.value(), Crc32c::of(&whole));
    }

    #[test]
    fn combined(first in vec(any::<u8>(), 0..300), second in vec(any::<u8>(), 0..300)) {
        let whole = [&first[..], &second].concat();
        let length = second.len() as u64;
        let internet = Internet::combine(Internet::of(&first), Internet::of(&second), first.len());
        prop_assert_eq!(internet, Internet::of(&whole));
        prop_assert_eq!(Crc16::combine(Crc16::of(&first), Crc16::of(&second), length), Crc16::of(&whole));
        prop_assert_eq!(Crc32c::combine(Crc32c::of(&first), Crc32c::of(&second), length), Crc32c::of(&whole));
    }

    #[test]
    fn updated(mut octets in vec(any::<u8>(), 2..100), place: prop::sample::Index, new: u16) {
        let place = place.index(octets.len() / 2) * 2;
        let word = &mut octets[place..place + 2];
        let old = u16::from_be_bytes([word[0], word[1]]);
        let before = Internet::of(&octets);
        octets[place..place + 2].copy_from_slice(&new.to_be_bytes());
        prop_assume!(octets.iter().any(|octet| *octet != 0));
        prop_assert_eq!(Internet::update(before, old, new), Internet::of(&octets));
    }

    #[test]
    fn with_their_own_check(mut octets in vec(any::<u8>(), 0..100)) {
        let mut framed = octets.clone();
        framed.extend(Crc16::of(&octets).to_le_bytes());
        prop_assert_eq!(Crc16::of(&framed), Crc16::GOOD);
        octets.resize(octets.len().next_multiple_of(2), 0);
        octets.extend(Internet::of(&octets).to_be_bytes());
        prop_assert_eq!(Internet::of(&octets), 0);
    }
}
