//! No pacing.

use stackwright_transport::component;
use stackwright_transport::slots::Rate;

/// Sends as fast as the windows allow.
///
/// ```
/// use stackwright_policies::rate::Absent;
/// let rate = Absent;
/// # let _ = rate;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Rate for Absent {
    fn heeds_sent(&self) -> bool {
        false
    }
}

component! { Absent: "rate absent", "sends as fast as the windows allow" }
