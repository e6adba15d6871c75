//! Fletcher's check modulo 255: that of ISO transport protocols (ISO 8073 and RFC 905, both in
//! annex B), here for comparison.
//!
//! Of the octets a₁ … aₙ, modulo 255:
//!
//! ```text
//! C0 = a₁ + a₂ + … + aₙ          C1 = n a₁ + (n − 1) a₂ + … + 1 aₙ
//! ```

use crate::processor::{self, Work};

/// The greatest number of octets after which the sums still have 32 bits: 255 n (n + 1) / 2.
const MOST: usize = 4096;
/// Octets that are added at once: as many as the compiler keeps as a loop, of which it makes vector
/// instructions.
const BLOCK: usize = 64;
const MODULUS: u32 = 255;

/// Fletcher's check, fed piece by piece. Pieces may have any length.
///
/// An octet of 0 and one of 255 are the same to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fletcher {
    /// C0, below [`MODULUS`].
    sum: u32,
    /// C1, below [`MODULUS`].
    weighted: u32,
}

impl Fletcher {
    /// Returns a check to which nothing was added.
    pub const fn new() -> Self {
        Fletcher { sum: 0, weighted: 0 }
    }

    /// Returns the check of `octets`.
    #[inline]
    pub fn of(octets: &[u8]) -> u16 {
        let mut check = Self::new();
        check.add(octets);
        check.value()
    }

    /// Adds `octets`.
    pub fn add(&mut self, octets: &[u8]) {
        for piece in octets.chunks(MOST) {
            let (sum, weighted) = processor::run(Sums(piece));
            // What was added before is counted once more for each octet behind it.
            let moved = self.sum * piece.len() as u32;
            self.weighted = (self.weighted + moved % MODULUS + weighted % MODULUS) % MODULUS;
            self.sum = (self.sum + sum) % MODULUS;
        }
    }

    /// Returns the check of what was added so far: C1 in the upper octet, C0 in the lower one.
    pub const fn value(&self) -> u16 {
        (self.weighted << 8 | self.sum) as u16
    }

    /// Returns the two check octets that make both sums of a packet 0, from the sums of the packet
    /// in which they are 0; `behind` octets follow them.
    pub const fn octets(&self, behind: u64) -> [u8; 2] {
        let behind = (behind % MODULUS as u64) as u32;
        let first = (behind + 1) * self.sum + MODULUS - self.weighted;
        let second = self.weighted + (MODULUS - self.sum) * (behind + 2);
        [(first % MODULUS) as u8, (second % MODULUS) as u8]
    }

    /// Returns the check of two pieces from the checks of each; `second_octets` is the length of
    /// the second.
    pub const fn combine(first: u16, second: u16, second_octets: u64) -> u16 {
        let (first, second) = (Self::with(first), Self::with(second));
        let moved = first.sum * (second_octets % MODULUS as u64) as u32;
        let sum = (first.sum + second.sum) % MODULUS;
        Fletcher { sum, weighted: (first.weighted + second.weighted + moved) % MODULUS }.value()
    }

    /// Returns the check after one octet changed from `old` to `new`; `octets_behind` octets follow
    /// it.
    pub const fn update(check: u16, old: u8, new: u8, octets_behind: u64) -> u16 {
        let before = Self::with(check);
        let change = new as u32 + MODULUS - old as u32;
        let counted = change * ((octets_behind % MODULUS as u64) as u32 + 1);
        let sum = (before.sum + change) % MODULUS;
        Fletcher { sum, weighted: (before.weighted + counted) % MODULUS }.value()
    }

    /// Returns the sums of which `check` consists.
    const fn with(check: u16) -> Self {
        Fletcher { sum: check as u32 & 0xff, weighted: check as u32 >> 8 }
    }
}

/// Both sums of at most [`MOST`] octets, not reduced.
struct Sums<'a>(&'a [u8]);

impl Work for Sums<'_> {
    type Output = (u32, u32);

    /// Adds up blocks column by column, so that the loop has neither multiplications nor sums that
    /// wait for each other.
    #[inline(always)]
    fn run(self) -> (u32, u32) {
        let (mut columns, mut earlier) = ([0_u32; BLOCK], [0_u32; BLOCK]);
        let (blocks, rest) = self.0.as_chunks::<BLOCK>();
        for block in blocks {
            for (earlier, column) in earlier.iter_mut().zip(&columns) {
                *earlier += column;
            }
            for (column, octet) in columns.iter_mut().zip(block) {
                *column += u32::from(*octet);
            }
        }
        // An octet counts once for each octet of its block from it on, and once for each octet of
        // the blocks behind.
        let weights = (1..=BLOCK as u32).rev();
        let (mut sum, mut weighted) = (0, BLOCK as u32 * earlier.iter().sum::<u32>());
        for (column, weight) in columns.iter().zip(weights) {
            sum += column;
            weighted += weight * column;
        }
        for octet in rest {
            sum += u32::from(*octet);
            weighted += sum;
        }
        (sum, weighted)
    }
}
