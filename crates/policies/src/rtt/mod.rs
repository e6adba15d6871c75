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

/// Returns `timeout` after it has been doubled `doubled` times: at most `ceiling`, but always up to
/// twice itself, so that a round trip that outgrew the timeout can still be measured.
fn backed_off(timeout: Nanoseconds, doubled: u32, ceiling: Nanoseconds) -> Nanoseconds {
    (timeout << doubled).min(ceiling.max(2 * timeout))
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
