//! CXOR as INRIA's report RR-2102 measured it in §3.2: its definition, and four ways to rotate
//! less. The best form is `stackwright_wire::check::Cxor`.
//!
//! | variant | what is new in it |
//! | --- | --- |
//! | [`std()`] | the definition: each 16-bit word is XORed twice, and the sum rotated |
//! | [`op1`] | words with the same rotation are XORed first, in an array of 16 sums |
//! | [`op2`] | 16 variables instead of the array: the loop is unrolled |
//! | [`op3`] | the plain XOR is made of the 16 sums, not word by word |
//! | [`op4`] | words of 32 bits, folded at the end |
//!
//! The words are atomic: a compiler of 1993 had no vectors, and today's makes none of such reads.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU16, AtomicU32};

/// The words after which the rotations repeat.
const PERIOD: usize = 16;

/// Octets as words of 16 bits and of 32, in native byte order.
pub(super) struct Words {
    shorts: Vec<AtomicU16>,
    longs: Vec<AtomicU32>,
}

impl Words {
    /// The words of `octets`. Octets behind the last whole word are left out.
    pub(super) fn of(octets: &[u8]) -> Self {
        let shorts = octets.as_chunks().0.iter().map(|pair| u16::from_ne_bytes(*pair).into());
        let longs = octets.as_chunks().0.iter().map(|four| u32::from_ne_bytes(*four).into());
        Words { shorts: shorts.collect(), longs: longs.collect() }
    }

    /// Those of 16 bits in a piece, whose ends are even.
    pub(super) fn shorts(&self, at: Range<usize>) -> &[AtomicU16] {
        &self.shorts[at.start / 2..at.end / 2]
    }

    /// Those of 32 bits in a piece, whose ends are multiples of 4.
    pub(super) fn longs(&self, at: Range<usize>) -> &[AtomicU32] {
        &self.longs[at.start / 4..at.end / 4]
    }
}

/// Both sums, in native byte order: rotation commutes with a swap of the octets.
#[derive(Clone, Copy, Default)]
struct Sums {
    xor: u16,
    rotated: u16,
}

impl Sums {
    fn add(&mut self, word: u16) {
        self.xor ^= word;
        self.rotated = self.rotated.rotate_left(1) ^ word;
    }

    fn value(self) -> u32 {
        u32::from(u16::from_be(self.xor)) << 16 | u32::from(u16::from_be(self.rotated))
    }
}

/// Rotates the sums of whole periods: the plain XOR of all words is not in the result.
fn rotated(sums: &[u16; PERIOD]) -> Sums {
    let rotated = sums.iter().fold(0, |rotated: u16, sum| rotated.rotate_left(1) ^ sum);
    Sums { xor: 0, rotated }
}

/// The same, with the plain XOR.
fn folded(sums: &[u16; PERIOD]) -> Sums {
    Sums { xor: sums.iter().fold(0, |xor, sum| xor ^ sum), ..rotated(sums) }
}

/// Adds the words behind the last whole period.
fn finished(mut sums: Sums, rest: &[AtomicU16]) -> u32 {
    rest.iter().for_each(|word| sums.add(word.load(Relaxed)));
    sums.value()
}

/// The definition.
pub(super) fn std(words: &[AtomicU16]) -> u32 {
    finished(Sums::default(), words)
}

/// An array of sums: the place of each word is worked out.
pub(super) fn op1(words: &[AtomicU16]) -> u32 {
    let (periods, rest) = words.split_at(words.len() - words.len() % PERIOD);
    let (mut xor, mut sums) = (0, [0; PERIOD]);
    for (at, word) in periods.iter().enumerate() {
        let word = word.load(Relaxed);
        xor ^= word;
        sums[at % PERIOD] ^= word;
    }
    finished(Sums { xor, ..rotated(&sums) }, rest)
}

/// Sixteen sums, each in a place that is known.
pub(super) fn op2(words: &[AtomicU16]) -> u32 {
    let (periods, rest) = words.as_chunks::<PERIOD>();
    let (mut xor, mut sums) = (0, [0; PERIOD]);
    for period in periods {
        for (sum, word) in sums.iter_mut().zip(period) {
            let word = word.load(Relaxed);
            xor ^= word;
            *sum ^= word;
        }
    }
    finished(Sums { xor, ..rotated(&sums) }, rest)
}

/// Half as many XORs.
pub(super) fn op3(words: &[AtomicU16]) -> u32 {
    let (periods, rest) = words.as_chunks::<PERIOD>();
    let mut sums = [0; PERIOD];
    for period in periods {
        for (sum, word) in sums.iter_mut().zip(period) {
            *sum ^= word.load(Relaxed);
        }
    }
    finished(folded(&sums), rest)
}

/// Half of those.
pub(super) fn op4(words: &[AtomicU32]) -> u32 {
    const LONGS: usize = PERIOD / 2;
    let (periods, rest) = words.as_chunks::<LONGS>();
    let mut longs = [0; LONGS];
    for period in periods {
        for (sum, word) in longs.iter_mut().zip(period) {
            *sum ^= word.load(Relaxed);
        }
    }
    let mut sums = [0; PERIOD];
    for (pair, long) in sums.as_chunks_mut().0.iter_mut().zip(longs) {
        *pair = halves(long);
    }
    let mut sums = folded(&sums);
    rest.iter().flat_map(|word| halves(word.load(Relaxed))).for_each(|word| sums.add(word));
    sums.value()
}

/// The two words of 16 bits of one of 32, as they are in memory.
fn halves(long: u32) -> [u16; 2] {
    let [a, b, c, d] = long.to_ne_bytes();
    [u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d])]
}

#[cfg(test)]
mod tests {
    use stackwright_wire::check::Cxor;

    use super::*;

    /// The definition, from the octets.
    fn defined(octets: &[u8]) -> u32 {
        let (mut xor, mut rotated) = (0, 0_u16);
        for pair in octets.as_chunks().0 {
            let word = u16::from_be_bytes(*pair);
            xor ^= word;
            rotated = rotated.rotate_left(1) ^ word;
        }
        u32::from(xor) << 16 | u32::from(rotated)
    }

    fn assert_all(octets: &[u8]) {
        let words = Words::of(octets);
        let (expected, all) = (defined(octets), 0..octets.len());
        let shorts = words.shorts(all.clone());
        let found = [std(shorts), op1(shorts), op2(shorts), op3(shorts), Cxor::of(octets)];
        assert_eq!(found, [expected; 5], "length {}", octets.len());
        if octets.len().is_multiple_of(4) {
            assert_eq!(op4(words.longs(all)), expected, "length {}", octets.len());
        }
    }

    #[test]
    fn every_variant_is_the_definition_at_every_length() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut octets = vec![0; 4096];
        random.fill(&mut octets);
        (0..=octets.len()).step_by(2).for_each(|length| assert_all(&octets[..length]));
    }

    #[test]
    fn a_hundred_thousand_of_them() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..100_000 {
            let mut octets = [0; 128];
            random.fill(&mut octets);
            let length = 2 * random.usize(..=octets.len() / 2);
            assert_all(&octets[..length]);
        }
    }
}
