//! No expiry.

use stackwright_transport::component;
use stackwright_transport::slots::Lifetime;

/// Lets nothing expire, whatever lifetime a message has.
///
/// ```
/// use stackwright_policies::lifetime::Absent;
/// let lifetime = Absent;
/// # let _ = lifetime;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl Lifetime for Absent {}

component! { Absent: "lifetime absent", "keeps everything for ever" }
