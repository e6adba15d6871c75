//! What a packet carries.

use alloc::vec::Vec;

use crate::{Leaf, Message};

/// The payload of a packet, in the pieces in which it lies in memory. Its end may not be there: it is in a file.
#[derive(Clone, Default, Debug)]
pub struct Payload<'a> {
    pub(super) pieces: Vec<&'a [u8]>,
    /// Octets behind the pieces that are not here.
    pub(super) beyond: usize,
}

impl<'a> Payload<'a> {
    /// The octets of `message`, up to the first region of a file: regions are counted and never read.
    pub fn of(message: &'a impl Message) -> Self {
        let in_memory = message.leaves().map_while(|leaf| match leaf {
            Leaf::Octets(octets) => Some(octets),
            Leaf::Region(_) => None,
        });
        let mut payload = Payload { pieces: in_memory.collect(), beyond: 0 };
        payload.beyond = message.len() - payload.captured();
        payload
    }

    /// How many octets it has, here or not.
    pub fn len(&self) -> usize {
        self.captured() + self.beyond
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many octets are here.
    pub(super) fn captured(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Splits the first `octets` octets off, or all where it has no more.
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
