//! Blocks of memory that are used again.

use alloc::vec::Vec;
use core::cell::RefCell;

use super::{Block, Message};

/// How many short blocks of other lengths a pool keeps, and of how many octets all of them may be together: all that one association may have on
/// its way may come back at once, and goes again.
const ODD_MOST: usize = 128;
const ODD_OCTETS: usize = 16 << 20;

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

/// Blocks of other lengths, by the logarithm of their length: a long one is not in the way of who wants a short one.
#[derive(Debug)]
struct Odd<B> {
    classes: [Class<B>; CLASSES],
    /// Of those that are short.
    short: usize,
    /// Of all of them.
    octets: usize,
}

#[derive(Debug)]
struct Class<B> {
    blocks: Vec<B>,
    /// How many were asked for, and not there: so many are worth keeping, and what nobody ever asks for is not kept.
    wanted: usize,
}

/// Blocks of these classes are not short: their octets bound their number.
const LONG: usize = class(64 << 10);

/// None is longer than all may be together.
const CLASSES: usize = class(ODD_OCTETS) + 1;

/// Short ones are all alike.
const fn class(octets: usize) -> usize {
    ((octets / 64) | 1).ilog2() as usize
}

impl<B: Block> Odd<B> {
    const EMPTY: Self =
        Odd { classes: [const { Class { blocks: Vec::new(), wanted: 0 } }; CLASSES], short: 0, octets: 0 };

    /// The last that was given with room for so many octets, but not for four times as many, unless both are short.
    #[inline]
    fn take(&mut self, octets: usize) -> Option<B> {
        let from = class(octets);
        let fits =
            |place: &usize| self.classes[*place].blocks.last().is_some_and(|block| block.len() >= octets);
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

    /// Where there is no room, the class that holds most of it makes some, of short blocks or of octets; the block is let go where that is
    /// its own.
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
            let held = |place: &usize| self.classes[*place].blocks.len() << if counts { 0 } else { *place };
            let most = (0..if counts { LONG } else { CLASSES }).max_by_key(held).unwrap_or(own);
            // It is wanted no more than what is there.
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
    /// A pool of blocks of `block` octets that keeps at most `most` of them, or as many as are [written](Pool::write_next) at once.
    pub fn new(block: usize, most: usize) -> Self {
        Pool { block, most, free: RefCell::new(Vec::with_capacity(most)), odd: RefCell::new(Odd::EMPTY) }
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

    /// Lends so many of the blocks that are [taken](Pool::take) next to be written in place, of which the last one is the next.
    #[inline]
    pub fn write_next<T>(&self, count: usize, write: impl FnOnce(&mut [M::Block]) -> T) -> T {
        let free = &mut *self.free.borrow_mut();
        while free.len() < count {
            // Those that are there were used before.
            free.insert(0, M::Block::zeroed(self.block));
        }
        let first = free.len() - count;
        write(&mut free[first..])
    }

    /// A block of another length that was used before and has room for so many octets, but not for four times as many: a short
    /// message would hold it. Its content is anything.
    #[inline]
    pub fn again(&self, octets: usize) -> Option<M::Block> {
        self.odd.borrow_mut().take(octets)
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
            return self.odd.borrow_mut().give(block);
        }
        let mut free = self.free.borrow_mut();
        if free.len() < self.most {
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
