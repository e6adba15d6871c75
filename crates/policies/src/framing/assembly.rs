//! A message of which pieces are here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;

use stackwright_contract::Instant;
use stackwright_contract::services::Quality;
use stackwright_transport::words::{Dropped, Unit};
use stackwright_wire::{Message, Pool};

/// What a piece costs that waits for those before it, beside its octets: half of a map's node may be empty.
const ASIDE: usize = 64;

/// So many octets, if the message has as many, are asked for with the first piece: most messages are whole before they grow.
const AT_FIRST: usize = 16 << 10;

/// Pieces of one message, in any order. All have the same length but the last. Those that follow each other from the first on
/// lie in one block; what comes before its turn is kept aside.
///
/// Beyond the first 16 KiB, memory grows with what arrives, not with what a peer says will: neither an index nor a count makes
/// it grow.
pub(super) struct Assembly {
    /// The pieces before `next`.
    octets: Vec<u8>,
    next: u32,
    aside: BTreeMap<u32, Box<[u8]>>,
    octets_aside: usize,
    /// The length of a piece; 0 while only the last one is here.
    piece: usize,
    count: u32,
    pub(super) quality: Quality,
    pub(super) numbers: u64,
    /// The number after the highest of its pieces, and when the newest came.
    pub(super) upto: u64,
    pub(super) at: Instant,
}

impl Assembly {
    pub(super) fn new<M>(unit: &Unit<M>, quality: Quality) -> Self {
        Assembly {
            octets: Vec::new(),
            next: 0,
            aside: BTreeMap::new(),
            octets_aside: 0,
            piece: 0,
            count: unit.label.count,
            quality,
            numbers: 0,
            upto: 0,
            at: unit.since,
        }
    }

    /// Octets that it holds.
    pub(super) fn held(&self) -> usize {
        2 * size_of::<Self>() + self.octets.capacity() + self.octets_aside + ASIDE * self.aside.len()
    }

    /// Takes a piece; whether the message is whole.
    pub(super) fn take<M: Message>(
        &mut self,
        unit: Unit<M>,
        most: usize,
        pool: &Pool<M>,
    ) -> Result<bool, Dropped> {
        let (index, body) = (unit.label.index, unit.body);
        let last = self.count - 1;
        let fits = unit.label.count == self.count && index <= last;
        let is_here = index < self.next || self.aside.contains_key(&index);
        let right = match self.piece {
            0 => true,
            piece if index == last => body.len() <= piece,
            piece => body.len() == piece,
        };
        if !fits || is_here || !right || body.is_empty() {
            return Err(Dropped::Unjoinable);
        }
        if index != last && self.piece == 0 {
            if (body.len() as u64).saturating_mul(u64::from(last)) > most as u64
                || self.aside.get(&last).is_some_and(|last| last.len() > body.len())
            {
                return Err(Dropped::Unjoinable);
            }
            self.piece = body.len();
        }
        self.numbers += unit.span.end - unit.span.start;
        self.upto = self.upto.max(unit.span.end);
        self.at = unit.since;
        if index == self.next {
            self.reserve(body.len());
            body.each(|octets| self.octets.extend_from_slice(octets));
            while !self.aside.is_empty()
                && let Some(piece) = self.aside.remove(&self.next)
            {
                self.octets_aside -= piece.len();
                self.reserve(piece.len());
                self.octets.extend_from_slice(&piece);
            }
        } else {
            let mut piece = vec![0; body.len()].into_boxed_slice();
            body.copy_to(&mut piece);
            self.octets_aside += piece.len();
            self.aside.insert(index, piece);
        }
        body.reclaim(pool);
        Ok(self.next == self.count)
    }

    /// Makes room for the next piece, which has so many octets.
    fn reserve(&mut self, octets: usize) {
        let start = self.octets.len();
        if start + octets > self.octets.capacity() {
            // Twice as much, but no more than the whole.
            let rest = (self.count - self.next) as usize;
            let more = start.max(AT_FIRST).min(self.piece.saturating_mul(rest));
            self.octets.reserve_exact(octets.max(more));
        }
        self.next += 1;
    }

    pub(super) fn whole<M: Message>(self) -> M {
        let end = self.octets.len();
        M::from_block(M::Block::from(self.octets), 0, end)
    }
}
