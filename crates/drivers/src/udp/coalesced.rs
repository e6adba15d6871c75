//! The datagrams of one peer in one block, as the kernel has coalesced them.

use std::mem;
use std::net::SocketAddr;

use stackwright_contract::services::{Batch, Credit, Ecn};
use stackwright_wire::{Message, Pool};

use super::connect;
use super::fill::Came;

/// Datagrams of one peer, one behind the other.
pub(super) struct Coalesced<M: Message> {
    /// The sender's address, if it was requested.
    pub(super) from: Option<SocketAddr>,
    /// The local address that they were sent to, without a port, if the socket has several.
    pub(super) to: Option<SocketAddr>,
    /// The ECN codepoint of each: the kernel coalesces only datagrams that have the same.
    pub(super) ecn: Ecn,
    /// The length of each in octets; the last may be shorter.
    stride: usize,
    /// How many are left.
    pub(super) count: usize,
    rest: Rest<M>,
}

/// The octets of the datagrams that are left.
enum Rest<M: Message> {
    /// A message of which each is a slice, or which is the only one.
    Shared(M),
    /// A block of which each is copied: `start..end` is left.
    Block { block: M::Block, start: usize, end: usize },
    /// All of them were taken.
    Nothing,
}

/// What becomes of a block that was filled.
pub(super) enum Spent<M: Message> {
    /// Slices of it are lent: this is one more, of all of it.
    Lent(M),
    /// It was copied from, and can be filled again.
    Free(M::Block),
    /// It belongs to the datagrams now.
    Gone,
}

impl<M: Message> Coalesced<M> {
    /// Makes the datagrams of `came` in `block`, behind a header of as many octets, of which slices
    /// are lent if they `may` be. Returns them and what becomes of the block.
    ///
    /// A block that holds little is copied from: otherwise a peer could make this end hold nearly
    /// empty blocks, because credit counts octets and not blocks.
    #[inline]
    pub(super) fn new(
        came: &Came,
        block: M::Block,
        header: usize,
        may: bool,
        pool: &Pool<M>,
    ) -> (Self, Spent<M>) {
        let (octets, stride) = (came.octets - header, came.stride.max(1));
        let count = if octets <= stride { 1 } else { octets.div_ceil(stride) };
        let full = octets > block.len() / 4;
        let (rest, spent) = if may && full && (M::SHARES || count == 1) {
            let whole = M::from_block(block, header, header + octets);
            let spent = if M::SHARES { Spent::Lent(whole.share()) } else { Spent::Gone };
            (Rest::Shared(whole), spent)
        } else if count == 1 {
            (Rest::Shared(pool.copy(&block[header..header + octets])), Spent::Free(block))
        } else {
            (Rest::Block { block, start: header, end: header + octets }, Spent::Gone)
        };
        let [from, to] = [came.from, came.to].map(|address| address.map(connect::identity));
        (Coalesced { from, to, ecn: came.ecn, stride, count, rest }, spent)
    }

    /// Returns the octets of the next datagram.
    pub(super) fn next_octets(&self) -> usize {
        self.octets().min(self.stride)
    }

    /// Takes all that are left, if that needs no copy.
    pub(super) fn take_all(&mut self) -> Option<Batch<M>> {
        if !matches!(self.rest, Rest::Shared(_)) {
            return None;
        }
        let Rest::Shared(whole) = mem::replace(&mut self.rest, Rest::Nothing) else { return None };
        let count = mem::take(&mut self.count);
        Some(if count < 2 { whole.into() } else { Batch::new(whole, self.stride) })
    }

    /// Returns the credit that the datagrams left consume.
    pub(super) fn room(&self) -> Credit {
        Credit { octets: self.octets(), messages: self.count }
    }

    fn octets(&self) -> usize {
        match &self.rest {
            Rest::Shared(whole) => whole.len(),
            Rest::Block { start, end, .. } => end - start,
            Rest::Nothing => 0,
        }
    }

    /// Takes the next datagram.
    pub(super) fn take(&mut self, pool: &Pool<M>) -> M {
        let octets = self.next_octets();
        self.count -= 1;
        match mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Shared(whole) if self.count == 0 => whole,
            Rest::Shared(mut whole) => {
                let next = whole.split_to(octets);
                self.rest = Rest::Shared(whole);
                next
            }
            Rest::Block { block, start, end } => {
                let next = pool.copy(&block[start..start + octets]);
                self.rest = Rest::Block { block, start: start + octets, end };
                next
            }
            Rest::Nothing => unreachable!("one is left"),
        }
    }

    /// Returns what is left to the pool.
    #[inline]
    pub(super) fn reclaim(self, pool: &Pool<M>) {
        match self.rest {
            Rest::Shared(whole) => whole.reclaim(pool),
            Rest::Block { block, .. } => pool.give(block),
            Rest::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use stackwright_wire::BufferTree;

    use super::*;

    /// A layer that keeps one datagram of each of many blocks keeps few blocks: what may not be
    /// lent is copied, and the block is free.
    #[test]
    fn what_may_not_be_lent_is_copied() {
        let pool = Pool::<BufferTree>::new(4096, 1);
        let came = Came { octets: 4000, stride: 1000, ..Came::default() };
        for may in [true, false] {
            let mut block = pool.take();
            block[..4000].fill(7);
            let (mut coalesced, spent) = Coalesced::<BufferTree>::new(&came, block, 0, may, &pool);
            assert_eq!(matches!(spent, Spent::Lent(_)), may);
            let kept = coalesced.take(&pool);
            assert_eq!((kept.len(), coalesced.count), (1000, 3));
            assert_eq!(kept.leaves().count(), 1);
            coalesced.reclaim(&pool);
            drop(spent);
            // The pool's one block is available again, unless the kept datagram is a slice of it.
            let again = pool.take();
            assert_eq!(again.first() == Some(&7), !may, "lent: {may}");
        }
    }
}
