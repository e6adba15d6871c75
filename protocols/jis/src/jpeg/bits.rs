//! Bits of octets, the first of each octet first.

use alloc::vec::Vec;

use super::flaw::{JpegFlaw, PICTURE_DATA};

/// Reads bits of octets that are not stuffed.
#[derive(Clone)]
pub(crate) struct BitReader<'a> {
    octets: &'a [u8],
    /// In bits.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(octets: &'a [u8], at: usize) -> Self {
        BitReader { octets, at }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the next thirty-two bits; ones follow the end, as padding does.
    pub(crate) fn peek(&self) -> u32 {
        let rest = self.octets.get(self.at / 8..).unwrap_or_default();
        let word = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut last = [0xff; 8];
            last[..rest.len()].copy_from_slice(rest);
            last
        });
        (u64::from_be_bytes(word) << (self.at % 8) >> 32) as u32
    }

    /// # Errors
    /// Returns a flaw where the octets end before.
    pub(crate) fn skip(&mut self, bits: u8) -> Result<(), JpegFlaw> {
        self.at += usize::from(bits);
        if self.at > self.octets.len() * 8 { Err(JpegFlaw::Ends(PICTURE_DATA)) } else { Ok(()) }
    }

    /// Reads at most sixteen bits.
    pub(crate) fn take(&mut self, bits: u8) -> Result<u16, JpegFlaw> {
        let value = if bits == 0 { 0 } else { self.peek() >> (32 - bits) };
        self.skip(bits)?;
        Ok(value as u16)
    }
}

/// Writes bits. Where it marks, a zero is stuffed behind an octet of ones (T.81, B.1.1.5).
#[derive(Default)]
pub(crate) struct BitWriter {
    octets: Vec<u8>,
    stuffs: bool,
    /// What is not yet an octet of them: the low bits, thirty-one at most.
    partial: u64,
    bits: u8,
}

/// Where a writer was.
#[derive(Clone, Copy)]
pub(crate) struct BitMark(usize, u64, u8);

impl BitWriter {
    pub(crate) fn new(stuffs: bool) -> Self {
        BitWriter { stuffs, ..BitWriter::default() }
    }

    /// Writes the low bits of a value: thirty-two at most.
    pub(crate) fn put(&mut self, value: u32, bits: u8) {
        let low = u64::from(value) & ((1 << bits) - 1);
        self.partial = self.partial << bits | low;
        self.bits += bits;
        if self.bits >= 32 {
            self.bits -= 32;
            let octets = ((self.partial >> self.bits) as u32).to_be_bytes();
            if self.stuffs && octets.contains(&0xff) {
                octets.into_iter().for_each(|octet| self.push(octet));
            } else {
                self.octets.extend_from_slice(&octets);
            }
        }
    }

    fn push(&mut self, octet: u8) {
        self.octets.push(octet);
        if self.stuffs && octet == 0xff {
            self.octets.push(0);
        }
    }

    /// Copies bits.
    pub(crate) fn copy(&mut self, mut from: BitReader<'_>, bits: usize) {
        let mut left = bits;
        while left > 0 {
            let now = left.min(32) as u8;
            self.put(from.peek() >> (32 - now), now);
            from.at += usize::from(now);
            left -= usize::from(now);
        }
    }

    /// Fills the last octet with ones.
    pub(crate) fn pad(&mut self) {
        self.put(0xff, (8 - self.bits % 8) % 8);
        while self.bits > 0 {
            self.bits -= 8;
            self.push((self.partial >> self.bits) as u8);
        }
    }

    /// Writes a marker; the last octet is full.
    pub(crate) fn marker(&mut self, code: u8) {
        self.octets.extend([0xff, code]);
    }

    /// Returns how many octets there are when the last is filled; what is stuffed into those that
    /// are not written yet is not counted.
    pub(crate) fn padded_len(&self) -> usize {
        self.octets.len() + usize::from(self.bits).div_ceil(8)
    }

    pub(crate) fn mark(&self) -> BitMark {
        BitMark(self.octets.len(), self.partial, self.bits)
    }

    pub(crate) fn return_to(&mut self, mark: BitMark) {
        self.octets.truncate(mark.0);
        (self.partial, self.bits) = (mark.1, mark.2);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.pad();
        self.octets
    }
}
