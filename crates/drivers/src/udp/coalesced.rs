//! What one block holds: datagrams of one peer, as the kernel has put them together.

use std::net::SocketAddr;

use quinn_udp::RecvMeta;
use stackwright_contract::services::{Ecn, Room, Run};
use stackwright_wire::{Message, Pool};

use super::{connect, mark};

/// Datagrams of one peer, one behind the other.
pub(super) struct Coalesced<M: Message> {
    pub(super) from: SocketAddr,
    /// What each says of congestion: the kernel puts none together that do not say the same.
    pub(super) ecn: Ecn,
    /// How long each is; the last may be shorter.
    stride: usize,
    /// How many are left.
    pub(super) count: usize,
    rest: Rest<M>,
}

/// Where their octets are.
enum Rest<M: Message> {
    /// In a message of which each is a slice.
    Shared(M),
    /// In a block of which each is a copy: `start..end` is left.
    Block { block: M::Block, start: usize, end: usize },
}

impl<M: Message> Coalesced<M> {
    /// What `came` in `block`; the block as a message once more, where slices of it are given away, which it is if it `may`.
    ///
    /// A block that holds little is copied from: it would let the peer fill memory with emptiness, because room counts octets
    /// and not blocks.
    pub(super) fn new(came: &RecvMeta, block: M::Block, may: bool) -> (Self, Option<M>) {
        let (octets, stride) = (came.len, came.stride.max(1));
        let count = octets.div_ceil(stride).max(1);
        let full = octets > block.len() / 4;
        let (rest, lent) = if may && full && (M::SHARES || count == 1) {
            let whole = M::from_block(block, 0, octets);
            let lent = M::SHARES.then(|| whole.share());
            (Rest::Shared(whole), lent)
        } else {
            (Rest::Block { block, start: 0, end: octets }, None)
        };
        (
            Coalesced { from: connect::identity(came.addr), ecn: mark::read(came.ecn), stride, count, rest },
            lent,
        )
    }

    /// How long the next one is.
    pub(super) fn next_octets(&self) -> usize {
        self.octets().min(self.stride)
    }

    /// All that are left, as a run: where there are several, and nothing has to be copied for it.
    pub(super) fn run(&mut self) -> Option<Run<M>> {
        match &mut self.rest {
            Rest::Shared(whole) if self.count > 1 => {
                self.count = 0;
                Some(Run::new(whole.split_to(whole.len()), self.stride).bearing(self.ecn))
            }
            _ => None,
        }
    }

    /// The room that those take which are left.
    pub(super) fn room(&self) -> Room {
        Room { octets: self.octets(), messages: self.count }
    }

    fn octets(&self) -> usize {
        match &self.rest {
            Rest::Shared(whole) => whole.len(),
            Rest::Block { start, end, .. } => end - start,
        }
    }

    /// The next one.
    pub(super) fn take(&mut self, pool: &Pool<M>) -> M {
        let octets = self.next_octets();
        self.count -= 1;
        match &mut self.rest {
            Rest::Shared(whole) => whole.split_to(octets),
            Rest::Block { block, start, .. } => {
                let at = *start;
                *start += octets;
                pool.copy(&block[at..at + octets])
            }
        }
    }

    /// The block, where it is not a message.
    pub(super) fn reclaim(self, pool: &Pool<M>) {
        match self.rest {
            Rest::Shared(whole) => whole.reclaim(pool),
            Rest::Block { block, .. } => pool.give(block),
        }
    }
}

#[cfg(test)]
mod tests {
    use stackwright_wire::BufferTree;

    use super::*;

    /// Whoever keeps one datagram of many blocks keeps few blocks: what may not be lent is copied, and the block is free.
    #[test]
    fn what_may_not_be_lent_is_copied() {
        let pool = Pool::<BufferTree>::new(4096, 1);
        let mut came = RecvMeta::default();
        (came.len, came.stride) = (4000, 1000);
        for may in [true, false] {
            let mut block = pool.take();
            block[..4000].fill(7);
            let (mut coalesced, lent) = Coalesced::<BufferTree>::new(&came, block, may);
            assert_eq!(lent.is_some(), may);
            let kept = coalesced.take(&pool);
            assert_eq!((kept.len(), coalesced.count), (1000, 3));
            assert_eq!(kept.leaves().count(), 1);
            coalesced.reclaim(&pool);
            drop(lent);
            // The pool's one block is there again, unless the kept datagram lies in it.
            let again = pool.take();
            assert_eq!(again.first() == Some(&7), !may, "lent: {may}");
        }
    }
}
