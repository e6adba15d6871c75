//! CRC-16/X.25: the frame check sequence of HDLC (ISO/IEC 13239) and of AX.25.

use super::reflected::{Remainders, Tables, advance, tables};

/// x^16 + x^12 + x^5 + 1, reversed (ITU-T V.42 §8.1.1.6.1).
const POLYNOMIAL: u32 = 0x8408;
static TABLES: Tables = tables(POLYNOMIAL);
const REMAINDERS: Remainders = Remainders { polynomial: POLYNOMIAL, one: 0x8000 };

/// CRC-16/X.25, fed piece by piece: begins with ones, ends complemented, the least significant bit
/// first.
///
/// On the wire its least significant octet comes first. The value over octets that include their
/// own, correct check is [`Crc16::GOOD`].
#[derive(Clone, Copy, Debug)]
pub struct Crc16 {
    register: u16,
}

impl Crc16 {
    /// The value over any octets that are followed by their check: the complement of the constant
    /// remainder F0B8.
    pub const GOOD: u16 = !0xf0b8;

    /// Returns a check to which nothing was added.
    pub const fn new() -> Self {
        Crc16 { register: 0xffff }
    }

    /// Returns the check of `octets`.
    #[inline]
    pub fn of(octets: &[u8]) -> u16 {
        let mut check = Self::new();
        check.add(octets);
        check.value()
    }

    /// Adds `octets`.
    #[inline]
    pub fn add(&mut self, octets: &[u8]) {
        self.register = advanced(self.register, octets);
    }

    /// Returns the check of what was added so far.
    pub const fn value(&self) -> u16 {
        !self.register
    }

    /// Returns the check of two pieces from the checks of each; `second_octets` is the length of
    /// the second.
    pub const fn combine(first: u16, second: u16, second_octets: u64) -> u16 {
        REMAINDERS.after_zeros(first as u32, second_octets) as u16 ^ second
    }
}

/// Not inlined: the loop over eight tables needs all registers, and its caller's would be spilled
/// on every path. The register goes in and out by value, so that an unfinished check needs no
/// memory.
#[inline(never)]
fn advanced(register: u16, octets: &[u8]) -> u16 {
    advance(&TABLES, u32::from(register), octets) as u16
}

impl Default for Crc16 {
    fn default() -> Self {
        Self::new()
    }
}
