//! The slot `rtt`: the round-trip time and the retransmission timeout.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Fixed`] | one hop whose round trip is known | |
//! | [`Rfc6298`] | networks, whose delay varies | RFC 6298 |
//! | [`Srtt`] | doing what the document does | ARTP §1.4.2, RFC 793 |

mod fixed;
mod rfc6298;
mod srtt;

pub use fixed::Fixed;
pub use rfc6298::Rfc6298;
pub use srtt::Srtt;

use stackwright_transport::words::{Nanoseconds, SECOND, Sample};

/// The longest timeout, unless another is chosen (RFC 6298 (2.5): a maximum is at least 60 s).
const TIMEOUT_MOST: Nanoseconds = 60 * SECOND;

/// How many times a timeout is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// The golden ratio, in parts of 2^64: its multiples are spread evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// How often a timeout expired in a row.
#[derive(Clone, Copy, Debug, Default)]
struct BackOff(u32);

impl BackOff {
    const NONE: BackOff = BackOff(0);

    /// Records that the timeout expired.
    fn expire(&mut self) {
        self.0 = self.0.saturating_add(1);
    }

    /// Returns `timeout` doubled for each time: at most `ceiling`, but always up to twice itself,
    /// so that a round trip that outgrew the timeout can still be measured. A part of up to a
    /// quarter is added, another one each time: a link that is up periodically would be tried again
    /// and again while it is down.
    fn of(self, timeout: Nanoseconds, ceiling: Nanoseconds) -> Nanoseconds {
        let doubled = (timeout << self.0.min(DOUBLED_MOST)).min(ceiling.max(2 * timeout));
        let chance = GOLDEN.wrapping_mul(u64::from(self.0)) ^ timeout.wrapping_mul(GOLDEN);
        let part = (u128::from(doubled / 4) * u128::from(chance)) >> 64;
        if self.0 == 0 { timeout } else { doubled + part as u64 }
    }
}

/// The samples that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SampleSource {
    /// Those of inquiries and their answers: no retransmission makes them ambiguous.
    Answers,
    /// Those of units that were sent once (Karn's algorithm).
    Units,
}

impl SampleSource {
    fn believes(self, sample: Sample) -> Option<Nanoseconds> {
        match (self, sample) {
            (SampleSource::Answers, Sample::OfAnswer(took))
            | (SampleSource::Units, Sample::OfUnit(took)) => Some(took.max(1)),
            _ => None,
        }
    }
}
