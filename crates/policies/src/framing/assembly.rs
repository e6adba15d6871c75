//! A message of which pieces are here.

use alloc::vec;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::Quality;
use stackwright_transport::words::{Dropped, Unit};
use stackwright_wire::{Message, Pool};

/// Pieces of one message, in any order. All have the same length but the last, so each has its place as soon as that length
/// is known, and nothing is copied twice.
///
/// Memory grows with what arrives, not with what a peer says will.
pub(super) struct Assembly<M> {
    octets: Vec<u8>,
    /// The length of a piece; 0 while only the last one is here.
    piece: usize,
    /// The last one, until it is known where it belongs.
    last: Option<M>,
    count: u32,
    /// A bit for each piece that is here.
    here: Vec<u64>,
    missing: u32,
    end: usize,
    pub(super) quality: Quality,
    pub(super) numbers: u64,
    /// The number after the highest of its pieces, and when the newest came.
    pub(super) upto: u64,
    pub(super) at: Instant,
}

impl<M: Message> Assembly<M> {
    pub(super) fn new(unit: &Unit<M>, quality: Quality) -> Self {
        let count = unit.label.count;
        Assembly {
            octets: Vec::new(),
            piece: 0,
            last: None,
            count,
            here: vec![0; (count as usize).div_ceil(64)],
            missing: count,
            end: 0,
            quality,
            numbers: 0,
            upto: 0,
            at: unit.since,
        }
    }

    /// Octets that it holds.
    pub(super) fn held(&self) -> usize {
        self.octets.len() + 8 * self.here.len()
    }

    /// Takes a piece; whether the message is whole.
    pub(super) fn take(&mut self, unit: Unit<M>, most: usize, pool: &Pool<M>) -> Result<bool, Dropped> {
        let (index, body) = (unit.label.index, unit.body);
        let (word, bit) = ((index / 64) as usize, 1 << (index % 64));
        let fits = unit.label.count == self.count && index < self.count && self.here[word] & bit == 0;
        let is_last = index + 1 == self.count;
        let right = if is_last {
            body.len() <= self.piece || self.piece == 0
        } else {
            self.piece == body.len() || self.piece == 0
        };
        if !fits || !right || body.is_empty() {
            return Err(Dropped::Unjoinable);
        }
        if !is_last && self.piece == 0 {
            if (body.len() as u64).saturating_mul(u64::from(self.count - 1)) > most as u64
                || self.last.as_ref().is_some_and(|last| last.len() > body.len())
            {
                return Err(Dropped::Unjoinable);
            }
            self.piece = body.len();
        }
        self.here[word] |= bit;
        self.missing -= 1;
        self.numbers += unit.span.end - unit.span.start;
        self.upto = self.upto.max(unit.span.end);
        self.at = unit.since;
        if self.piece == 0 {
            self.last = Some(body);
            return Ok(false);
        }
        self.place(index, body, pool);
        if let Some(last) = self.last.take() {
            self.place(self.count - 1, last, pool);
        }
        Ok(self.missing == 0)
    }

    fn place(&mut self, index: u32, body: M, pool: &Pool<M>) {
        let start = index as usize * self.piece;
        let end = start + body.len();
        if self.octets.len() < end {
            self.octets.resize(end, 0);
        }
        body.copy_to(&mut self.octets[start..end]);
        if index + 1 == self.count {
            self.end = end;
        }
        body.reclaim(pool);
    }

    pub(super) fn whole(self) -> M {
        let end = self.end;
        M::from_block(M::Block::from(self.octets), 0, end)
    }
}
