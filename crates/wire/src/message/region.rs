//! Octets that are passed on without being read.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

/// Octets that are still in a file, or on their way into one. Whoever holds it keeps the file open; nobody here looks into
/// it.
#[derive(Clone)]
pub struct Region {
    /// The open file, or the pipe of the kernel, as the drivers know it.
    pub source: Arc<dyn Any + Send + Sync>,
    /// Where the region begins, in octets.
    pub offset: u64,
    /// Its length, in octets. A file may turn out shorter.
    pub length: usize,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({}..+{})", self.offset, self.length)
    }
}
