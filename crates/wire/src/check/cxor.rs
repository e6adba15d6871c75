//! CXOR: the 32-bit check of XTP 3.6, as INRIA's report RR-2102 (1993) describes it in §2.4.6.
//!
//! Of the 16-bit words w₀ … wₙ₋₁, the most significant octet first:
//!
//! ```text
//! ┌──────────────────────────────┬──────────────────────────────────────────┐
//! │ XOR  = w₀ ⊕ w₁ ⊕ … ⊕ wₙ₋₁    │ RXOR = r after r ← rotl(r, 1) ⊕ wᵢ, r = 0 │
//! └──────────────────────────────┴──────────────────────────────────────────┘
//!  31                          16 15                                        0
//! ```
//!
//! So a word is rotated by as many bits as words are behind it, and 16 words on by the same again:
//! the words of one column of 32 octets can be XORed first, and rotated once. Four words are taken
//! at a time, as little-endian: rotation by 8 bits is a swap of octets, which is undone at the end.
//!
//! *Erratum*: the routine of the report's appendix D reads past buffers of less than 32 octets.

use crate::processor::{self, Work};

/// The octets after which the rotations repeat: 16 words.
const PERIOD: usize = 32;
/// Octets that are XORed at once: several sums side by side do not wait for each other.
const BLOCK: usize = 4 * PERIOD;

/// The XOR of all octets whose distance is a multiple of [`PERIOD`].
type Columns = [u64; PERIOD / 8];

/// CXOR, fed piece by piece. Pieces may have any length; where there is an odd number of octets in
/// all, an octet of zero is imagined behind them.
///
/// It detects every odd number of inverted bits. It misses one bit that is inverted in two octets
/// 32 apart, and octets of zero that are added in front.
///
/// With the feature `std`, AVX2 is used on x86-64 processors that have it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cxor {
    columns: Columns,
    /// How many octets were added, modulo [`PERIOD`].
    added: usize,
}

impl Cxor {
    /// Returns a check to which nothing was added.
    pub const fn new() -> Self {
        Cxor { columns: [0; PERIOD / 8], added: 0 }
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
        self.add_columns(columns(octets));
        self.added = (self.added + octets.len()) % PERIOD;
    }

    /// Adds whole periods, which move no column.
    #[inline(always)]
    pub(crate) fn add_block<const N: usize>(&mut self, block: &[u8; N]) {
        let mut columns = [0; PERIOD / 8];
        block.as_chunks().0.iter().for_each(|period| add(&mut columns, of_period(period)));
        self.add_columns(columns);
    }

    /// Adds less than a period.
    #[inline]
    pub(crate) fn add_rest(&mut self, octets: &[u8]) {
        self.add_columns(of_rest(octets));
        self.added = (self.added + octets.len()) % PERIOD;
    }

    /// Adds the columns of a piece, which begins where the piece before ended.
    #[inline(always)]
    fn add_columns(&mut self, mut columns: Columns) {
        if self.added != 0 {
            columns = moved(columns, self.added);
        }
        add(&mut self.columns, columns);
    }

    /// Returns the check of what was added so far, to be written with the most significant octet
    /// first.
    #[inline]
    pub fn value(&self) -> u32 {
        let [a, b, c, d] = self.columns;
        let xor = a ^ b ^ c ^ d;
        let xor = xor ^ xor >> 32;
        let xor = (xor ^ xor >> 16) as u16;
        // Column i is rotated by 15 − i: the first half by 8 more than the second, then the first
        // quarter by 4 more than the second, …; and all by as many words as were added.
        let [a, b] = [rotated(a, 8) ^ c, rotated(b, 8) ^ d];
        let four = rotated(a, 4) ^ b;
        let two = rotated(four, 2) ^ four >> 32;
        let one = (two as u16).rotate_left(1) ^ (two >> 16) as u16;
        let spiral = one.rotate_left(self.added.div_ceil(2) as u32);
        u32::from(xor.swap_bytes()) << 16 | u32::from(spiral.swap_bytes())
    }

