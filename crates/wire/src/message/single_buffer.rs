//! The simplest message: one buffer with headroom.

use alloc::boxed::Box;
use alloc::vec;

use super::{Leaf, Message, Pool, Region};

/// One buffer with room in front. At most 4 GiB.
#[derive(Debug)]
pub struct SingleBuffer {
    block: Box<[u8]>,
    // Two halves of a word: a message is moved at every crossing, and three words are cheaper to move than four.
    start: u32,
    end: u32,
}

impl SingleBuffer {
    /// Its octets.
    #[inline]
    pub fn octets(&self) -> &[u8] {
        &self.block[self.start as usize..self.end as usize]
    }

    /// Its octets, to be changed in place.
    #[inline]
    pub fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.block[self.start as usize..self.end as usize]
    }
}

/// A copy of `octets` with at least `room` octets in front.
///
/// It is lent the octets and not the message: a message whose address nobody outside takes stays in registers on its
/// whole way through a stack.
#[cold]
#[inline(never)]
fn roomier(octets: &[u8], room: usize) -> SingleBuffer {
    SingleBuffer::with_headroom(room + stand_by(octets.len()), octets)
}

/// How much headroom a message gets that had too little.
fn stand_by(length: usize) -> usize {
    length.clamp(64, 256)
}

fn place(octets: usize) -> u32 {
    u32::try_from(octets).expect("a single buffer holds at most 4 GiB")
}

impl Message for SingleBuffer {
    const HOLDS_REGIONS: bool = false;

    fn with_headroom(headroom: usize, payload: &[u8]) -> Self {
        let mut block = vec![0; headroom + payload.len()].into_boxed_slice();
        block[headroom..].copy_from_slice(payload);
        let end = block.len();
        Self::from_block(block, headroom, end)
    }

    fn from_block(block: Box<[u8]>, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= block.len(), "the octets lie within the block");
        SingleBuffer { block, start: place(start), end: place(end) }
    }

    fn from_region(region: Region) -> Result<Self, Region> {
        Err(region)
    }

    #[inline]
    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    #[inline]
    fn front(&mut self, octets: usize) -> Option<&[u8]> {
        self.octets().get(..octets)
    }

    #[inline]
    fn push_front(&mut self, octets: usize) -> &mut [u8] {
        if octets > self.start as usize {
            *self = roomier(self.octets(), octets);
        }
        let start = self.start as usize - octets;
        self.start = start as u32;
        &mut self.block[start..start + octets]
    }

    #[inline]
    fn advance(&mut self, octets: usize) {
        assert!(octets <= self.len(), "advance within the length");
        self.start += octets as u32;
    }

    #[inline]
    fn truncate(&mut self, octets: usize) {
        self.end = self.end.min(place(self.start as usize + octets.min(self.len())));
    }

    fn split_to(&mut self, octets: usize) -> Self {
        let first = Self::with_headroom(stand_by(0), &self.octets()[..octets]);
        self.advance(octets);
        first
    }

    fn join(&mut self, rest: Self) {
        if self.is_empty() {
            *self = rest;
            return;
        }
        let (start, end, more) = (self.start as usize, self.end as usize, rest.len());
        if self.block.len() - end < more {
            let mut block = vec![0; end + more.max(end)].into_boxed_slice();
            block[start..end].copy_from_slice(&self.block[start..end]);
            self.block = block;
        }
        self.block[end..end + more].copy_from_slice(rest.octets());
        self.end = place(end + more);
    }

    #[inline]
    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        (!self.is_empty()).then(|| Leaf::Octets(self.octets())).into_iter()
    }

    fn reclaim(self, pool: &Pool) {
        pool.give(self.block);
    }
}
