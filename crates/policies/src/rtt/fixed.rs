//! A fixed timeout.

use stackwright_transport::component;
use stackwright_transport::slots::Rtt;
use stackwright_transport::words::{Estimate, Nanoseconds};

/// Takes the round-trip time and the timeout as known: for a line of one hop.
///
/// ```
/// use stackwright_policies::rtt::Fixed;
/// use stackwright_transport::slots::Rtt;
/// assert_eq!(Fixed(5_000_000).estimate().timeout, 5_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fixed(
    /// The timeout in nanoseconds.
    pub Nanoseconds,
);

impl Rtt for Fixed {
    fn estimate(&self) -> Estimate {
        Estimate { smoothed: self.0, variation: 0, least: self.0, timeout: self.0 }
    }
}

component! { Fixed: "rtt static", "takes the round trip as known" }
