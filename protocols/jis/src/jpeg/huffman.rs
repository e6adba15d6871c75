//! The codes of a table (T.81, annexes C and F).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::bits::BitWriter;
use super::flaw::JpegFlaw;

/// A table: how many codes there are of each length, and their symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HuffmanTable {
    counts: [u8; 16],
    symbols: Vec<u8>,
    /// By the first bits of what is read: the symbol and the length of its code; a length of 0:
    /// the code is longer, or none.
    near: Box<[(u8, u8); 1 << NEAR]>,
}

/// Codes of at most nine bits, which nearly all are, are found by one look-up: a code of ten bits
/// stands for a symbol that occurs once in a thousand.
const NEAR: u8 = 9;

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
        let (mut near, mut begin) = (Box::new([(0, 0); 1 << NEAR]), 0);
        let lengths = (1..=NEAR).flat_map(|length| {
            core::iter::repeat_n(length, usize::from(counts[usize::from(length) - 1]))
        });
        // Codes of a length are consecutive, and the first is above all shorter ones.
        for (length, symbol) in lengths.zip(symbols) {
            let end = begin + (1 << (NEAR - length));
            near[begin..end].fill((*symbol, length));
            begin = end;
        }
        Ok(HuffmanTable { counts, symbols: symbols.to_vec(), near })
    }

    pub(crate) fn counts(&self) -> &[u8; 16] {
        &self.counts
    }

    pub(crate) fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// Returns the symbol whose code `word` begins with, and the code's length.
    pub(crate) fn find(&self, word: u32) -> Result<(u8, u8), JpegFlaw> {
        match self.near[(word >> (32 - NEAR)) as usize] {
            (_, 0) => self.find_far(word),
            found => Ok(found),
        }
    }

    #[cold]
    fn find_far(&self, word: u32) -> Result<(u8, u8), JpegFlaw> {
        let (mut first, mut before) = (0_u32, 0_u32);
        for (nth, count) in self.counts.iter().enumerate() {
            let count = u32::from(*count);
            first <<= 1;
            let code = word >> (31 - nth);
            if code < first + count {
                let place = before + code.saturating_sub(first);
                let symbol = self.symbols.get(place as usize).ok_or(JpegFlaw::NoCode)?;
                return Ok((*symbol, nth as u8 + 1));
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
        into.put(code.into(), bits);
        Ok(())
    }
}
