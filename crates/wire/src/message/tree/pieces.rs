//! The pieces of a rope.

use alloc::collections::VecDeque;
use core::mem;
use core::slice;

use super::super::Region;
use super::short::Short;
use super::slice::Slice;

/// One piece.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Octets(Slice),
    Short(Short),
    Region(Region),
}

impl Piece {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Piece::Octets(slice) => slice.len(),
            Piece::Short(short) => short.len(),
            Piece::Region(region) => region.length,
        }
    }

    /// Its octets; `None` where they are in a file.
    #[inline]
    pub(super) fn octets(&self) -> Option<&[u8]> {
        match self {
            Piece::Octets(slice) => Some(slice.octets()),
            Piece::Short(short) => Some(short.octets()),
            Piece::Region(_) => None,
        }
    }

    /// Whether it can grow to the front in place.
    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        match self {
            Piece::Octets(slice) => slice.has_headroom(octets),
            Piece::Short(short) => short.has_headroom(octets),
            Piece::Region(_) => false,
        }
    }

    pub(super) fn advance(&mut self, octets: usize) {
        match self {
            Piece::Octets(slice) => slice.advance(octets),
            Piece::Short(short) => short.advance(octets),
            Piece::Region(region) => {
                region.offset += octets as u64;
                region.length -= octets;
            }
        }
    }

    pub(super) fn truncate(&mut self, octets: usize) {
        match self {
            Piece::Octets(slice) => slice.truncate(octets),
            Piece::Short(short) => short.truncate(octets),
            Piece::Region(region) => region.length = octets,
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

/// Pieces in order. One is what nearly every message has, two are a header and a body: these need no list on the heap.
#[derive(Clone, Debug, Default)]
pub(super) enum Pieces {
    #[default]
    None,
    One(Piece),
    Two([Piece; 2]),
    /// Any number: a list stays one while pieces are taken away.
    Many(VecDeque<Piece>),
}

impl Pieces {
    /// In two runs, the first before the second.
    #[inline]
    pub(super) fn as_slices(&self) -> (&[Piece], &[Piece]) {
        match self {
            Pieces::None => (&[], &[]),
            Pieces::One(piece) => (slice::from_ref(piece), &[]),
            Pieces::Two(pieces) => (pieces, &[]),
            Pieces::Many(pieces) => pieces.as_slices(),
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
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Piece> {
        match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Two([first, _]) => Some(first),
            Pieces::Many(pieces) => pieces.front(),
        }
    }

    #[inline]
    pub(super) fn first_mut(&mut self) -> Option<&mut Piece> {
        match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Two([first, _]) => Some(first),
            Pieces::Many(pieces) => pieces.front_mut(),
        }
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Piece> {
        match self {
            Pieces::None => None,
            Pieces::One(piece) => Some(piece),
            Pieces::Two([_, last]) => Some(last),
            Pieces::Many(pieces) => pieces.back_mut(),
        }
    }

    #[inline]
    pub(super) fn push_first(&mut self, piece: Piece) {
        *self = match mem::take(self) {
            Pieces::None => Pieces::One(piece),
            Pieces::One(second) => Pieces::Two([piece, second]),
            Pieces::Two([second, third]) => Pieces::Many([piece, second, third].into()),
            Pieces::Many(mut pieces) => {
                pieces.push_front(piece);
                Pieces::Many(pieces)
            }
        };
    }

    #[inline]
    pub(super) fn push_last(&mut self, piece: Piece) {
        *self = match mem::take(self) {
            Pieces::None => Pieces::One(piece),
            Pieces::One(first) => Pieces::Two([first, piece]),
            Pieces::Two([first, second]) => Pieces::Many([first, second, piece].into()),
            Pieces::Many(mut pieces) => {
                pieces.push_back(piece);
                Pieces::Many(pieces)
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
