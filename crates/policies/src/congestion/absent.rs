//! No congestion control.

use stackwright_transport::component;
use stackwright_transport::slots::Congestion;

/// Believes that the network takes everything: for a dedicated line.
///
/// ```
/// use stackwright_policies::congestion::Absent;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(Absent.window(), u64::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Congestion for Absent {
    fn window(&self) -> u64 {
        u64::MAX
    }
}

component! { Absent: "congestion absent", "believes that the network takes everything" }
