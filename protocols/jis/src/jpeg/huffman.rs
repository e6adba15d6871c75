//! The codes of a table (T.81, annexes C and F).

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter};
use super::flaw::JpegFlaw;

/// A table: how many codes there are of each length, and their symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HuffmanTable {
    counts: [u8; 16],
    symbols: Vec<u8>,
}

/// A code and its length.
pub(crate) type Code = (u16, u8);

impl HuffmanTable {
    /// # Errors
    /// Returns a flaw where there are more codes of a length than it has room for.
    pub(crate) fn new(counts: [u8; 16], symbols: &[u8]) -> Result<Self, JpegFlaw> {
        let mut code = 0_u32;
        for (nth, count) in counts.iter().enumerate() {
            code = (code << 1) + u32::from(*count);
            if code << (15 - nth) > 1 << 16 {
                return Err(JpegFlaw::Malformed("a Huffman table has too many codes"));
            }
        }
        Ok(HuffmanTable { counts, symbols: symbols.to_vec() })
    }

    pub(crate) fn counts(&self) -> &[u8; 16] {
        &self.counts
    }

    pub(crate) fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// Reads a code.
    pub(crate) fn read(&self, bits: &mut BitReader<'_>) -> Result<u8, JpegFlaw> {
        let word = u32::from(bits.peek());
        let (mut first, mut before) = (0_u32, 0_u32);
        for (nth, count) in self.counts.iter().enumerate() {
            let count = u32::from(*count);
            first <<= 1;
            let code = word >> (15 - nth);
            if code < first + count {
                bits.skip(nth as u8 + 1)?;
                // Codes of a length are consecutive, and the first is above all shorter ones.
                let place = before + code.saturating_sub(first);
                return self.symbols.get(place as usize).copied().ok_or(JpegFlaw::NoCode);
            }
            (first, before) = (first + count, before + count);
        }
        Err(JpegFlaw::NoCode)
    }

    /// Returns each symbol's code.
    pub(crate) fn codes(&self) -> Codes {
        let mut codes = [(0, 0); 256];
        let (mut code, mut place) = (0_u32, 0);
        for (nth, count) in self.counts.iter().enumerate() {
            for _ in 0..*count {
                if let Some(symbol) = self.symbols.get(place) {
                    codes[usize::from(*symbol)] = (code as u16, nth as u8 + 1);
                }
                (code, place) = (code + 1, place + 1);
            }
            code <<= 1;
        }
        Codes(codes)
    }

    /// Adds codes for symbols that it lacks, behind the others: those keep theirs.
    ///
    /// # Errors
    /// Returns a flaw where there is no room: sixteen bits are the longest code.
    pub(crate) fn completed(&self, needed: impl Iterator<Item = u8>) -> Result<Self, JpegFlaw> {
        let lacking: Vec<u8> = needed.filter(|symbol| !self.symbols.contains(symbol)).collect();
        let used = self.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        if lacking.is_empty() {
            return Ok(self.clone());
        }
        for length in used.max(1)..=16 {
            let mut counts = self.counts;
            let count = usize::from(counts[length - 1]) + lacking.len();
            let Ok(count) = u8::try_from(count) else { continue };
            counts[length - 1] = count;
            let symbols = [&self.symbols[..], &lacking].concat();
            // The code of ones alone is no code (T.81, annex C.2).
            if let Ok(table) = HuffmanTable::new(counts, &symbols)
                && table.leaves_ones_free()
            {
                return Ok(table);
            }
        }
        Err(JpegFlaw::Malformed("a Huffman table has no room for a code that pieces need"))
    }

    fn leaves_ones_free(&self) -> bool {
        let used: u32 =
            self.counts.iter().enumerate().map(|(n, c)| u32::from(*c) << (15 - n)).sum();
        used < 1 << 16
    }
}

/// The codes of a table, by symbol; a length of 0: none.
pub(crate) struct Codes([Code; 256]);

impl Codes {
    pub(crate) fn put(&self, symbol: u8, into: &mut BitWriter) -> Result<(), JpegFlaw> {
        let (code, bits) = self.0[usize::from(symbol)];
        if bits == 0 {
            return Err(JpegFlaw::NoCode);
        }
        into.put(code, bits);
        Ok(())
    }
}
