//! The slot `rtt`: how long the way there and back takes.

mod fixed;
mod rfc6298;
mod srtt;

pub use fixed::Fixed;
pub use rfc6298::Rfc6298;
pub use srtt::Srtt;

use stackwright_transport::words::{Nanoseconds, SECOND, Sample};

/// No timeout is longer, where nothing else is wished (RFC 6298 §2.5).
const TIMEOUT_MOST: Nanoseconds = 60 * SECOND;

/// How often a timeout is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// How often it stays doubled while something is heard of. Not 0: where the round trip has become longer than the timeout,
/// everything is sent twice and nothing is ever measured.
const DOUBLED_HEARD: u32 = 2;

/// Which samples are believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Of questions and their answers: no copy confuses them.
    Answers,
    /// Of units that were sent once (Karn's rule).
    Units,
}

impl Of {
    fn believes(self, sample: Sample) -> Option<Nanoseconds> {
        match (self, sample) {
            (Of::Answers, Sample::OfAnswer(took)) | (Of::Units, Sample::OfUnit(took)) => Some(took.max(1)),
            _ => None,
        }
    }
}
