//! The slot `rtt`: how long the way there and back takes.

mod fixed;
mod rfc6298;
mod srtt;

pub use fixed::Fixed;
pub use rfc6298::Rfc6298;
pub use srtt::Srtt;

use stackwright_transport::words::{Nanoseconds, SECOND, Sample};

/// The longest timeout, unless another is chosen (RFC 6298 (2.5): a maximum is at least 60 s).
const TIMEOUT_MOST: Nanoseconds = 60 * SECOND;

/// How often a timeout is doubled, at most.
const DOUBLED_MOST: u32 = 6;

/// Returns `timeout` after it has been doubled `doubled` times: at most `ceiling`, but always up to
/// twice itself, so that a round trip that outgrew the timeout can still be measured.
fn backed_off(timeout: Nanoseconds, doubled: u32, ceiling: Nanoseconds) -> Nanoseconds {
    (timeout << doubled).min(ceiling.max(2 * timeout))
}

/// Which samples are believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SampleSource {
    /// SampleSource questions and their answers: no copy confuses them.
    Answers,
    /// SampleSource units that were sent once (Karn's rule).
    Units,
}

impl SampleSource {
    fn believes(self, sample: Sample) -> Option<Nanoseconds> {
        match (self, sample) {
            (SampleSource::Answers, Sample::OfAnswer(took)) | (SampleSource::Units, Sample::OfUnit(took)) => {
                Some(took.max(1))
            }
            _ => None,
        }
    }
}
