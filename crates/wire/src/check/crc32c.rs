//! CRC-32C (Castagnoli): the check of SCTP (RFC 9260 appendix A), iSCSI (RFC 7143 §13.1) and many
//! files.

use super::reflected::{Remainders, Tables, advance, tables};

/// 1EDC6F41, reversed (RFC 9260 appendix A).
const POLYNOMIAL: u32 = 0x82f6_3b78;
static TABLES: Tables = tables(POLYNOMIAL);
const REMAINDERS: Remainders = Remainders { polynomial: POLYNOMIAL, one: 1 << 31 };

/// CRC-32C, fed piece by piece: begins with ones, ends complemented, the least significant bit
/// first.
///
/// With the feature `std`, the instruction of x86-64 processors (SSE4.2) is used where there is
/// one.
#[derive(Clone, Copy, Debug)]
pub struct Crc32c {
    register: u32,
}

impl Crc32c {
    /// Returns a check to which nothing was added.
    pub const fn new() -> Self {
        Crc32c { register: 0xffff_ffff }
    }

    /// Returns the check of `octets`.
    #[inline]
    pub fn of(octets: &[u8]) -> u32 {
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
    pub const fn value(&self) -> u32 {
        !self.register
    }

    /// Returns the check of two pieces from the checks of each; `second_octets` is the length of
    /// the second.
    pub const fn combine(first: u32, second: u32, second_octets: u64) -> u32 {
        REMAINDERS.after_zeros(first, second_octets) ^ second
    }
}

/// By value and not inlined, as in CRC-16.
#[inline(never)]
fn advanced(register: u32, octets: &[u8]) -> u32 {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if let Some(register) = instruction::advance(register, octets) {
        return register;
    }
    advance(&TABLES, register, octets)
}

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

/// The processor's own instruction. Named exception to the ban on `unsafe`: a function that is
/// compiled for SSE4.2 may be called only where the processor has it, which only the caller can
/// check.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod instruction {
    use core::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

    /// Returns the register after `octets`, or `None` where the processor lacks the instruction.
    #[inline]
    #[allow(unsafe_code, reason = "named exception: crc32c by SSE4.2")]
    pub(super) fn advance(register: u32, octets: &[u8]) -> Option<u32> {
        if !std::is_x86_feature_detected!("sse4.2") {
            return None;
        }
        // SAFETY: `with_sse42` demands nothing but a processor with SSE4.2, and the line above has
        // found one.
        Some(unsafe { with_sse42(register, octets) })
    }

    #[target_feature(enable = "sse4.2")]
    fn with_sse42(register: u32, octets: &[u8]) -> u32 {
        let (eights, rest) = octets.as_chunks::<8>();
        let mut wide = u64::from(register);
        for eight in eights {
            wide = _mm_crc32_u64(wide, u64::from_le_bytes(*eight));
        }
        // The instruction leaves the upper half zero.
        rest.iter().fold(wide as u32, |register, octet| _mm_crc32_u8(register, *octet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the instruction is used, nothing else would try the tables.
    #[test]
    fn the_tables_agree_with_what_add_uses() {
        let octets: alloc::vec::Vec<u8> = (0..1000_u32).map(|n| (n * 7 + n / 256) as u8).collect();
        for length in 0..octets.len() {
            let by_tables = !advance(&TABLES, 0xffff_ffff, &octets[..length]);
            assert_eq!(by_tables, Crc32c::of(&octets[..length]), "length {length}");
        }
    }
}
