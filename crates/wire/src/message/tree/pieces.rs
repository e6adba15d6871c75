//! The pieces of a rope.

use alloc::collections::VecDeque;
use core::mem;
use core::slice;

use super::super::{Leaf, Pool, Region};
use super::BufferTree;
use super::gapped::Gapped;
use super::short::Short;
use super::slice::{Slice, Unshared};

/// One piece.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Octets(Slice),
    Region(Region),
}

impl Piece {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Piece::Octets(slice) => slice.len(),
            Piece::Region(region) => region.length,
        }
    }

    #[inline]
    pub(super) fn leaf(&self) -> Leaf<'_> {
        match self {
            Piece::Octets(slice) => Leaf::Octets(slice.octets()),
            Piece::Region(region) => Leaf::Region(region),
        }
    }

    pub(super) fn advance(&mut self, octets: usize) {
        match self {
            Piece::Octets(slice) => slice.advance(octets),
            Piece::Region(region) => {
                region.offset += octets as u64;
                region.length -= octets;
            }
        }
    }

    pub(super) fn truncate(&mut self, octets: usize) {
        match self {
            Piece::Octets(slice) => slice.truncate(octets),
            Piece::Region(region) => region.length = octets,
        }
    }

    /// Returns its memory to `pool` where nobody else holds it.
    #[inline]
    pub(super) fn give(self, pool: &Pool<BufferTree>) {
        if let Piece::Octets(slice) = self
            && let Some(block) = slice.into_block()
        {
            pool.give(block);
        }
    }

    /// Splits the first `octets` octets off.
    pub(super) fn split_to(&mut self, octets: usize) -> Piece {
        let mut head = self.clone();
        head.truncate(octets);
        self.advance(octets);
        head
    }
}

/// Pieces in order. Nearly every message has one, and two are a header and a body: these need no
/// list on the heap.
#[derive(Clone, Debug, Default)]
pub(super) enum Pieces {
    #[default]
    None,
    One(Piece),
    Two([Piece; 2]),
    /// A header, of at least one octet, before a body that others may hold too.
    Headed(Short, Slice),
    /// Segments of one block, at least two.
    Gapped(Gapped),
    /// Any number: a list stays one while pieces are taken away.
    Many(VecDeque<Piece>),
}

/// The pieces that a new list has room for.
const MANY: usize = 8;

/// The headroom of a header that becomes a piece.
const HEADROOM: usize = 256;

impl Pieces {
    /// Makes pieces of a header or of segments: what is rare is written for pieces only.
    #[inline]
    pub(super) fn list(&mut self) {
        if matches!(self, Pieces::Headed(..) | Pieces::Gapped(_)) {
            self.make_list();
        }
    }

    #[cold]
    fn make_list(&mut self) {
        let mut pieces = Pieces::None;
        mem::take(self).for_each(|piece| pieces.push_last(piece));
        *self = pieces;
    }

    /// Makes room for `octets` octets of a header before a single slice, if it is not empty.
    #[inline]
    pub(super) fn head(&mut self, octets: usize) {
        if matches!(self, Pieces::One(Piece::Octets(slice)) if !slice.is_empty())
            && Short::EMPTY.has_headroom(octets)
            && let Pieces::One(Piece::Octets(slice)) = mem::take(self)
        {
            *self = Pieces::Headed(Short::EMPTY, slice);
        }
    }

    /// Drops the header.
    #[inline]
    pub(super) fn behead(&mut self) {
        if let Pieces::Headed(..) = self
            && let Pieces::Headed(_, slice) = mem::take(self)
        {
            *self = Pieces::One(Piece::Octets(slice));
        }
    }

