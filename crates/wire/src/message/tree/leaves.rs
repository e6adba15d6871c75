//! The pieces of a rope, one after the other.

use core::slice::Iter;

use super::pieces::{Piece, Pieces};
use super::spaced::Parts;
use crate::message::Leaf;

/// The leaves of a message.
pub(super) enum Leaves<'a> {
    /// Of a list in two runs.
    Listed(Iter<'a, Piece>, Iter<'a, Piece>),
    /// A header and a body, or what is left of them.
    Headed(Option<&'a [u8]>, Option<&'a [u8]>),
    Spaced(Parts<'a>),
}

impl<'a> Leaves<'a> {
    #[inline]
    pub(super) fn of(pieces: &'a Pieces) -> Self {
        match pieces {
            Pieces::Headed(short, slice) => Leaves::Headed(Some(short.octets()), Some(slice.octets())),
            Pieces::Spaced(spaced) => Leaves::Spaced(spaced.parts()),
            pieces => {
                let (first, second) = pieces.as_slices();
                Leaves::Listed(first.iter(), second.iter())
            }
        }
    }
}

impl<'a> Iterator for Leaves<'a> {
    type Item = Leaf<'a>;

    #[inline]
    fn next(&mut self) -> Option<Leaf<'a>> {
        match self {
            Leaves::Listed(first, second) => first.next().or_else(|| second.next()).map(Piece::leaf),
            Leaves::Headed(header, body) => header.take().or_else(|| body.take()).map(Leaf::Octets),
            Leaves::Spaced(parts) => parts.next().map(Leaf::Octets),
        }
    }

    /// All that are left: what they are is asked once.
    #[inline]
    fn fold<B, F: FnMut(B, Leaf<'a>) -> B>(self, begin: B, take: F) -> B {
        match self {
            Leaves::Listed(first, second) => first.chain(second).map(Piece::leaf).fold(begin, take),
            Leaves::Headed(header, body) => {
                header.into_iter().chain(body).map(Leaf::Octets).fold(begin, take)
            }
            Leaves::Spaced(parts) => parts.map(Leaf::Octets).fold(begin, take),
        }
    }
}
