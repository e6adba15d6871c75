//! A message made of shared pieces: what the x-Kernel calls a buffer tree, kept as a rope.
//!
//! | file | what |
//! | --- | --- |
//! | `pieces.rs` | the pieces of a rope, in the shapes that need no list |
//! | `slice.rs` | a part of a block that others may hold too |
//! | `short.rs` | a header that is in the message itself |
//! | `gapped.rs` | segments of one block, with gaps for headers |
//! | `leaves.rs` | iterates over the octets, and over those of each of several messages |

mod gapped;
mod leaves;
mod pieces;
mod short;
mod slice;

use alloc::vec::Vec;
use core::mem;

use gapped::Gapped;
use leaves::{Leaves, Messages};
use pieces::{Piece, Pieces};
use short::Short;
use slice::Slice;
pub use slice::Unshared;

use super::segments::Cursor;
use super::{
    Block, Leaf, Message, Pool, Region, SegmentLayout, SegmentsMut, copy_leaves, count_copied,
    split_segments,
};

/// A rope of shared slices. Splitting and joining copy no payload, and a leaf may be a region of a
/// file.
///
/// Nothing but the memory of its octets is allocated for a message of one piece or two, or for one
/// whose segments are in one block.
#[derive(Clone, Debug, Default)]
pub struct BufferTree {
    /// None is empty, but that of a message without octets, which is kept for its headroom.
    pieces: Pieces,
    /// The octets of all pieces: read far more often than changed.
    length: usize,
}

/// The headroom of a piece that is made for headers alone.
const HEADER_PIECE: usize = 256;
/// Pieces up to this length are copied together when they are joined: of a peer that sends octet by
/// octet, a hundred times as much memory would be held.
const SMALL_PIECE: usize = 64;
/// The octets of a block in which small pieces are gathered.
const GATHERED: usize = 512;

impl BufferTree {
    #[inline]
    fn of_slice(slice: Slice) -> Self {
        BufferTree { length: slice.len(), pieces: Pieces::One(Piece::Octets(slice)) }
    }

    fn push_piece(&mut self, piece: Piece) {
        if self.is_empty() {
            self.pieces = Pieces::None; // the new piece has headroom of its own
        }
        self.length += piece.len();
        self.pieces.push_first(piece);
    }

    #[inline]
    fn append_piece(&mut self, piece: Piece) {
        self.length += piece.len();
        self.pieces.push_last(piece);
    }

    /// Appends a piece, by a copy where that is cheaper than to keep it.
    #[inline]
    fn join_piece(&mut self, piece: Piece) {
        match &piece {
            Piece::Octets(slice) if slice.len() <= SMALL_PIECE => self.join_small(slice.octets()),
            _ => self.append_piece(piece),
        }
    }

    /// Appends segments, which stay segments where they are behind the octets that are there.
    #[inline(never)] // nearly every message has one slice
    fn join_gapped(&mut self, mut rest: Self) {
        if let (Pieces::One(Piece::Octets(slice)), Pieces::Gapped(behind)) =
            (&self.pieces, &mut rest.pieces)
            && behind.prepend(slice)
        {
            rest.length += self.length;
            *self = rest;
            return;
        }
        rest.pieces.for_each(|piece| self.join_piece(piece));
    }

    fn join_small(&mut self, octets: &[u8]) {
        count_copied(octets.len());
        if let Some(Piece::Octets(last)) = self.pieces.last_mut()
            && last.append(octets)
        {
            self.length += octets.len();
            return;
        }
        let mut block = Unshared::zeroed(GATHERED);
        block[..octets.len()].copy_from_slice(octets);
        self.append_piece(Piece::Octets(Slice::new(block, 0, octets.len())));
    }

    /// Copies the first `octets` octets, which are in several pieces, into one.
    #[cold]
    fn gather(&mut self, octets: usize) -> Option<()> {
        if self.length < octets {
            return None;
        }
        let end = HEADER_PIECE + octets;
        let mut block = Unshared::zeroed(end);
        if self.copy_to(&mut block[HEADER_PIECE..]) < octets {
            return None; // a region is among them
        }
        self.advance(octets);
        self.push_piece(Piece::Octets(Slice::new(block, HEADER_PIECE, end)));
        Some(())
    }

