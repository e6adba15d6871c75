//! Memory that becomes a message without a copy.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::DerefMut;

/// Octets that nobody else holds: they can be written, and become a message without a copy or
/// another allocation.
///
/// A block dereferences to a slice of its octets, and is made [`From`] a vector of them.
pub trait Block: DerefMut<Target = [u8]> + From<Vec<u8>> + Debug + Send + 'static {
    /// Returns a block of `octets` octets, all zero.
    fn zeroed(octets: usize) -> Self {
        vec![0; octets].into()
    }
}

impl Block for Box<[u8]> {}
