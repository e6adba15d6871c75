//! What one side says that it has received.

use alloc::vec::Vec;
use core::ops::Range;

/// How many ECN-capable packets of an association one side has received (RFC 9000 §13.4.1). Both
/// counts wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// The packets that came with ECT or CE.
    pub capable: u32,
    /// Of these, those with CE: they met congestion.
    pub experienced: u32,
}

/// What one side says that it has received.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The number before which all were received.
    pub upto: u64,
    /// Other spans that were received, in any order.
    pub held: Vec<Range<u64>>,
    /// Spans that were received once more since the last report (RFC 2883).
    pub again: Vec<Range<u64>>,
    /// Spans that are known to be missing, in rising order. Of the rest nothing is known.
    pub missing: Vec<Range<u64>>,
    /// The inquiry that it answers.
    pub answers: Option<u32>,
    /// The counts of marked packets, if both sides report them.
    pub ecn: Option<EcnCounts>,
    /// The member of a group that reports, where its format tells members apart; else 0.
    pub member: u64,
}

impl Report {
    /// Returns the number after the highest one that it acknowledges.
    pub fn highest(&self) -> u64 {
        self.held.iter().map(|span| span.end).fold(self.upto, u64::max)
    }

    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.upto = 0;
        self.held.clear();
        self.again.clear();
        self.missing.clear();
        (self.answers, self.ecn, self.member) = (None, None, 0);
    }

    /// Returns whether it acknowledges no number.
    pub fn is_empty(&self) -> bool {
        self.upto == 0 && self.held.is_empty()
    }
}

/// Returns the number nearest to `near` of which the lowest `bits` bits are `low`: how a number
/// that wraps on the wire is read.
///
/// ```
/// use stackwright_transport::words::unwrap;
/// assert_eq!(unwrap(2, 32, 0xffff_fffe), 0x1_0000_0002);
/// assert_eq!(unwrap(0xffff_fffe, 32, 0x1_0000_0002), 0xffff_fffe);
/// ```
#[inline]
pub const fn unwrap(low: u32, bits: u32, near: u64) -> u64 {
    let modulus = 1_u64 << bits;
    let number = (near & !(modulus - 1)) + low as u64;
    if number + modulus / 2 < near {
        number + modulus
    } else if number > near + modulus / 2 && number >= modulus {
        number - modulus
    } else {
        number
    }
}
