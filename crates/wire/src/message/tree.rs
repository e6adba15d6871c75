//! A message put together from shared pieces: what the x-Kernel calls a buffer tree, kept as a rope.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::mem;

use super::{Leaf, Message, Pool, Region};

/// A rope of shared slices. Splitting and joining copy no payload, and a leaf may be a region of a file.
#[derive(Clone, Debug, Default)]
pub struct BufferTree {
    // Nearly every message has one piece: it needs no list.
    first: Option<Part>,
    rest: VecDeque<Part>,
    /// Of all pieces together: asked far more often than changed.
    length: usize,
}

#[derive(Clone, Debug)]
enum Part {
    Octets(Slice),
    Region(Region),
}

#[derive(Clone, Debug)]
struct Slice {
    block: Arc<Box<[u8]>>,
    start: usize,
    end: usize,
}

/// The headroom of a piece that is made for headers alone.
const HEADER_PIECE: usize = 256;
/// Pieces up to this length are copied together when they are joined: a peer that sends octet by octet must not make us
/// hold a hundred times what it sent.
const SMALL_PIECE: usize = 64;
/// The room of a block in which small pieces are gathered.
const GATHERED: usize = 512;

impl Slice {
    fn octets(&self) -> &[u8] {
        &self.block[self.start..self.end]
    }
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Part::Octets(slice) => slice.end - slice.start,
            Part::Region(region) => region.length,
        }
    }

    fn advance(&mut self, octets: usize) {
        match self {
            Part::Octets(slice) => slice.start += octets,
            Part::Region(region) => {
                region.offset += octets as u64;
                region.length -= octets;
            }
        }
    }

    fn truncate(&mut self, octets: usize) {
        match self {
            Part::Octets(slice) => slice.end = slice.start + octets,
            Part::Region(region) => region.length = octets,
        }
    }
}

impl BufferTree {
    fn of(part: Part) -> Self {
        let length = part.len();
        BufferTree { first: (length > 0).then_some(part), rest: VecDeque::new(), length }
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.first.iter().chain(&self.rest)
    }

    fn push_part(&mut self, part: Part) {
        self.length += part.len();
        if let Some(second) = self.first.replace(part) {
            self.rest.push_front(second);
        }
    }

    fn append_part(&mut self, part: Part) {
        self.length += part.len();
        if self.first.is_none() {
            self.first = Some(part);
        } else {
            self.rest.push_back(part);
        }
    }

    /// Appends a piece, and copies it where that is cheaper than to keep it.
    fn join_part(&mut self, part: Part) {
        let small = match &part {
            Part::Octets(slice) if self.first.is_some() && slice.octets().len() <= SMALL_PIECE => {
                slice.octets()
            }
            _ => return self.append_part(part),
        };
        let last = self.rest.back_mut().or(self.first.as_mut());
        if let Some(Part::Octets(last)) = last
            && let Some(block) = Arc::get_mut(&mut last.block)
            && let Some(spare) = block.get_mut(last.end..last.end + small.len())
        {
            spare.copy_from_slice(small);
            last.end += small.len();
            self.length += small.len();
            return;
        }
        let mut block = alloc::vec![0; GATHERED].into_boxed_slice();
        block[..small.len()].copy_from_slice(small);
        self.append_part(Part::Octets(Slice { block: Arc::new(block), start: 0, end: small.len() }));
    }

    /// Gathers the first `octets` octets, which lie in several pieces, into one.
    #[cold]
    fn gather(&mut self, octets: usize) -> Option<()> {
        if self.len() < octets {
            return None;
        }
        let mut block = alloc::vec![0; HEADER_PIECE + octets].into_boxed_slice();
        if self.copy_to(&mut block[HEADER_PIECE..]) < octets {
            return None; // a region lies within them
        }
        self.advance(octets);
        let end = block.len();
        self.push_part(Part::Octets(Slice { block: Arc::new(block), start: HEADER_PIECE, end }));
        Some(())
    }
}

impl Message for BufferTree {
    const HOLDS_REGIONS: bool = true;

