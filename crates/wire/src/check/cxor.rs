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
//! the words of one column of 32 octets can be XORed first, and rotated once. Rotation by 8 bits is
//! a swap of octets, so that words may be read in native byte order.
//!
//! *Erratum*: the routine of the report's appendix D reads past buffers of less than 32 octets.

use crate::processor::{self, Work};

/// The octets after which the rotations repeat: 16 words.
const PERIOD: usize = 32;
/// Octets that are XORed at once: several sums side by side do not wait for each other.
const BLOCK: usize = 128;

/// The XOR of all octets whose distance is a multiple of [`PERIOD`].
type Columns = [u8; PERIOD];

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
    added: u8,
}

impl Cxor {
    /// Returns a check to which nothing was added.
    pub const fn new() -> Self {
        Cxor { columns: [0; PERIOD], added: 0 }
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
        self.add_columns(&columns(octets));
        self.added = ((usize::from(self.added) + octets.len()) % PERIOD) as u8;
    }

    /// Adds a block, which moves no column.
    #[inline(always)]
    pub(crate) fn add_block(&mut self, block: &[u8; BLOCK]) {
        let mut sums = [0; BLOCK];
        xor(&mut sums, block);
        self.add_columns(&folded(&sums));
    }

    /// Adds the columns of a piece, which begins where the piece before ended.
    #[inline(always)]
    fn add_columns(&mut self, columns: &Columns) {
        if self.added == 0 {
            xor(&mut self.columns, columns);
            return;
        }
        let mut twice = [0; 2 * PERIOD];
        twice[..PERIOD].copy_from_slice(columns);
        twice[PERIOD..].copy_from_slice(columns);
        let from = PERIOD - usize::from(self.added);
        for (sum, octet) in self.columns.iter_mut().zip(&twice[from..]) {
            *sum ^= octet;
        }
    }

    /// Returns the check of what was added so far, to be written with the most significant octet
    /// first.
    #[inline]
    pub fn value(&self) -> u32 {
        let mut words = [0; PERIOD / 2];
        for (word, pair) in words.iter_mut().zip(self.columns.as_chunks().0) {
            *word = u16::from_ne_bytes(*pair);
        }
        let xor = words.iter().fold(0, |xor, word| xor ^ word);
        // Column i is rotated by 15 − i, in four steps: the first half by 8 more than the second,
        // then the quarters, …; and all by as many words as were added.
        for half in [8, 4, 2, 1] {
            for at in 0..half {
                words[at] = words[at].rotate_left(half as u32) ^ words[at + half];
            }
        }
        let rotated = words[0].rotate_left(u32::from(self.added).div_ceil(2));
        u32::from(u16::from_be(xor)) << 16 | u32::from(u16::from_be(rotated))
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

#[inline(always)]
fn xor<const N: usize>(sums: &mut [u8; N], octets: &[u8; N]) {
    for (sum, octet) in sums.iter_mut().zip(octets) {
        *sum ^= octet;
    }
}

/// Adds up the columns of four sums.
#[inline(always)]
fn folded(sums: &[u8; BLOCK]) -> Columns {
    let mut columns = [0; PERIOD];
    for sum in sums.as_chunks().0 {
        xor(&mut columns, sum);
    }
    columns
}

/// Returns the columns of a piece, the first of which begins with it. Not inlined: the loop is long,
/// and its callers many.
#[inline(never)]
fn columns(octets: &[u8]) -> Columns {
    processor::run(Sum(octets))
}

struct Sum<'a>(&'a [u8]);

impl Work for Sum<'_> {
    type Output = Columns;

    #[inline(always)]
    fn run(self) -> Columns {
        let mut sums = [0; BLOCK];
        let (blocks, rest) = self.0.as_chunks::<BLOCK>();
        for block in blocks {
            xor(&mut sums, block);
        }
        let mut columns = folded(&sums);
        let (periods, rest) = rest.as_chunks();
        for period in periods {
            xor(&mut columns, period);
        }
        for (sum, octet) in columns.iter_mut().zip(rest) {
            *sum ^= octet;
        }
        columns
    }
}
