//! Huffman tables that fit what is written (T.81, annex K.2).

use alloc::vec::Vec;

use super::flaw::JpegFlaw;
use super::huffman::HuffmanTable;

/// How often each symbol occurs.
pub(crate) struct Frequencies([u64; 256]);

/// Longer codes than a table may have, before they are shortened: each bit more needs about 1.6
/// times as many symbols.
const LONGEST: usize = 96;

impl Frequencies {
    /// Begins with the symbols that are needed in any case.
    pub(crate) fn with(needed: impl Iterator<Item = u8>) -> Self {
        let mut frequencies = [0; 256];
        needed.for_each(|symbol| frequencies[usize::from(symbol)] = 1);
        Frequencies(frequencies)
    }

    pub(crate) fn count(&mut self, symbol: u8) {
        self.0[usize::from(symbol)] += 1;
    }

    /// Returns the table by which these symbols have the fewest bits.
    pub(crate) fn table(&self) -> Result<HuffmanTable, JpegFlaw> {
        let lengths = self.lengths();
        let mut counts = [0_usize; LONGEST];
        lengths.iter().filter(|length| **length > 0).for_each(|length| counts[*length] += 1);
        // A pair of codes that are too long: one takes the place of their prefix, the other one
        // beside a shorter code that gets a bit more (figure K.3).
        for length in (17..LONGEST).rev() {
            while counts[length] > 0 {
                let shorter = (1..length - 1).rev().find(|shorter| counts[*shorter] > 0);
                let shorter = shorter.ok_or(JpegFlaw::Malformed("it has too many symbols"))?;
                counts[length] -= 2;
                counts[length - 1] += 1;
                counts[shorter + 1] += 2;
                counts[shorter] -= 1;
            }
        }
        // The code of ones alone, which no symbol gets.
        if let Some(longest) = counts.iter().rposition(|count| *count > 0) {
            counts[longest] -= 1;
        }
        let mut symbols: Vec<(usize, u8)> =
            (0..=255).map(|symbol| (lengths[usize::from(symbol)], symbol)).collect();
        symbols.retain(|(length, _)| *length > 0);
        symbols.sort_unstable();
        let symbols: Vec<u8> = symbols.into_iter().map(|(_, symbol)| symbol).collect();
        let mut shortened = [0; 16];
        shortened.iter_mut().zip(&counts[1..]).for_each(|(to, count)| *to = *count as u8);
        HuffmanTable::new(shortened, &symbols)
    }

    /// Returns how long each symbol's code is, without a bound; the last one is of no symbol
    /// (figure K.1).
    fn lengths(&self) -> [usize; 257] {
        let mut trees: Vec<(u64, Vec<usize>)> = (0..256)
            .filter(|symbol| self.0[*symbol] > 0)
            .map(|symbol| (self.0[symbol], alloc::vec![symbol]))
            .collect();
        trees.push((1, alloc::vec![256]));
        let mut lengths = [0; 257];
        while trees.len() > 1 {
            // Of those that are as rare, the last; so libjpeg does.
            trees.sort_by_key(|(count, symbols)| {
                core::cmp::Reverse((*count, core::cmp::Reverse(symbols[0])))
            });
            let [(one, mut symbols), (other, more)] =
                [trees.pop().unwrap_or_default(), trees.pop().unwrap_or_default()];
            symbols.extend(more);
            symbols.iter().for_each(|symbol| lengths[*symbol] += 1);
            trees.push((one + other, symbols));
        }
        lengths
    }
}
