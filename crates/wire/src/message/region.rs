//! Octets that are passed on without being read.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

/// Octets that are still in a file, or on their way into one. It keeps the file open, and is never
/// read here.
#[derive(Clone)]
pub struct Region {
    /// The open file, or the pipe of the kernel, in the type of the driver.
    pub source: Arc<dyn Any + Send + Sync>,
    /// The position of its first octet in the file.
    pub offset: u64,
    /// Its length in octets. A file may turn out shorter.
    pub length: usize,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({}..+{})", self.offset, self.length)
    }
}
