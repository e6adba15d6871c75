//! The Internet check (RFC 1071): the complement of the ones' complement sum of 16-bit words.

use crate::processor::{self, Work};

/// The octets from which on wider vectors are worth the question whether the processor has them.
const LONG: usize = 128;

/// The Internet check, fed piece by piece. Pieces may have any length: one of odd length is
/// continued by the next.
///
/// A header that holds its own, correct check has the value 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Internet {
    /// The sum in native byte order (RFC 1071 §2(B): the order does not matter to the sum).
    sum: u16,
    /// Whether an odd number of octets was added.
    odd: bool,
}

impl Internet {
    /// Returns a check to which nothing was added.
    pub const fn new() -> Self {
        Internet { sum: 0, odd: false }
    }

    /// Returns the check of `octets`.
    #[inline]
    pub fn of(octets: &[u8]) -> u16 {
        !fold(sum(octets)).to_be()
    }

    /// Adds `octets`.
    #[inline]
    pub fn add(&mut self, octets: &[u8]) {
        let piece = fold(sum(octets));
        // After an odd piece every word straddles the join: its halves change places (RFC 1071
        // §2(B)).
        let piece = if self.odd { piece.swap_bytes() } else { piece };
        self.sum = plus(self.sum, piece);
        self.odd ^= octets.len() % 2 == 1;
    }

    /// Returns the check of what was added so far, to be written with the most significant octet
    /// first.
    #[inline]
    pub fn value(&self) -> u16 {
        !self.sum.to_be()
    }

    /// Returns the check of two pieces from the checks of each; `first_octets` is the length of the
    /// first.
    #[inline]
    pub fn combine(first: u16, second: u16, first_octets: usize) -> u16 {
        let second = if first_octets.is_multiple_of(2) { second } else { second.swap_bytes() };
        !plus(!first, !second)
    }

    /// Returns the check after one 16-bit word changed from `old` to `new`, by equation 3 of RFC
    /// 1624.
    ///
    /// The words that the check covers must not all be zero afterwards, as no header's are: then
    /// the sum has two zeros, and this one is the other.
    #[inline]
    pub fn update(check: u16, old: u16, new: u16) -> u16 {
        !plus(plus(!check, !old), new)
    }
}

/// The ones' complement sum of two words: the carry comes back in at the bottom.
fn plus(one: u16, other: u16) -> u16 {
    let (sum, carry) = one.overflowing_add(other);
    sum + u16::from(carry)
}

/// Adds all words; the sum is not folded yet.
#[inline]
fn sum(octets: &[u8]) -> u64 {
    if octets.len() < LONG { Sum(octets).run() } else { processor::run(Sum(octets)) }
}

struct Sum<'a>(&'a [u8]);

impl Work for Sum<'_> {
    type Output = u64;

    /// Adds 8 octets at a time as two 32-bit halves: the upper half of 64 bits holds up to 2^31
    /// carries. The compiler finds vector instructions for this.
    #[inline(always)]
    fn run(self) -> u64 {
        let Sum(octets) = self;
        let mut sum = 0;
        let (eights, rest) = octets.as_chunks::<8>();
        for eight in eights {
            let word = u64::from_ne_bytes(*eight);
            sum += (word & 0xffff_ffff) + (word >> 32);
        }
        let (pairs, rest) = rest.as_chunks::<2>();
        for pair in pairs {
            sum += u64::from(u16::from_ne_bytes(*pair));
        }
        if let [last] = rest {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        sum
    }
}

/// Adds the carries until 16 bits are left.
#[inline]
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}
