//! The faults and delays of a simulated disk.

use stackwright_contract::Duration;

/// The behavior of a disk. It may be changed while the disk is in use; earlier requests keep their
/// time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskFaults {
    /// How long an answer takes, at least.
    pub delay: Duration,
    /// How much longer it may take, by chance.
    pub jitter: Duration,
    /// How many octets can be written in all; a write beyond fails with `Full`.
    pub full_after: Option<u64>,
    /// The n-th operation, counted from 1 and over all files, fails with `Broken`.
    pub breaks_at: Option<u64>,
    /// Before the n-th operation, counted in the same way, the power is lost: that one and all
    /// after it fail with `Broken`, until the disk is [restarted](crate::Tree::restart).
    pub power_lost_at: Option<u64>,
    /// How many names each answer about a folder leaves out, as it says.
    pub leaves_out: u64,
    /// Whether it knows no digests.
    pub no_digests: bool,
}

/// What a loss of power leaves of the octets that were written and not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsynced {
    /// All of them.
    Kept,
    /// Their number: the file is as long as it was.
    Zeros,
    /// Nothing.
    Gone,
}

impl Default for DiskFaults {
    /// Returns a healthy disk that answers within a millisecond.
    fn default() -> Self {
        DiskFaults {
            delay: Duration::ZERO,
            jitter: Duration::from_millis(1),
            full_after: None,
            breaks_at: None,
            power_lost_at: None,
            leaves_out: 0,
            no_digests: false,
        }
    }
}
