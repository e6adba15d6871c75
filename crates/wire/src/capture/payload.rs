//! What a packet carries.

use alloc::vec::Vec;

use crate::{Leaf, Message};

/// The payload of a packet, in the pieces in which it is in memory. Its end may be missing: it is
/// in a file.
#[derive(Clone, Default, Debug)]
pub struct Payload<'a> {
    pub(super) pieces: Vec<&'a [u8]>,
    /// The number of octets behind the pieces that are missing.
    pub(super) beyond: usize,
}

impl<'a> Payload<'a> {
    /// Returns the octets of `message` up to the first region of a file: regions are counted and
    /// never read.
    pub fn of(message: &'a impl Message) -> Self {
        let in_memory = message.leaves().map_while(|leaf| match leaf {
            Leaf::Octets(octets) => Some(octets),
            Leaf::Region(_) => None,
        });
        let mut payload = Payload { pieces: in_memory.collect(), beyond: 0 };
        payload.beyond = message.len() - payload.captured();
        payload
    }

    /// Returns its length in octets, with those that are missing.
    pub fn len(&self) -> usize {
        self.captured() + self.beyond
    }

    /// Returns whether it has no octets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of octets that are not missing.
    pub(super) fn captured(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Splits its first `octets` octets off, or all where it has no more.
    pub(super) fn split_to(&mut self, octets: usize) -> Self {
        let mut wanted = octets;
        let whole = self.pieces.iter().take_while(|piece| match wanted.checked_sub(piece.len()) {
            Some(less) => {
                wanted = less;
                true
            }
            None => false,
        });
        let whole = whole.count();
        let rest = self.pieces.split_off(whole);
        let mut first = Payload { pieces: core::mem::replace(&mut self.pieces, rest), beyond: 0 };
        if let Some(piece) = self.pieces.first_mut() {
            let (taken, rest) = piece.split_at(wanted);
            first.pieces.push(taken);
            *piece = rest;
            return first;
        }
        first.beyond = wanted.min(self.beyond);
        self.beyond -= first.beyond;
        first
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(octets: &'a [u8]) -> Self {
        Payload { pieces: alloc::vec![octets], beyond: 0 }
    }
}
