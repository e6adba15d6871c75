//! The pieces of a rope, one after the other.

use core::slice::Iter;

use super::pieces::{Piece, Pieces};
use super::spaced::Parts;
use crate::message::Leaf;

/// The leaves of a message.
#[derive(Clone)]
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

/// Message by message, the octets of a rope that holds several of one length.
pub(super) struct Messages<'a> {
    next: Octets<'a>,
    /// How many octets each has, but the last.
    each: usize,
}

/// The next octets of a rope, piece by piece.
#[derive(Clone)]
pub(super) struct Octets<'a> {
    leaves: Leaves<'a>,
    /// So many octets of the first leaf are not among them, and so many are there.
    passed: usize,
    left: usize,
}

impl<'a> Messages<'a> {
    /// Of leaves of so many octets.
    #[inline]
    pub(super) fn of(leaves: Leaves<'a>, octets: usize, each: usize) -> Self {
        assert!(each > 0, "a message has octets");
        Messages { next: Octets { leaves, passed: 0, left: octets }, each }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Octets<'a>;

    #[inline]
    fn next(&mut self) -> Option<Octets<'a>> {
        if self.next.left == 0 {
            return None;
        }
        let octets = self.each.min(self.next.left);
        let message = Octets { left: octets, ..self.next.clone() };
        self.next.left -= octets;
        if self.next.left > 0 {
            self.next.pass(octets);
        }
        Some(message)
    }
}

impl<'a> Octets<'a> {
    /// So many octets are not among them any more.
    #[inline]
    fn pass(&mut self, octets: usize) {
        if self.passed == 0
            && let Leaves::Spaced(parts) = &mut self.leaves
            && parts.pass_message(octets)
        {
            return;
        }
        self.pass_leaves(octets);
    }

    #[inline(never)]
    fn pass_leaves(&mut self, octets: usize) {
        self.passed += octets;
        let mut behind = self.leaves.clone();
        while let Some(leaf) = behind.next() {
            let length = match leaf {
                Leaf::Octets(octets) => octets.len(),
                Leaf::Region(region) => region.length,
            };
            let Some(passed) = self.passed.checked_sub(length) else { break };
            (self.leaves, self.passed) = (behind.clone(), passed);
        }
    }
}

impl<'a> Iterator for Octets<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        let leaf = match &mut self.leaves {
            Leaves::Spaced(parts) => parts.next()?,
            leaves => match leaves.next()? {
                Leaf::Octets(leaf) => leaf,
                Leaf::Region(_) => {
                    self.left = 0;
                    return None;
                }
            },
        };
        let end = leaf.len().min(self.passed + self.left);
        let piece = &leaf[self.passed..end];
        self.left -= piece.len();
        self.passed = 0;
        Some(piece)
    }
}
