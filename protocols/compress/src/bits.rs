//! Fields of bits in octets, the most significant bit first.

use alloc::vec::Vec;

/// Reads fields one after another.
pub(crate) struct BitReader<'a> {
    octets: &'a [u8],
    /// The next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        BitReader { octets, at: 0 }
    }

    /// Returns the next field of `bits` bits, at most 32; `None` where the octets end before.
    pub(crate) fn read(&mut self, bits: u32) -> Option<u32> {
        let end = self.at + bits as usize;
        if end > 8 * self.octets.len() {
            return None;
        }
        let bit = |at: usize| u32::from(self.octets[at / 8] >> (7 - at % 8) & 1);
        let value = (self.at..end).fold(0, |value, at| value << 1 | bit(at));
        self.at = end;
        Some(value)
    }

    /// Returns how many octets were read, of the last one some bits at least.
    pub(crate) const fn octets(&self) -> usize {
        self.at.div_ceil(8)
    }
}

/// Writes fields one after another; what is left of the last octet is zero.
#[derive(Default)]
pub(crate) struct BitWriter {
    octets: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// Appends the low `bits` bits of a value.
    pub(crate) fn write(&mut self, value: u32, bits: u32) {
        for nth in (0..bits).rev() {
            if self.bits.is_multiple_of(8) {
                self.octets.push(0);
            }
            let bit = (value >> nth & 1) as u8;
            self.octets[self.bits / 8] |= bit << (7 - self.bits % 8);
            self.bits += 1;
        }
    }

    pub(crate) fn into_octets(self) -> Vec<u8> {
        self.octets
    }
}
