//! What can be configured.

use core::num::NonZeroU64;

/// The configuration of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Config {
    /// The most octets a second that all jobs move together; `None` is as many as possible.
    pub rate: Option<NonZeroU64>,
}
