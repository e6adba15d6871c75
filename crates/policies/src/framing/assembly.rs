//! A message of which some pieces have arrived.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;
use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_contract::services::MessageProperties;
use stackwright_transport::words::{Dropped, UnitHeader};
use stackwright_wire::{Message, Pool};

/// Octets of memory that an early piece costs beside its own: half of a map's node may be empty.
pub(super) const ASIDE: usize = 80;

/// The longest piece and the longest message, in octets.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) piece: usize,
    pub(super) message: usize,
}

impl Bounds {
    /// Returns the most octets that a message of `count` pieces can have, of which all but the last
    /// have `piece`; 0 where that length is not known yet.
    #[inline]
    pub(super) fn whole(self, count: u32, piece: usize) -> usize {
        let piece = if piece == 0 { self.piece } else { piece };
        piece.saturating_mul(count as usize).min(self.message)
    }
}

/// Returns the number after the last piece of a message of `count` pieces, one of which has
/// `number`.
pub(super) fn message_upto(number: u64, index: u32, count: u32) -> u64 {
    number.saturating_sub(index.into()).saturating_add(count.into())
}

/// Octets that are reserved with the first piece, unless the message is shorter: most messages are
/// whole before they grow.
const AT_FIRST: usize = 16 << 10;

/// Messages up to this length, in octets, stay in the pieces in which they came, so that nothing is
/// copied. A longer one would have too long a list of pieces.
const IN_PIECES: usize = 64 << 10;

/// Collects the pieces of one message, in any order. All have the same length but the last. Those
/// that follow each other from the first on are put together; an early piece is kept aside.
///
/// Beyond the first 16 KiB, memory grows with what arrives, not with what a peer announces: neither
/// an index nor a count makes it grow.
pub(super) struct Assembly<M> {
    /// The pieces before `next`.
    begin: Begin<M>,
    next: u32,
    /// The sequence number of the newest of those.
    newest: u64,
    /// The early pieces by index, each with the number of its first packet.
    aside: BTreeMap<u32, (u64, Box<[u8]>)>,
    octets_aside: usize,
    /// The length of a piece; 0 while only the last one is here.
    piece: usize,
    count: u32,
    pub(super) properties: MessageProperties,
    pub(super) numbers: u64,
    /// The number after the highest of its pieces, and when the newest arrived.
    pub(super) upto: u64,
    pub(super) at: Instant,
    /// The lifetime of the message in microseconds, as its pieces say.
    pub(super) lifetime: Option<NonZeroU32>,
}

/// Pieces that follow each other.
enum Begin<M> {
    /// As they came.
    Pieces(M),
    /// In one block.
    Block(Vec<u8>),
}

impl<M> Assembly<M> {
    /// Octets of memory that an incomplete message costs beside its own: half of a map's node may
    /// be empty.
    pub(super) const BESIDE: usize = 2 * size_of::<Self>();
}

impl<M: Message> Assembly<M> {
    pub(super) fn new(unit: &UnitHeader, properties: MessageProperties) -> Self {
        Assembly {
            begin: Begin::Block(Vec::new()),
            next: 0,
            newest: 0,
            aside: BTreeMap::new(),
            octets_aside: 0,
            piece: 0,
            count: unit.label.count,
            properties,
            numbers: 0,
            upto: 0,
            at: unit.since,
            lifetime: None,
        }
    }

    /// Returns how many octets are reserved for it: the most that the whole can have, and what
    /// tells where its pieces are.
    pub(super) fn held(&self, bounds: Bounds) -> usize {
        let octets = bounds.whole(self.count, self.piece);
        Self::BESIDE + octets.max(self.octets_aside) + ASIDE * self.aside.len()
    }

    /// Returns whether the pieces belong to this message, and none of them arrived before. The
    /// pieces of a message are numbered in their order: a piece that is out of order belongs to
    /// another message with the same message number, sent earlier or later.
    pub(super) fn admits(&self, unit: &UnitHeader, octets: usize) -> bool {
        let (index, last) = (unit.label.index, self.count - 1);
        let ends = u64::from(index) + u64::from(unit.count) > u64::from(last);
        let right = match self.piece {
            0 if index == last => true,
            0 => ends || self.aside.get(&last).is_none_or(|(_, last)| last.len() <= unit.piece),
            piece if index == last => octets <= piece,
            piece => unit.piece == piece,
        };
        unit.label.count == self.count
            && index <= last
            && !self.holds(index, unit.count)
            && self.is_in_order(index, unit.span.start)
            && right
            && octets > 0
    }

