//! Blocks of memory that are used again.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::{Block, Message};

/// A pool of equal blocks for one kind of message, shared by the drivers of one stack: one takes, another gives back.
///
/// Blocks that are never given back are lost to the pool and nothing else; the last one used is the first one taken,
/// because it is still in the processor's cache.
#[derive(Debug)]
pub struct Pool<M: Message> {
    block: usize,
    most: usize,
    free: RefCell<Vec<M::Block>>,
}

impl<M: Message> Pool<M> {
    /// A pool of blocks of `block` octets that keeps at most `most` of them.
    pub fn new(block: usize, most: usize) -> Self {
        Pool { block, most, free: RefCell::new(Vec::with_capacity(most)) }
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

    /// Gives a block back; one of another size, or one too many, is freed.
    #[inline]
    pub fn give(&self, block: M::Block) {
        let mut free = self.free.borrow_mut();
        if block.len() == self.block && free.len() < self.most {
            free.push(block);
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
