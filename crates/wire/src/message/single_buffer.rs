//! The simplest message: one buffer with headroom.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::{Leaf, Message, Pool, Region, count_copied};

/// One buffer with headroom.
///
/// What handlers call for every message is always inlined: a message whose address is handed to a
/// function is in memory from there on, and any other stays in registers on its whole path through
/// a stack.
#[derive(Debug)]
pub struct SingleBuffer {
    block: Box<[u8]>,
    end: usize,
    // The length and not the start: then the compiler sees that a message from which a header was
    // taken is still within its block, and tests nothing but whether it was long enough for the
    // header.
    length: usize,
}

impl SingleBuffer {
    /// Returns its octets.
    #[inline(always)]
    #[allow(unsafe_code, reason = "the named exception of this file: see SAFETY")]
    pub fn octets(&self) -> &[u8] {
        let (start, end) = (self.end - self.length, self.end);
        debug_assert!(start <= end && end <= self.block.len());
        // SAFETY: `length <= end <= block.len()` always holds. `from_block`, the only constructor,
        // asserts it; every method below that changes one of the three keeps it, and they are
        // private to this file.
        unsafe { self.block.get_unchecked(start..end) }
    }

    /// Returns how many octets can be prepended before it is copied.
    ///
    /// A driver asks once for all headers of a stack; where the stack is inlined behind that
    /// question, the compiler knows the answer to each layer's own.
    #[inline(always)]
    pub fn headroom(&self) -> usize {
        self.end - self.length
    }

    /// Lends its octets to be changed in place.
    #[inline(always)]
    #[allow(unsafe_code, reason = "the named exception of this file: see SAFETY")]
    pub fn octets_mut(&mut self) -> &mut [u8] {
        let (start, end) = (self.end - self.length, self.end);
        debug_assert!(start <= end && end <= self.block.len());
        // SAFETY: as in `octets`.
        unsafe { self.block.get_unchecked_mut(start..end) }
    }
}

/// Returns a copy of `octets` with at least `room` octets of headroom. It takes the octets and not
/// the message, for the reason given at [`SingleBuffer`].
#[cold]
#[inline(never)]
fn roomier(octets: &[u8], room: usize) -> SingleBuffer {
    SingleBuffer::with_headroom(room + stand_by(octets.len()), octets)
}

/// Returns the headroom of a message of `length` octets that had too little.
fn stand_by(length: usize) -> usize {
    length.clamp(64, 256)
}

impl Message for SingleBuffer {
    const HOLDS_REGIONS: bool = false;
    const SHARES: bool = false;
    type Block = Box<[u8]>;

    fn with_headroom(headroom: usize, payload: &[u8]) -> Self {
        // What is written anyway is not cleared before.
        let end = headroom + payload.len();
        let mut octets = Vec::with_capacity(end);
        octets.resize(headroom, 0);
        octets.extend_from_slice(payload);
        count_copied(payload.len());
        Self::from_block(octets.into(), headroom, end)
    }

    fn from_block(block: Box<[u8]>, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= block.len(), "the octets lie within the block");
        SingleBuffer { block, end, length: end - start }
    }

    fn from_region(region: Region) -> Result<Self, Region> {
        Err(region)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.length
    }

    #[inline(always)]
    fn front(&mut self, octets: usize) -> Option<&[u8]> {
        self.octets().get(..octets)
    }

    #[inline(always)]
    #[allow(unsafe_code, reason = "the named exception of this file: see SAFETY")]
    fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let before = self.headroom();
        if octets <= before {
            let start = before - octets;
            // The next headroom is this `start` again, which the compiler knows to be large enough.
            self.length = self.end - start;
            // SAFETY: as in `octets`: `start <= before <= end <= block.len()`.
            return unsafe { self.block.get_unchecked_mut(start..before) };
        }
        *self = roomier(self.octets(), octets);
        self.length += octets;
        &mut self.octets_mut()[..octets]
    }

    fn unshared(&mut self) -> Option<&mut [u8]> {
        Some(self.octets_mut())
    }

    fn messages(&self, octets: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.octets().chunks(octets).map(core::iter::once)
    }

    #[inline(always)]
    fn advance(&mut self, octets: usize) {
        assert!(octets <= self.length, "advance within the length");
        self.length -= octets;
    }

    #[inline(always)]
    fn truncate(&mut self, octets: usize) {
        if octets < self.length {
            self.end -= self.length - octets;
            self.length = octets;
        }
    }

    fn split_to(&mut self, octets: usize) -> Self {
        let first = Self::with_headroom(stand_by(0), &self.octets()[..octets]);
        self.advance(octets);
        first
    }

    fn take(&mut self) -> Self {
        core::mem::replace(self, Self::from_block(Box::default(), 0, 0))
    }

    fn join(&mut self, rest: Self) {
        if self.is_empty() {
            *self = rest;
            return;
        }
        let (start, end, more) = (self.end - self.length, self.end, rest.len());
        if self.block.len() - end < more {
            let mut block = vec![0; end + more.max(end)].into_boxed_slice();
            block[start..end].copy_from_slice(&self.block[start..end]);
            count_copied(end - start);
            self.block = block;
        }
        self.block[end..end + more].copy_from_slice(rest.octets());
        count_copied(more);
        self.end += more;
        self.length += more;
    }

    #[inline(always)]
    fn share(&self) -> Self {
        Self::with_headroom(stand_by(0), self.octets())
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        (!self.is_empty()).then(|| Leaf::Octets(self.octets())).into_iter()
    }

    #[inline(always)]
    fn each(&self, mut take: impl FnMut(&[u8])) {
        take(self.octets());
    }

    fn reclaim(self, pool: &Pool<Self>) {
        pool.give(self.block);
    }

    fn into_blocks(self, mut take: impl FnMut(Box<[u8]>)) {
        take(self.block);
    }
}