    /// Returns whether pieces that it does not [admit](Assembly::admits) belong to a message that
    /// was sent later: the rest of this one has expired.
    pub(super) fn is_replaced_by(&self, unit: &UnitHeader) -> bool {
        unit.span.start >= self.upto
    }

    /// Returns the number after its last piece, where the numbers of its pieces follow each other.
    pub(super) fn message_upto(&self) -> u64 {
        let first = self.aside.first_key_value().map(|(index, (number, _))| (*number, *index));
        // The newest piece may have come with others, and has the first number of those.
        let (number, index) = first.unwrap_or((self.upto.saturating_sub(1), self.next.max(1) - 1));
        message_upto(number, index, self.count)
    }

    /// Returns whether one of the `count` pieces from `index` on is here.
    fn holds(&self, index: u32, count: u32) -> bool {
        let before = || self.aside.range(..index + count).next_back();
        index < self.next
            || before()
                .is_some_and(|(first, (_, octets))| first + self.pieces(octets.len()) > index)
    }

    /// Returns whether the pieces before `index` have lower sequence numbers than `number`, and
    /// those behind it higher ones.
    fn is_in_order(&self, index: u32, number: u64) -> bool {
        let before = self.aside.range(..index).next_back().map(|(_, (before, _))| *before);
        let before = before.or((self.next > 0).then_some(self.newest));
        let behind = self.aside.range(index..).next().map(|(_, (behind, _))| *behind);
        before.is_none_or(|before| before < number) && behind.is_none_or(|behind| number < behind)
    }

    /// Returns how many pieces `octets` octets are.
    fn pieces(&self, octets: usize) -> u32 {
        if self.piece == 0 { 1 } else { octets.div_ceil(self.piece) as u32 }
    }

    /// Takes pieces that it [admits](Assembly::admits), and returns whether the message is whole.
    ///
    /// # Errors
    /// [`Dropped::Unjoinable`] where it does not admit them.
    pub(super) fn take(
        &mut self,
        unit: &UnitHeader,
        body: M,
        pool: &Pool<M>,
    ) -> Result<bool, Dropped> {
        if !self.admits(unit, body.len()) {
            return Err(Dropped::Unjoinable);
        }
        let index = unit.label.index;
        if index != self.count - 1 && self.piece == 0 {
            self.piece = unit.piece;
        }
        self.numbers += unit.numbers();
        self.upto = self.upto.max(unit.span.end);
        self.at = unit.since;
        self.lifetime = self.lifetime.max(unit.lifetime);
        if index == self.next {
            self.newest = unit.span.start;
            if index == 0
                && M::SHARES
                && self.piece.saturating_mul(self.count as usize) <= IN_PIECES
            {
                self.begin = Begin::Pieces(body);
                self.next = unit.count;
            } else {
                self.append(body, unit.count, pool);
            }
            while !self.aside.is_empty()
                && let Some((number, pieces)) = self.aside.remove(&self.next)
            {
                self.newest = number;
                let octets = pieces.len();
                self.octets_aside -= octets;
                let count = self.pieces(octets);
                self.append(
                    M::from_block(M::Block::from(pieces.into_vec()), 0, octets),
                    count,
                    pool,
                );
            }
        } else {
            let mut pieces = vec![0; body.len()].into_boxed_slice();
            body.copy_to(&mut pieces);
            self.octets_aside += pieces.len();
            self.aside.insert(index, (unit.span.start, pieces));
            body.reclaim(pool);
        }
        Ok(self.next == self.count)
    }

    /// Appends the next pieces.
    fn append(&mut self, body: M, count: u32, pool: &Pool<M>) {
        match &mut self.begin {
            Begin::Pieces(message) => message.join(body),
            Begin::Block(octets) => {
                let (start, more) = (octets.len(), body.len());
                if start + more > octets.capacity() {
                    // Twice as much, but no more than the whole.
                    let rest = (self.count - self.next) as usize;
                    let much = start.max(AT_FIRST).min(self.piece.saturating_mul(rest));
                    octets.reserve_exact(more.max(much));
                }
                body.append_to(octets);
                body.reclaim(pool);
            }
        }
        self.next += count;
    }

    /// Returns the message, which is whole.
    pub(super) fn whole(self) -> M {
        match self.begin {
            Begin::Pieces(message) => message,
            Begin::Block(octets) => {
                let end = octets.len();
                M::from_block(M::Block::from(octets), 0, end)
            }
        }
    }
}
