//! Segments of one block, with a gap before each.

use alloc::boxed::Box;

use triomphe::Arc;

use super::Unshared;
use super::slice::Slice;
use crate::message::segments::{Cursor, SegmentLayout, SegmentsMut};

/// A gapped buffer that others may hold too. Nothing is allocated for its segments.
#[derive(Clone, Debug)]
pub(super) struct Gapped {
    block: Arc<Box<[u8]>>,
    /// At a segment that is not empty.
    cursor: Cursor,
}

impl Gapped {
    /// Returns the segments from `cursor` on in the block of `packets`.
    #[inline]
    pub(super) fn new(packets: Slice, cursor: Cursor) -> Self {
        Gapped { block: packets.into_shared(), cursor }
    }

    #[inline]
    pub(super) fn first(&self) -> &[u8] {
        &self.block[self.cursor.start..self.cursor.end]
    }

    /// Drops the gaps of packets that lie in its segments, one in each. Returns its octets then;
    /// `None` where they do not lie so.
    pub(super) fn drop_gaps(&mut self, layout: &SegmentLayout) -> Option<usize> {
        self.cursor = self.cursor.within(layout)?;
        Some(self.cursor.all_octets())
    }

    /// Prepends the segment before it in its block. Returns whether `slice` is that.
    #[inline]
    pub(super) fn prepend(&mut self, slice: &Slice) -> bool {
        slice.is_of(&self.block) && self.cursor.step_back(slice.place())
    }

    /// Drops the first `octets` octets, of which it has as many.
    #[inline]
    pub(super) fn advance(&mut self, octets: usize) {
        self.cursor.advance(octets);
    }

    /// Splits the first `octets` octets off, of which it has more.
    #[inline]
    pub(super) fn split_to(&mut self, octets: usize) -> Self {
        Gapped { block: self.block.clone(), cursor: self.cursor.split_to(octets) }
    }

    /// Keeps only the first `octets` octets, of which it has more.
    pub(super) fn truncate(&mut self, octets: usize) {
        self.cursor = self.cursor.split_to(octets);
    }

    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.cursor.is_last()
    }

    /// Returns what is left of the first segment.
    #[inline]
    pub(super) fn into_first(self) -> Slice {
        Slice::of(self.block, self.cursor.start, self.cursor.end)
    }

    #[inline]
    pub(super) fn segments(&self) -> Segments<'_> {
        Segments { block: &self.block, cursor: Some(self.cursor) }
    }

    /// Takes each segment as a piece of its own.
    pub(super) fn for_each(self, mut take: impl FnMut(Slice)) {
        let Gapped { block, mut cursor } = self;
        loop {
            take(Slice::of(block.clone(), cursor.start, cursor.end));
            if cursor.is_last() {
                return;
            }
            cursor.step();
        }
    }

    /// Lends its segments to be written, where nobody else holds the block.
    #[inline]
    pub(super) fn segments_mut(&mut self) -> SegmentsMut<'_> {
        let block = Arc::get_mut(&mut self.block);
        block.map_or_else(SegmentsMut::default, |block| SegmentsMut::new(block, self.cursor))
    }

    /// Returns whether it can grow to the front in place.
    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        octets <= self.cursor.start - self.cursor.floor && self.block.is_unique()
    }

    /// Grows to the front in place.
    ///
    /// # Panics
    /// Where it [has no headroom](Gapped::has_headroom) for that.
    #[inline]
    pub(super) fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let block = Arc::get_mut(&mut self.block).expect("nobody else holds the block");
        let end = self.cursor.start;
        self.cursor.start -= octets;
        &mut block[self.cursor.start..end]
    }

    /// As [`Cursor::push_each`], where nobody else holds the block.
    pub(super) fn push_each(&mut self, octets: usize, all: usize, header: &[u8]) -> bool {
        let block = Arc::get_mut(&mut self.block);
        block.is_some_and(|block| self.cursor.push_each(block, octets, all, header))
    }

    /// As [`Cursor::strip_each`].
    pub(super) fn strip_each(&mut self, octets: usize, all: usize, header: &[u8]) -> bool {
        self.cursor.strip_each(&self.block, octets, all, header)
    }

    /// Returns the octets from `before` octets before it to the end of segment `count`, counted
    /// from 1; `None` where it has fewer.
    #[inline]
    pub(super) fn with_gaps(&self, before: usize, count: usize) -> Option<Slice> {
        let Cursor { floor, start, .. } = self.cursor;
        let start = start.checked_sub(before).filter(|start| *start >= floor)?;
        let end = self.cursor.end_of(count.checked_sub(1)?)?;
        Some(Slice::of(self.block.clone(), start, end))
    }

    /// Returns its block, where nobody else holds it.
    #[inline]
    pub(super) fn into_block(self) -> Option<Unshared> {
        Unshared::of(self.block)
    }
}

/// Iterates over the segments, to be read.
#[derive(Clone)]
pub(super) struct Segments<'a> {
    block: &'a [u8],
    cursor: Option<Cursor>,
}

impl<'a> Iterator for Segments<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let cursor = self.cursor.as_mut()?;
        let segment = &self.block[cursor.start..cursor.end];
        if cursor.is_last() {
            self.cursor = None;
        } else {
            cursor.step();
        }
        Some(segment)
    }
}