    fn with_headroom(headroom: usize, payload: &[u8]) -> Self {
        let mut block = alloc::vec![0; headroom + payload.len()].into_boxed_slice();
        block[headroom..].copy_from_slice(payload);
        let end = block.len();
        Self::from_block(block, headroom, end)
    }

    fn from_block(block: Box<[u8]>, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= block.len(), "the octets lie within the block");
        Self::of(Part::Octets(Slice { block: Arc::new(block), start, end }))
    }

    fn from_region(region: Region) -> Result<Self, Region> {
        Ok(Self::of(Part::Region(region)))
    }

    fn len(&self) -> usize {
        self.length
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() // no piece is empty
    }

    fn front(&mut self, octets: usize) -> Option<&[u8]> {
        if octets == 0 {
            return Some(&[]); // also where the first piece is a region, which nobody looks into then
        }
        if self.first.as_ref().is_none_or(|first| first.len() < octets) {
            self.gather(octets)?;
        }
        match &self.first {
            Some(Part::Octets(slice)) => slice.octets().get(..octets),
            _ => None,
        }
    }

    fn push_front(&mut self, octets: usize) -> &mut [u8] {
        if octets == 0 {
            return &mut []; // no piece is empty
        }
        // In place where nobody else holds the block: another holder's octets may lie right before ours.
        let in_place = match &mut self.first {
            Some(Part::Octets(slice)) => slice.start >= octets && Arc::get_mut(&mut slice.block).is_some(),
            _ => false,
        };
        if !in_place {
            let room = HEADER_PIECE.max(octets);
            let block = Arc::new(alloc::vec![0; room].into_boxed_slice());
            self.push_part(Part::Octets(Slice { block, start: room, end: room }));
        }
        self.length += octets;
        match &mut self.first {
            Some(Part::Octets(slice)) => {
                slice.start -= octets;
                let block = Arc::get_mut(&mut slice.block).expect("found or made unshared above");
                &mut block[slice.start..slice.start + octets]
            }
            _ => unreachable!("the first piece holds octets since the lines above"),
        }
    }

    fn advance(&mut self, mut octets: usize) {
        while octets > 0 {
            let first = self.first.as_mut().expect("advance within the length");
            let length = first.len();
            if octets < length {
                self.length -= octets;
                return first.advance(octets);
            }
            octets -= length;
            self.length -= length;
            self.first = self.rest.pop_front();
        }
    }

    fn truncate(&mut self, octets: usize) {
        let mut left = octets;
        let mut kept = BufferTree::default();
        for mut part in mem::take(self).into_parts() {
            if left == 0 {
                break;
            }
            if part.len() > left {
                part.truncate(left);
            }
            left -= part.len();
            kept.append_part(part);
        }
        *self = kept;
    }

    fn split_to(&mut self, mut octets: usize) -> Self {
        let mut head = BufferTree::default();
        while octets > 0 {
            let mut part = self.first.take().expect("split within the length");
            if part.len() > octets {
                let mut rest = part.clone();
                rest.advance(octets);
                part.truncate(octets);
                self.first = Some(rest);
            } else {
                self.first = self.rest.pop_front();
            }
            octets -= part.len();
            self.length -= part.len();
            head.append_part(part);
        }
        head
    }

    fn join(&mut self, rest: Self) {
        for part in rest.into_parts() {
            self.join_part(part);
        }
    }

    fn share(&self) -> Self {
        self.clone()
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        self.parts().map(|part| match part {
            Part::Octets(slice) => Leaf::Octets(slice.octets()),
            Part::Region(region) => Leaf::Region(region),
        })
    }

    fn reclaim(self, pool: &Pool) {
        for part in self.into_parts() {
            if let Part::Octets(slice) = part
                && let Some(block) = Arc::into_inner(slice.block)
            {
                pool.give(block);
            }
        }
    }
}

impl BufferTree {
    fn into_parts(self) -> impl Iterator<Item = Part> {
        self.first.into_iter().chain(self.rest)
    }
}
