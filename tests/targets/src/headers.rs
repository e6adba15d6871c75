//! Layouts that together use what the derive can do, decoded, encoded, dissected.

use stackwright_wire::{BufferTree, FieldValue, Header, Message, SingleBuffer, dissect};

/// Whole numbers in both orders, and octets.
#[derive(Header, PartialEq, Debug)]
#[header(little_endian)]
struct Little {
    /// One octet.
    one: u8,
    /// Three octets.
    #[bits(24)]
    three: u32,
    /// Always the same.
    #[bits(16)]
    #[fixed(0x5aa5)]
    magic: (),
    /// As they are.
    octets: [u8; 3],
    /// A colour.
    #[bits(16)]
    colour: Colour,
    /// Sixteen octets.
    sixteen: u128,
}

/// Bits of many widths.
#[derive(Header, PartialEq, Debug)]
struct Bits {
    /// Three bits.
    #[bits(3)]
    three: u8,
    /// One bit.
    flag: bool,
    /// Always so.
    #[bits(2)]
    #[fixed(0b10)]
    marker: (),
    /// Over the bounds of octets.
    #[bits(33)]
    thirty_three: u64,
    /// A colour.
    #[bits(2)]
    colour: Colour,
    /// More than 64 bits in a run.
    #[bits(79)]
    long: u128,
    /// Eight octets.
    eight: u64,
}

/// Fixed and free bits in one octet, then whole numbers.
#[derive(Header, PartialEq, Debug)]
struct Short {
    /// Must be four.
    #[bits(4)]
    #[fixed(4)]
    version: (),
    /// Half an octet.
    #[bits(4)]
    length: u8,
    /// Two octets.
    two: u16,
    /// Four octets.
    four: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Colour {
    Red = 0,
    Green = 1,
    Blue = 3,
}

impl FieldValue for Colour {
    fn from_bits(bits: u64) -> Option<Self> {
        [Colour::Red, Colour::Green, Colour::Blue].into_iter().find(|colour| *colour as u64 == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// Any octets as each header: what decodes encodes to the same octets, and everything can be shown.
pub fn headers(octets: &[u8]) {
    check::<Little>(octets);
    check::<Bits>(octets);
    check::<Short>(octets);
}

pub(crate) fn check<H: Header + PartialEq + core::fmt::Debug>(octets: &[u8]) {
    let decoded = H::decode(octets);
    match &decoded {
        Ok(header) => {
            let mut again = vec![0xEE; H::LENGTH + 1];
            header.encode(&mut again);
            assert_eq!(
                again[..H::LENGTH],
                octets[..H::LENGTH],
                "a header encodes to what it was decoded from"
            );
            assert_eq!(again[H::LENGTH], 0xEE, "nothing behind it is touched");
            pulled::<H, SingleBuffer>(header, octets);
            pulled::<H, BufferTree>(header, octets);
        }
        Err(malformed) => assert!(!malformed.to_string().is_empty()),
    }
    match dissect::<H>(octets) {
        Ok(shown) => {
            assert!(octets.len() >= H::LENGTH, "a dissection has all octets");
            assert_eq!(
                shown.to_string().lines().count(),
                1 + H::FIELDS.len(),
                "a line for each field"
            );
        }
        Err(_) => assert!(octets.len() < H::LENGTH && decoded.is_err()),
    }
}

fn pulled<H: Header + PartialEq + core::fmt::Debug, M: Message>(header: &H, octets: &[u8]) {
    let mut message = M::with_headroom(0, octets);
    assert_eq!(message.pull::<H>().as_ref(), Ok(header));
    assert_eq!(message.len(), octets.len() - H::LENGTH);
    message.push(header);
    let mut copy = vec![0; octets.len()];
    assert_eq!(message.copy_to(&mut copy), octets.len());
    assert_eq!(copy, octets);
}