    /// Does [`Message::front`] where the octets may be in several pieces.
    #[inline(never)]
    fn front_of_pieces(&mut self, octets: usize) -> Option<&[u8]> {
        let first = match &self.pieces {
            Pieces::Headed(short, _) => short.len(),
            Pieces::Gapped(gapped) => gapped.first().len(),
            pieces => pieces.first().map_or(0, Piece::len),
        };
        if first < octets {
            self.gather(octets)?;
        }
        match &self.pieces {
            Pieces::Headed(short, _) => short.octets().get(..octets),
            Pieces::Gapped(gapped) => gapped.first().get(..octets),
            pieces => match pieces.first() {
                Some(Piece::Octets(slice)) => slice.octets().get(..octets),
                _ => (octets == 0).then_some(&[]), // a region is not read then
            },
        }
    }

    /// Does [`Message::reclaim`] where there are several pieces.
    #[inline(never)] // nearly every message has one slice
    fn reclaim_pieces(self, pool: &Pool<Self>) {
        self.pieces.give(pool);
    }

    /// Prepends a piece that has headroom for `octets` octets, and no octets yet.
    #[cold]
    fn make_headroom(&mut self, octets: usize) {
        let room = HEADER_PIECE.max(octets);
        self.push_piece(Piece::Octets(Slice::new(Unshared::zeroed(room), room, room)));
    }
}

impl Message for BufferTree {
    const HOLDS_REGIONS: bool = true;
    const SHARES: bool = true;
    type Block = Unshared;

    fn with_headroom(headroom: usize, payload: &[u8]) -> Self {
        // What is written anyway is not cleared before.
        let end = headroom + payload.len();
        let mut octets = Vec::with_capacity(end);
        octets.resize(headroom, 0);
        octets.extend_from_slice(payload);
        count_copied(payload.len());
        Self::from_block(octets.into(), headroom, end)
    }

    #[inline]
    fn from_block(block: Unshared, start: usize, end: usize) -> Self {
        Self::of_slice(Slice::new(block, start, end))
    }

    fn from_region(region: Region) -> Result<Self, Region> {
        let mut message = BufferTree::default();
        if region.length > 0 {
            message.append_piece(Piece::Region(region));
        }
        Ok(message)
    }

    #[inline]
    fn len(&self) -> usize {
        self.length
    }

    #[inline]
    fn front(&mut self, octets: usize) -> Option<&[u8]> {
        match &self.pieces {
            Pieces::One(Piece::Octets(slice)) if octets <= slice.len() => {}
            Pieces::Gapped(gapped) if octets <= gapped.first().len() => {}
            _ => return self.front_of_pieces(octets),
        }
        match &self.pieces {
            Pieces::One(Piece::Octets(slice)) => slice.octets().get(..octets),
            Pieces::Gapped(gapped) => gapped.first().get(..octets),
            _ => unreachable!("it was the line before"),
        }
    }

    #[inline]
    fn push_front(&mut self, octets: usize) -> &mut [u8] {
        if octets == 0 {
            return &mut []; // no piece is empty
        }
        let has_headroom = match &self.pieces {
            Pieces::One(Piece::Octets(slice)) => slice.has_headroom(octets),
            Pieces::Gapped(gapped) => gapped.has_headroom(octets),
            pieces => {
                matches!(pieces.first(), Some(Piece::Octets(slice)) if slice.has_headroom(octets))
            }
        };
        if !has_headroom {
            self.pieces.head(octets);
            if !matches!(&self.pieces, Pieces::Headed(short, _) if short.has_headroom(octets)) {
                self.make_headroom(octets);
            }
        }
        self.length += octets;
        match &mut self.pieces {
            Pieces::Headed(short, _) => short.push_front(octets),
            Pieces::Gapped(gapped) => gapped.push_front(octets),
            pieces => match pieces.first_mut() {
                Some(Piece::Octets(slice)) => slice.push_front(octets),
                _ => unreachable!("the first piece holds octets since the lines above"),
            },
        }
    }

