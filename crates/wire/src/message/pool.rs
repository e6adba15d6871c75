//! Blocks of memory that are used again.

use super::lock::Lock;
use super::{Block, Message, count_copied};
use alloc::vec::Vec;

/// The most short blocks of other lengths that a pool keeps, and the most octets of all of them:
/// what one association has in flight may be returned at once, and is used again.
const ODD_MOST: usize = 128;
const ODD_OCTETS: usize = 16 << 20;

/// A pool of equal blocks for one kind of message, shared by the drivers of one stack: one takes,
/// another returns. Some blocks of other lengths are kept too, in which messages came from above.
///
/// With the feature `std` threads can share it.
///
/// A block that is never returned is lost to the pool and nothing else. The last one returned is
/// the first one taken, because it is still in the processor's cache.
#[derive(Debug)]
pub struct Pool<M: Message> {
    block: usize,
    /// Its capacity is how many are kept: to give one back never allocates.
    free: Lock<Vec<M::Block>>,
    odd: Lock<Odd<M::Block>>,
}

/// Blocks of other lengths, by the logarithm of their length: a long one does not hide a short one.
#[derive(Debug)]
struct Odd<B> {
    classes: [Class<B>; CLASSES],
    /// The number of short blocks.
    short: usize,
    /// The octets of all blocks.
    octets: usize,
}

#[derive(Debug)]
struct Class<B> {
    blocks: Vec<B>,
    /// How often there was none: no more are kept than were asked for in vain.
    wanted: usize,
}

/// The first class of blocks that are not short: their octets bound their number.
const LONG: usize = class(64 << 10);

/// No block is longer than the most octets of all.
const CLASSES: usize = class(ODD_OCTETS) + 1;

/// Returns the class of a length: all that are shorter than 128 octets are in the first.
const fn class(octets: usize) -> usize {
    ((octets / 64) | 1).ilog2() as usize
}

impl<B: Block> Odd<B> {
    const EMPTY: Self = Odd {
        classes: [const { Class { blocks: Vec::new(), wanted: 0 } }; CLASSES],
        short: 0,
        octets: 0,
    };

    /// Takes the last block returned that has room for `octets` octets, but not for four times as
    /// many, unless both are short.
    #[inline]
    fn take(&mut self, octets: usize) -> Option<B> {
        let from = class(octets);
        let fits = |place: &usize| {
            self.classes[*place].blocks.last().is_some_and(|block| block.len() >= octets)
        };
        // Of its own class one may be too short; of the next, none is.
        let Some(place) = (from..CLASSES.min(from + 2)).find(fits) else {
            self.classes.get_mut(from)?.wanted += 1;
            return None;
        };
        self.remove(place)
    }

    #[inline]
    fn remove(&mut self, place: usize) -> Option<B> {
        let block = self.classes[place].blocks.pop()?;
        self.short -= usize::from(place < LONG);
        self.octets -= block.len();
        Some(block)
    }

    /// Keeps a block. Where the bound is reached, of short blocks or of octets, the class that
    /// holds most loses one; where that is the block's own class, the block is freed instead.
    #[inline]
    fn give(&mut self, block: B) {
        let own = class(block.len());
        if self.classes.get(own).is_none_or(|class| class.blocks.len() >= class.wanted) {
            return;
        }
        loop {
            let counts = own < LONG && self.short >= ODD_MOST;
            if !counts && self.octets + block.len() <= ODD_OCTETS {
                break;
            }
            let held = |place: &usize| {
                self.classes[*place].blocks.len() << if counts { 0 } else { *place }
            };
            let most = (0..if counts { LONG } else { CLASSES }).max_by_key(held).unwrap_or(own);
            // No more are wanted than are there.
            self.classes[most].wanted = self.classes[most].blocks.len();
            if most == own || self.remove(most).is_none() {
                return;
            }
        }
        self.short += usize::from(own < LONG);
        self.octets += block.len();
        self.classes[own].blocks.push(block);
    }
}

impl<M: Message> Pool<M> {
    /// Returns a pool of blocks of `block` octets that keeps at most `most` of them, or as many as
    /// are [written](Pool::write_next) at once.
    pub fn new(block: usize, most: usize) -> Self {
        Pool { block, free: Lock::new(Vec::with_capacity(most)), odd: Lock::new(Odd::EMPTY) }
    }

    /// Returns the size of a block in octets.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Takes a block, used again where there is one. Its content is unspecified.
    #[inline]
    pub fn take(&self) -> M::Block {
        let free = self.free.lock().pop();
        free.unwrap_or_else(|| self.allocate())
    }

    #[cold]
    #[inline(never)]
    fn allocate(&self) -> M::Block {
        M::Block::zeroed(self.block)
    }

    /// Lends the next `count` blocks to be [taken](Pool::take), in reverse order, to be written in
    /// place.
    #[inline]
    pub fn write_next<T>(&self, count: usize, write: impl FnOnce(&mut [M::Block]) -> T) -> T {
        let free = &mut *self.free.lock();
        free.reserve_exact(count.saturating_sub(free.len()));
        while free.len() < count {
            // The ones that were used before stay the next ones.
            free.insert(0, M::Block::zeroed(self.block));
        }
        let first = free.len() - count;
        write(&mut free[first..])
    }

    /// Takes a block of another length that was used before and has room for `octets` octets, but
    /// not for four times as many, which a short message would hold. Its content is unspecified.
    #[inline]
    pub fn again(&self, octets: usize) -> Option<M::Block> {
        self.odd.lock().take(octets)
    }

    /// Returns a copy of `octets` without headroom, in a block that was used before where there is
    /// one.
    #[inline]
    pub fn copy(&self, octets: &[u8]) -> M {
        let Some(mut block) = self.again(octets.len()) else { return M::with_headroom(0, octets) };
        block[..octets.len()].copy_from_slice(octets);
        count_copied(octets.len());
        M::from_block(block, 0, octets.len())
    }

    /// Returns a block to the pool; one too many is freed.
    #[inline]
    pub fn give(&self, block: M::Block) {
        if block.len() != self.block {
            return self.give_odd(block);
        }
        let mut free = self.free.lock();
        if free.len() < free.capacity() {
            return free.push(block);
        }
        drop(free);
        drop(block);
    }

    /// Returns a block of another length.
    #[inline(never)] // what it needs is not saved for each block of the usual length
    fn give_odd(&self, block: M::Block) {
        self.odd.lock().give(block);
    }

    /// Returns one of the blocks of `lent` that nobody else holds any more to the pool, and whether
    /// there was one.
    pub fn regain(&self, lent: &mut Vec<M>) -> bool {
        let free = lent.iter_mut().position(|message| message.unshared().is_some());
        if let Some(free) = free {
            lent.swap_remove(free).reclaim(self);
        }
        free.is_some()
    }
}