    /// Returns the check of two pieces from the checks and the lengths of each, in a time that does
    /// not depend on the lengths.
    ///
    /// # Panics
    /// Where `first_octets` is odd: then all words of the second piece become others.
    #[inline]
    pub const fn combine(first: u32, first_octets: u64, second: u32, second_octets: u64) -> u32 {
        assert!(first_octets.is_multiple_of(2), "the first piece has an odd number of octets");
        let words = (second_octets.div_ceil(2) % 16) as u32;
        (first & 0xffff_0000 | (first as u16).rotate_left(words) as u32) ^ second
    }

    /// Returns the check after one 16-bit word changed from `old` to `new`; `words_behind` words
    /// follow it.
    #[inline]
    pub const fn update(check: u32, old: u16, new: u16, words_behind: u64) -> u32 {
        let change = old ^ new;
        let rotated = change.rotate_left((words_behind % 16) as u32);
        check ^ ((change as u32) << 16 | rotated as u32)
    }
}

/// Rotates each of four words to the left by `bits`.
#[inline(always)]
const fn rotated(words: u64, bits: u32) -> u64 {
    let low = ((1 << bits) - 1) * 0x0001_0001_0001_0001;
    words << bits & !low | words >> (16 - bits) & low
}

#[inline(always)]
fn add(sum: &mut Columns, columns: Columns) {
    for (sum, column) in sum.iter_mut().zip(columns) {
        *sum ^= column;
    }
}

/// Returns the columns of one period.
#[inline(always)]
fn of_period(octets: &[u8; PERIOD]) -> Columns {
    let mut columns = [0; PERIOD / 8];
    for (column, octets) in columns.iter_mut().zip(octets.as_chunks().0) {
        *column = u64::from_le_bytes(*octets);
    }
    columns
}

/// Returns the columns of less than a period. Each column is made in a register: one that is
/// altered in memory could not be read back at once.
#[inline(always)]
fn of_rest(octets: &[u8]) -> Columns {
    let (eights, rest) = octets.as_chunks();
    let last = rest.iter().rev().fold(0, |column, octet| column << 8 | u64::from(*octet));
    let whole = |octets: &[u8; 8]| u64::from_le_bytes(*octets);
    match eights {
        [] => [last, 0, 0, 0],
        [a] => [whole(a), last, 0, 0],
        [a, b] => [whole(a), whole(b), last, 0],
        [a, b, c, ..] => [whole(a), whole(b), whole(c), last],
    }
}

#[inline(always)]
fn add_block(sums: &mut [Columns; 4], block: &[u8; BLOCK]) {
    for (sum, period) in sums.iter_mut().zip(block.as_chunks().0) {
        add(sum, of_period(period));
    }
}

#[inline(always)]
fn folded([mut sum, b, c, d]: [Columns; 4]) -> Columns {
    [b, c, d].into_iter().for_each(|columns| add(&mut sum, columns));
    sum
}

/// Returns the columns of a piece that has `by` octets of a period before it.
#[inline(never)]
fn moved(columns: Columns, by: usize) -> Columns {
    let mut twice = [0; 2 * PERIOD];
    for (octets, column) in twice.as_chunks_mut().0.iter_mut().zip(columns.iter().cycle()) {
        *octets = column.to_le_bytes();
    }
    twice[PERIOD - by..].first_chunk().map_or(columns, of_period)
}

/// Returns the columns of a piece, the first of which begins with it. Not inlined: it is long, and
/// has many callers.
#[inline(never)]
fn columns(octets: &[u8]) -> Columns {
    processor::run(Sum(octets))
}

struct Sum<'a>(&'a [u8]);

impl Work for Sum<'_> {
    type Output = Columns;

    #[inline(always)]
    fn run(self) -> Columns {
        let (blocks, rest) = self.0.as_chunks();
        let mut sums = [[0; PERIOD / 8]; 4];
        blocks.iter().for_each(|block| add_block(&mut sums, block));
        let mut columns = folded(sums);
        let (periods, rest) = rest.as_chunks();
        periods.iter().for_each(|period| add(&mut columns, of_period(period)));
        if !rest.is_empty() {
            add(&mut columns, of_rest(rest));
        }
        columns
    }
}
