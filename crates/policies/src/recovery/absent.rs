//! No retransmission.

use stackwright_transport::component;
use stackwright_transport::slots::Recovery;

/// Sends nothing again, and keeps nothing for that.
///
/// ```
/// use stackwright_policies::recovery::Absent;
/// use stackwright_transport::slots::Recovery;
/// assert!(!Absent.keeps());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Recovery for Absent {
    fn keeps(&self) -> bool {
        false
    }
}

component! { Absent: "recovery absent", "sends nothing again", shuns: Property::TOTAL }
