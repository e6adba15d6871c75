//! A header that is in the message itself.

use super::slice::Slice;
use crate::message::Block as _;
use crate::message::tree::Unshared;

/// The most octets that it may have: enough for most headers before a body that others hold too.
const CAPACITY: usize = 39;

/// What is prepended to octets that are shared: nothing is allocated for it.
// Copied as words: octet by octet, each copy would wait for the writes before it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Short {
    octets: [u8; CAPACITY],
    /// Where they begin; they end with the array.
    start: u8,
}

impl Short {
    /// Empty, with all its room in front.
    pub(super) const EMPTY: Self = Short { octets: [0; CAPACITY], start: CAPACITY as u8 };

    #[inline]
    pub(super) fn len(&self) -> usize {
        CAPACITY - usize::from(self.start)
    }

    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets[usize::from(self.start)..]
    }

    /// Drops the first `octets` octets, of which it has as many.
    #[inline]
    pub(super) fn advance(&mut self, octets: usize) {
        self.start += octets as u8;
    }

    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        octets <= usize::from(self.start)
    }

    /// Grows to the front.
    ///
    /// # Panics
    /// Where it [has no headroom](Short::has_headroom) for that.
    #[inline]
    pub(super) fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let end = usize::from(self.start);
        let start = end - octets;
        self.start = start as u8;
        &mut self.octets[start..end]
    }

    /// Returns the same octets in a block, with `headroom` octets of headroom.
    pub(super) fn into_slice(self, headroom: usize) -> Slice {
        let end = headroom + self.len();
        let mut block = Unshared::zeroed(end);
        block[headroom..].copy_from_slice(self.octets());
        Slice::new(block, headroom, end)
    }
}