    fn unshared(&mut self) -> Option<&mut [u8]> {
        self.pieces.unshared(self.length)
    }

    #[inline]
    fn segments_mut(&mut self) -> SegmentsMut<'_> {
        match &mut self.pieces {
            Pieces::Gapped(gapped) => gapped.segments_mut(),
            pieces => pieces
                .unshared(self.length)
                .map_or_else(SegmentsMut::default, SegmentsMut::contiguous),
        }
    }

    #[inline]
    fn messages(&self, octets: usize) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        Messages::of(Leaves::of(&self.pieces), self.length, octets)
    }

    #[inline]
    fn advance(&mut self, octets: usize) {
        assert!(octets <= self.length, "advance within the length");
        self.length -= octets;
        match &mut self.pieces {
            Pieces::One(Piece::Octets(slice)) => slice.advance(octets),
            pieces => pieces.advance(octets),
        }
    }

    #[inline]
    fn truncate(&mut self, octets: usize) {
        let mut beyond = self.length.saturating_sub(octets);
        self.length -= beyond;
        match &mut self.pieces {
            Pieces::One(Piece::Octets(slice)) => return slice.truncate(self.length),
            Pieces::Headed(short, slice) if short.len() < self.length => {
                return slice.truncate(self.length - short.len());
            }
            Pieces::Gapped(gapped) if beyond > 0 && self.length > 0 => {
                gapped.truncate(self.length);
                return self.pieces.settle();
            }
            _ if beyond > 0 => self.pieces.list(),
            _ => return,
        }
        while beyond > 0 {
            let last = self.pieces.last_mut().expect("as long as its pieces");
            let length = last.len();
            if beyond < length {
                return last.truncate(length - beyond);
            }
            beyond -= length;
            self.pieces.pop_last();
        }
    }

    #[inline]
    fn split_to(&mut self, mut octets: usize) -> Self {
        assert!(octets <= self.length, "split within the length");
        let mut head = BufferTree::default();
        if octets == 0 {
            return head; // it would hold the block for nothing
        }
        if octets == self.length {
            return mem::take(self);
        }
        self.length -= octets;
        if let Pieces::One(Piece::Octets(slice)) = &mut self.pieces {
            return Self::of_slice(slice.split_to(octets));
        }
        if let Pieces::Headed(short, slice) = &mut self.pieces
            && octets > short.len()
        {
            head.pieces = Pieces::Headed(*short, slice.split_to(octets - short.len()));
            head.length = octets;
            self.pieces.behead();
            return head;
        }
        if let Pieces::Gapped(gapped) = &mut self.pieces {
            let mut pieces = Pieces::Gapped(gapped.split_to(octets));
            pieces.settle();
            self.pieces.settle();
            return BufferTree { length: octets, pieces };
        }
        self.pieces.list();
        while octets > 0 {
            let mut first = self.pieces.pop_first().expect("as long as its pieces");
            if octets < first.len() {
                head.append_piece(first.split_to(octets));
                self.pieces.push_first(first);
                break;
            }
            octets -= first.len();
            head.append_piece(first);
        }
        head
    }

    fn join(&mut self, rest: Self) {
        if let (Pieces::Many(pieces), Pieces::One(Piece::Octets(slice))) =
            (&mut self.pieces, &rest.pieces)
            && slice.len() > SMALL_PIECE
            && let Pieces::One(piece) = rest.pieces
        {
            self.length += rest.length;
            pieces.push_back(piece);
        } else if self.is_empty() {
            *self = rest;
        } else if let (Pieces::One(Piece::Octets(slice)), Pieces::One(Piece::Octets(behind))) =
            (&mut self.pieces, &rest.pieces)
            && slice.extend(behind)
        {
            self.length += rest.length;
        } else if matches!(rest.pieces, Pieces::Gapped(_)) {
            self.join_gapped(rest);
        } else if !rest.is_empty() {
            rest.pieces.for_each(|piece| self.join_piece(piece));
        }
    }

    #[inline]
    fn take(&mut self) -> Self {
        mem::take(self)
    }

    #[inline]
    fn drop_gaps(&mut self, layout: &SegmentLayout) {
        // One description of all segments, and not a list of them.
        if let Pieces::One(Piece::Octets(packets)) = &self.pieces
            && layout.octets(1) > SMALL_PIECE
            && let Some(cursor) = Cursor::new(packets.place(), layout)
            && let Pieces::One(Piece::Octets(packets)) = mem::take(&mut self.pieces)
        {
            self.length = cursor.all_octets();
            self.pieces = Pieces::Gapped(Gapped::new(packets, cursor));
            return self.pieces.settle();
        }
        if let Pieces::Gapped(gapped) = &mut self.pieces
            && let Some(length) = gapped.drop_gaps(layout)
        {
            self.length = length;
            return;
        }
        split_segments(self, layout);
    }

    fn strip_each(&mut self, octets: usize, header: &[u8]) -> bool {
        let Pieces::Gapped(gapped) = &mut self.pieces else { return false };
        let stripped = gapped.strip_each(octets, self.length, header);
        if stripped {
            self.length -= self.length / octets * header.len();
        }
        stripped
    }

    fn push_each(&mut self, octets: usize, header: &[u8]) -> bool {
        let Pieces::Gapped(gapped) = &mut self.pieces else { return false };
        let pushed = gapped.push_each(octets, self.length, header);
        if pushed {
            self.length += self.length / octets * header.len();
        }
        pushed
    }

    #[inline]
    fn with_gaps(&self, before: usize, count: usize) -> Option<Self> {
        match &self.pieces {
            Pieces::Gapped(gapped) => gapped.with_gaps(before, count).map(Self::of_slice),
            _ => None,
        }
    }

    #[inline]
    fn share(&self) -> Self {
        self.clone()
    }

    #[inline]
    fn behind(&mut self, header: &[u8]) -> Self {
        if let Pieces::One(Piece::Octets(slice)) = &mut self.pieces
            && !slice.is_empty()
            && !header.is_empty()
        {
            let length = header.len() + self.length;
            if slice.has_headroom(header.len()) {
                return BufferTree {
                    length,
                    pieces: Pieces::One(Piece::Octets(slice.behind(header))),
                };
            }
            // The headroom of what others hold too is not written: the header is in the message.
            if Short::EMPTY.has_headroom(header.len()) {
                let mut packet =
                    BufferTree { length, pieces: Pieces::Headed(Short::EMPTY, slice.clone()) };
                // In its place: octets that were just written are not read back to be moved.
                if let Pieces::Headed(short, _) = &mut packet.pieces {
                    short.push_front(header.len()).copy_from_slice(header);
                }
                return packet;
            }
        }
        self.push_front(header.len()).copy_from_slice(header);
        let packet = self.share();
        self.advance(header.len());
        packet
    }

    #[inline]
    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        // A message without octets keeps a block, and has no leaf.
        if self.is_empty() { Leaves::Headed(None, None) } else { Leaves::of(&self.pieces) }
    }

    #[inline]
    fn copy_to(&self, octets: &mut [u8]) -> usize {
        let Pieces::One(Piece::Octets(slice)) = &self.pieces else {
            return copy_leaves(self, octets);
        };
        let length = slice.len().min(octets.len());
        octets[..length].copy_from_slice(&slice.octets()[..length]);
        count_copied(length);
        length
    }

    #[inline]
    fn reclaim(self, pool: &Pool<Self>) {
        if !matches!(&self.pieces, Pieces::One(Piece::Octets(_)) | Pieces::Headed(..)) {
            return self.reclaim_pieces(pool);
        }
        if let Pieces::One(Piece::Octets(slice)) | Pieces::Headed(_, slice) = self.pieces
            && let Some(block) = slice.into_block()
        {
            pool.give(block);
        }
    }

    fn into_blocks(self, take: impl FnMut(Unshared)) {
        self.pieces.into_blocks(take);
    }
}