    /// Makes a piece of a segment that is the only one left.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Pieces::Gapped(gapped) = self
            && gapped.is_single()
            && let Pieces::Gapped(gapped) = mem::take(self)
        {
            *self = Pieces::One(Piece::Octets(gapped.into_first()));
        }
    }

    /// Drops the first `octets` octets, of which there are as many.
    #[inline(never)] // nearly every message has one slice, and is not treated here
    pub(super) fn advance(&mut self, mut octets: usize) {
        if let Pieces::Headed(short, _) = self {
            let header = short.len();
            if octets < header {
                return short.advance(octets);
            }
            octets -= header;
            self.behead();
        }
        if let Pieces::Gapped(gapped) = self {
            gapped.advance(octets);
            return self.settle();
        }
        while octets > 0 {
            let first = self.first_mut().expect("as long as its pieces");
            let length = first.len();
            if octets < length {
                return first.advance(octets);
            }
            octets -= length;
            self.pop_first();
        }
    }

    /// Lends its `octets` octets, where they are one slice that nobody else holds.
    #[inline]
    pub(super) fn unshared(&mut self, octets: usize) -> Option<&mut [u8]> {
        match self.first_mut() {
            _ if octets == 0 => Some(&mut []),
            Some(Piece::Octets(slice)) if slice.len() == octets => slice.octets_mut(),
            _ => None,
        }
    }

    /// Returns the pieces in two slices, in order.
    #[inline]
    pub(super) fn as_slices(&self) -> (&[Piece], &[Piece]) {
        match self {
            Pieces::None => (&[], &[]),
            Pieces::One(piece) => (slice::from_ref(piece), &[]),
            Pieces::Two(pieces) => (pieces, &[]),
            Pieces::Many(pieces) => pieces.as_slices(),
            Pieces::Headed(..) | Pieces::Gapped(_) => (&[], &[]),
        }
    }

    #[inline]
    pub(super) fn for_each(self, mut take: impl FnMut(Piece)) {
        match self {
            Pieces::None => {}
            Pieces::One(piece) => take(piece),
            Pieces::Two([first, second]) => {
                take(first);
                take(second);
            }
            Pieces::Many(pieces) => pieces.into_iter().for_each(take),
            Pieces::Headed(short, slice) => {
                take(Piece::Octets(short.into_slice(HEADROOM)));
                take(Piece::Octets(slice));
            }
            Pieces::Gapped(gapped) => gapped.for_each(|slice| take(Piece::Octets(slice))),
        }
    }

    /// Calls `take` with the memory of each where nobody else holds it.
    pub(super) fn into_blocks(self, mut take: impl FnMut(Unshared)) {
        match self {
            Pieces::Gapped(gapped) => gapped.into_block().into_iter().for_each(take),
            pieces => pieces.for_each(|piece| {
                if let Piece::Octets(slice) = piece {
                    slice.into_block().into_iter().for_each(&mut take);
                }
            }),
        }
    }

    /// Returns the memory of each to `pool` where nobody else holds it.
    pub(super) fn give(self, pool: &Pool<BufferTree>) {
        match self {
            Pieces::Gapped(gapped) => {
                gapped.into_block().into_iter().for_each(|block| pool.give(block))
            }
            pieces => pieces.for_each(|piece| piece.give(pool)),
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Piece> {
        match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Two([first, _]) => Some(first),
            Pieces::Many(pieces) => pieces.front(),
            Pieces::Headed(..) | Pieces::Gapped(_) => None,
        }
    }

    #[inline]
    pub(super) fn first_mut(&mut self) -> Option<&mut Piece> {
        match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Two([first, _]) => Some(first),
            Pieces::Many(pieces) => pieces.front_mut(),
            Pieces::Headed(..) | Pieces::Gapped(_) => None,
        }
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Piece> {
        match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Two([_, last]) => Some(last),
            Pieces::Many(pieces) => pieces.back_mut(),
            Pieces::Headed(..) | Pieces::Gapped(_) => None,
        }
    }

    #[inline]
    pub(super) fn push_first(&mut self, piece: Piece) {
        self.list();
        *self = match mem::take(self) {
            Pieces::None => Pieces::One(piece),
            Pieces::One(second) => Pieces::Two([piece, second]),
            Pieces::Two([second, third]) => Pieces::Many([piece, second, third].into()),
            Pieces::Many(mut pieces) => {
                pieces.push_front(piece);
                Pieces::Many(pieces)
            }
            Pieces::Headed(..) | Pieces::Gapped(_) => {
                unreachable!("it is a list since the line above")
            }
        };
    }

    #[inline]
    pub(super) fn push_last(&mut self, piece: Piece) {
        self.list();
        if let Pieces::Many(pieces) = self {
            return pieces.push_back(piece);
        }
        *self = match mem::take(self) {
            Pieces::None => Pieces::One(piece),
            Pieces::One(first) => Pieces::Two([first, piece]),
            Pieces::Two(two) => {
                let mut pieces = VecDeque::with_capacity(MANY);
                pieces.extend(two);
                pieces.push_back(piece);
                Pieces::Many(pieces)
            }
            Pieces::Many(_) => unreachable!("that was looked at first"),
            Pieces::Headed(..) | Pieces::Gapped(_) => {
                unreachable!("it is a list since the line above")
            }
        };
    }

    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<Piece> {
        match self {
            Pieces::Many(pieces) => pieces.pop_front(),
            _ => match mem::take(self) {
                Pieces::One(piece) => Some(piece),
                Pieces::Two([first, second]) => {
                    *self = Pieces::One(second);
                    Some(first)
                }
                _ => None,
            },
        }
    }

    pub(super) fn pop_last(&mut self) -> Option<Piece> {
        match self {
            Pieces::Many(pieces) => pieces.pop_back(),
            _ => match mem::take(self) {
                Pieces::One(piece) => Some(piece),
                Pieces::Two([first, second]) => {
                    *self = Pieces::One(first);
                    Some(second)
                }
                _ => None,
            },
        }
    }
}
