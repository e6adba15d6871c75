//! Iterates over the octets of a rope.

use core::slice::Iter;

use super::gapped::Segments;
use super::pieces::{Piece, Pieces};
use crate::message::Leaf;

/// The leaves of a message.
#[derive(Clone)]
pub(super) enum Leaves<'a> {
    /// Of a list in two slices.
    Listed(Iter<'a, Piece>, Iter<'a, Piece>),
    /// A header and a body, or what is left of them.
    Headed(Option<&'a [u8]>, Option<&'a [u8]>),
    Gapped(Segments<'a>),
}

impl<'a> Leaves<'a> {
    #[inline]
    pub(super) fn of(pieces: &'a Pieces) -> Self {
        match pieces {
            Pieces::Headed(short, slice) => {
                Leaves::Headed(Some(short.octets()), Some(slice.octets()))
            }
            Pieces::Gapped(gapped) => Leaves::Gapped(gapped.segments()),
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
            Leaves::Listed(first, second) => {
                first.next().or_else(|| second.next()).map(Piece::leaf)
            }
            Leaves::Headed(header, body) => header.take().or_else(|| body.take()).map(Leaf::Octets),
            Leaves::Gapped(segments) => segments.next().map(Leaf::Octets),
        }
    }

    /// Takes all that are left: the kind of pieces is asked once.
    #[inline]
    fn fold<B, F: FnMut(B, Leaf<'a>) -> B>(self, begin: B, take: F) -> B {
        match self {
            Leaves::Listed(first, second) => first.chain(second).map(Piece::leaf).fold(begin, take),
            Leaves::Headed(header, body) => {
                header.into_iter().chain(body).map(Leaf::Octets).fold(begin, take)
            }
            Leaves::Gapped(segments) => segments.map(Leaf::Octets).fold(begin, take),
        }
    }
}

/// Iterates over the messages of one length that a rope holds; the last may be shorter.
pub(super) struct Messages<'a> {
    next: Octets<'a>,
    each: usize,
}

/// Iterates over the next octets of a rope, piece by piece, up to a region.
#[derive(Clone)]
pub(super) struct Octets<'a> {
    /// The next leaf, of which `passed` octets are not among them, and those behind it.
    leaf: Option<Leaf<'a>>,
    passed: usize,
    leaves: Leaves<'a>,
    /// How many octets are left.
    left: usize,
}

impl<'a> Messages<'a> {
    /// Returns the messages of `each` octets in leaves of `octets` octets.
    #[inline]
    pub(super) fn of(mut leaves: Leaves<'a>, octets: usize, each: usize) -> Self {
        assert!(each > 0, "a message has octets");
        Messages { next: Octets { leaf: leaves.next(), passed: 0, leaves, left: octets }, each }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Octets<'a>;

    #[inline]
    fn next(&mut self) -> Option<Octets<'a>> {
        if self.next.left == 0 {
            return None;
        }
        let left = self.each.min(self.next.left);
        let message = Octets { left, ..self.next.clone() };
        self.next.pass(left);
        Some(message)
    }
}

impl Octets<'_> {
    /// Drops the first `octets` octets, of which there are as many.
    #[inline]
    fn pass(&mut self, octets: usize) {
        self.left -= octets;
        self.passed += octets;
        while let Some(leaf) = &self.leaf
            && let Some(passed) = self.passed.checked_sub(leaf.len())
        {
            (self.leaf, self.passed) = (self.leaves.next(), passed);
        }
    }
}

impl<'a> Iterator for Octets<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let Some(Leaf::Octets(leaf)) = self.leaf else { return None };
        if self.left == 0 {
            return None;
        }
        let end = leaf.len().min(self.passed + self.left);
        let piece = &leaf[self.passed..end];
        self.pass(piece.len());
        Some(piece)
    }
}
