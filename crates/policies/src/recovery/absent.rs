//! Nothing is sent again.

use stackwright_transport::component;
use stackwright_transport::slots::Recovery;

/// Nothing is sent again, and nothing is kept for it.
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
