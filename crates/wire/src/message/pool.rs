//! Blocks of memory that are used again.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::{Block, Message};

/// How many blocks of other lengths a pool keeps, and of how many octets together.
const ODD_MOST: usize = 128;
const ODD_OCTETS: usize = 1 << 20;

/// A pool of equal blocks for one kind of message, shared by the drivers of one stack: one takes, another gives back. Some blocks of
/// other lengths are kept too, in which messages came from above.
///
/// Blocks that are never given back are lost to the pool and nothing else; the last one used is the first one taken,
/// because it is still in the processor's cache.
#[derive(Debug)]
pub struct Pool<M: Message> {
    block: usize,
    most: usize,
    free: RefCell<Vec<M::Block>>,
    odd: RefCell<Odd<M::Block>>,
}

/// Blocks of other lengths.
#[derive(Debug)]
struct Odd<B> {
    blocks: Vec<B>,
    /// Of all of them.
    octets: usize,
}

impl<M: Message> Pool<M> {
    /// A pool of blocks of `block` octets that keeps at most `most` of them.
    pub fn new(block: usize, most: usize) -> Self {
        let odd = Odd { blocks: Vec::new(), octets: 0 };
        Pool { block, most, free: RefCell::new(Vec::with_capacity(most)), odd: RefCell::new(odd) }
    }

    /// The size of a block in octets.
    pub fn block(&self) -> usize {
        self.block
    }

    /// A block, used again where there is one. Its content is anything.
    #[inline]
    pub fn take(&self) -> M::Block {
        self.free.borrow_mut().pop().unwrap_or_else(|| M::Block::zeroed(self.block))
    }

    /// A block of another length that was used before and has room for so many octets, but not for more than four times as many: a
    /// short message would hold it. Its content is anything.
    #[inline]
    pub fn again(&self, octets: usize) -> Option<M::Block> {
        let mut odd = self.odd.borrow_mut();
        let block = odd.blocks.pop()?;
        odd.octets -= block.len();
        // One that does not fit makes room for those that do.
        (octets..=4 * octets.max(64)).contains(&block.len()).then_some(block)
    }

    /// A copy of `octets`, with nothing in front, in a block that was used before where there is such a one.
    #[inline]
    pub fn copy(&self, octets: &[u8]) -> M {
        let Some(mut block) = self.again(octets.len()) else { return M::with_headroom(0, octets) };
        block[..octets.len()].copy_from_slice(octets);
        M::from_block(block, 0, octets.len())
    }

    /// Gives a block back; one too many is freed.
    #[inline]
    pub fn give(&self, block: M::Block) {
        if block.len() != self.block {
            return self.give_odd(block);
        }
        let mut free = self.free.borrow_mut();
        if free.len() < self.most {
            free.push(block);
        }
    }

    #[inline]
    fn give_odd(&self, block: M::Block) {
        let mut odd = self.odd.borrow_mut();
        if odd.blocks.len() < ODD_MOST && odd.octets + block.len() <= ODD_OCTETS {
            odd.octets += block.len();
            odd.blocks.push(block);
        }
    }

    /// Gets the block of one of `lent` back, which nobody else holds any more; whether there is such a one.
    pub fn regain(&self, lent: &mut Vec<M>) -> bool {
        let free = lent.iter_mut().position(|message| message.unshared().is_some());
        if let Some(free) = free {
            lent.swap_remove(free).reclaim(self);
        }
        free.is_some()
    }
}
