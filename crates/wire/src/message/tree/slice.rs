//! Octets of a block that several pieces may hold.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut, Range};

// Counted without weak references: whether nobody else holds a block, which each header asks, is
// one load then.
use triomphe::{Arc, UniqueArc};

use super::super::Block;

/// The block of a [`BufferTree`](crate::BufferTree): memory with its reference count, which is 1.
pub struct Unshared(UniqueArc<Box<[u8]>>);

impl Block for Unshared {}

impl fmt::Debug for Unshared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unshared").field(&&self[..]).finish()
    }
}

impl From<Vec<u8>> for Unshared {
    fn from(octets: Vec<u8>) -> Self {
        Unshared(UniqueArc::new(octets.into_boxed_slice()))
    }
}

impl Deref for Unshared {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Unshared {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// A part of a block. Slices of one block may overlap: only a block with one holder is written.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    block: Arc<Box<[u8]>>,
    // `start <= end <= block.len()`
    start: usize,
    end: usize,
}

impl Unshared {
    /// Returns a block, where nobody else holds it.
    #[inline]
    pub(super) fn of(block: Arc<Box<[u8]>>) -> Option<Self> {
        // `into_unique` would count it down and up again.
        Arc::try_unique(block).map(Unshared).ok()
    }
}

impl Slice {
    /// Returns a part of a block.
    ///
    /// # Panics
    /// Where `start..end` is not within `block`.
    #[inline]
    pub(super) fn new(block: Unshared, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= block.len(), "the octets lie within the block");
        Slice { block: block.0.shareable(), start, end }
    }

    /// Returns a part of a block that others may hold too.
    ///
    /// # Panics
    /// Where `start..end` is not within `block`.
    pub(super) fn of(block: Arc<Box<[u8]>>, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= block.len(), "the octets lie within the block");
        Slice { block, start, end }
    }

    /// Returns its position in the block.
    #[inline]
    pub(super) fn place(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Appends `behind`, if that is right behind it in the same block. Returns whether it is.
    #[inline]
    pub(super) fn extend(&mut self, behind: &Slice) -> bool {
        let follows = self.end == behind.start && self.is_of(&behind.block);
        self.end = if follows { behind.end } else { self.end };
        follows
    }

    /// Returns whether it is a part of `block`.
    #[inline]
    pub(super) fn is_of(&self, block: &Arc<Box<[u8]>>) -> bool {
        Arc::ptr_eq(&self.block, block)
    }

    #[inline]
    pub(super) fn into_shared(self) -> Arc<Box<[u8]>> {
        self.block
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.end == self.start
    }

    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        &self.block[self.start..self.end]
    }

    /// Lends its octets to be altered in place, where nobody else holds the block.
    pub(super) fn octets_mut(&mut self) -> Option<&mut [u8]> {
        Arc::get_mut(&mut self.block).map(|block| &mut block[self.start..self.end])
    }

    #[inline]
    pub(super) fn advance(&mut self, octets: usize) {
        self.start += octets;
    }

    #[inline]
    pub(super) fn truncate(&mut self, octets: usize) {
        self.end = self.start + octets;
    }

    /// Splits its first `octets` octets off.
    #[inline]
    pub(super) fn split_to(&mut self, octets: usize) -> Slice {
        let mut head = self.clone();
        head.truncate(octets);
        self.advance(octets);
        head
    }

    /// Returns whether nobody else holds the block.
    #[inline]
    pub(super) fn is_unique(&self) -> bool {
        self.block.is_unique()
    }

    /// Returns whether it can grow to the front in place: there is room, and nobody else holds the
    /// block, of which another slice may be right before this one.
    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        octets <= self.start && self.is_unique()
    }

    /// Grows to the front in place.
    ///
    /// # Panics
    /// Where it [has no headroom](Slice::has_headroom) for that.
    #[inline]
    pub(super) fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let block = Arc::get_mut(&mut self.block).expect("nobody else holds the block");
        let end = self.start;
        self.start -= octets;
        &mut block[self.start..end]
    }

    /// Returns these octets behind `header`, which is written into the headroom.
    ///
    /// # Panics
    /// Where it [has no headroom](Slice::has_headroom) for that.
    #[inline]
    pub(super) fn behind(&mut self, header: &[u8]) -> Slice {
        self.push_front(header.len()).copy_from_slice(header);
        let whole = self.clone();
        self.advance(header.len());
        whole
    }

    /// Appends `octets` in place, if nobody else holds the block and there is room behind. Returns
    /// whether it did.
    pub(super) fn append(&mut self, octets: &[u8]) -> bool {
        let spare = Arc::get_mut(&mut self.block)
            .and_then(|block| block.get_mut(self.end..self.end + octets.len()));
        if let Some(spare) = spare {
            spare.copy_from_slice(octets);
            self.end += octets.len();
            return true;
        }
        false
    }

    /// Returns its block, where nobody else holds it.
    #[inline]
    pub(super) fn into_block(self) -> Option<Unshared> {
        Unshared::of(self.block)
    }
}
