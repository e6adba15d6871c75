//! The contents of the wheel's slots: lists of blocks.
//!
//! A list with a link in every event would be read one cache miss after the other. A block holds
//! some deadlines and places side by side, so that many events are fetched at once, and moving one
//! down the wheel does not read the event itself.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::super::slab::NOWHERE;

/// The number of entries of a block: they fill two cache lines.
const ROOM: usize = 9;
/// The factor of a position: it is a block's number times this, plus the entry's number in the
/// block.
const SPOTS: u32 = 16;
/// The length beyond which a list is not searched for its least deadline.
const SEARCHED: usize = 8;

/// Some entries of one slot, in the order of arrival. A cancelled entry leaves a gap, `NOWHERE`.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Block {
    deadlines: [u64; ROOM],
    places: [u32; ROOM],
    before: u32,
    after: u32,
    slot: u16,
    used: u8,
    live: u8,
}

impl Block {
    /// Returns the deadline and the place of all entries that are not cancelled, in order.
    #[inline]
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, u32)> {
        let used = self.deadlines.iter().zip(&self.places).take(usize::from(self.used));
        used.filter(|(_, place)| **place != NOWHERE).map(|(deadline, place)| (*deadline, *place))
    }
}

/// A list of blocks.
#[derive(Clone, Debug)]
struct Slot {
    first: u32,
    last: u32,
    /// The least deadline of the list. If it is not exact, its event was cancelled, and no other is
    /// less.
    least: u64,
    exact: bool,
}

/// The least deadline of a slot.
pub(super) enum Least {
    /// The deadline.
    Is(u64),
    /// It is unknown: the list is too long to be searched now.
    Unknown,
}

/// The lists of all slots, and the blocks that they share.
#[derive(Debug)]
pub(super) struct Slots {
    blocks: Vec<Block>,
    /// The free blocks. They are not a list through the blocks, which would be read one cache miss
    /// after the other.
    free: Vec<u32>,
    slots: Box<[Slot]>,
}

impl Slots {
    /// Creates `count` empty slots.
    pub(super) fn new(count: usize) -> Self {
        let empty = Slot { first: NOWHERE, last: NOWHERE, least: u64::MAX, exact: true };
        Slots { blocks: Vec::new(), free: Vec::new(), slots: vec![empty; count].into_boxed_slice() }
    }

    /// Appends an entry; returns its position.
    pub(super) fn push(&mut self, slot: usize, deadline: u64, place: u32) -> u32 {
        let Slot { last, least, exact, .. } = &mut self.slots[slot];
        if deadline <= *least {
            (*least, *exact) = (deadline, true);
        }
        let mut number = *last;
        if number == NOWHERE || usize::from(self.blocks[number as usize].used) == ROOM {
            number = self.append(slot);
        }
        let block = &mut self.blocks[number as usize];
        let entry = usize::from(block.used);
        block.deadlines[entry] = deadline;
        block.places[entry] = place;
        block.used += 1;
        block.live += 1;
        number * SPOTS + entry as u32
    }

    /// Removes the entry at `spot` from its list. Returns its deadline, and its slot if that is
    /// empty now.
    pub(super) fn remove(&mut self, spot: u32) -> (u64, Option<usize>) {
        let number = spot / SPOTS;
        let block = &mut self.blocks[number as usize];
        let entry = (spot % SPOTS) as usize;
        let deadline = block.deadlines[entry];
        block.places[entry] = NOWHERE;
        block.live -= 1;
        let index = usize::from(block.slot);
        let slot = &mut self.slots[index];
        if deadline == slot.least {
            slot.exact = false;
        }
        if block.live == 0 {
            self.unlink(number);
        }
        (deadline, (self.slots[index].first == NOWHERE).then_some(index))
    }

    /// Removes and returns the first block of a list.
    #[inline]
    pub(super) fn take(&mut self, slot: usize) -> Option<Block> {
        let first = self.slots[slot].first;
        if first == NOWHERE {
            return None;
        }
        let block = self.blocks[first as usize];
        self.unlink(first);
        Some(block)
    }

    /// Returns the least deadline of a slot that is not empty. The result of a search is cached.
    pub(super) fn least(&mut self, slot: usize) -> Least {
        let slot = &mut self.slots[slot];
        if !slot.exact {
            let (mut number, mut least) = (slot.first, u64::MAX);
            for _ in 0..SEARCHED {
                let block = &self.blocks[number as usize];
                least = block.entries().fold(least, |least, (deadline, _)| least.min(deadline));
                number = block.after;
                if number == NOWHERE {
                    (slot.least, slot.exact) = (least, true);
                    return Least::Is(least);
                }
            }
            return Least::Unknown;
        }
        Least::Is(slot.least)
    }

    /// Appends an empty block to a list.
    fn append(&mut self, slot: usize) -> u32 {
        let last = self.slots[slot].last;
        let block = Block {
            deadlines: [0; ROOM],
            places: [NOWHERE; ROOM],
            before: last,
            after: NOWHERE,
            slot: slot as u16,
            used: 0,
            live: 0,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.blocks[number as usize] = block;
                number
            }
            None => {
                assert!(
                    self.blocks.len() < (NOWHERE / SPOTS) as usize,
                    "fewer than 2^28 - 1 blocks are used at once"
                );
                self.blocks.push(block);
                self.blocks.len() as u32 - 1
            }
        };
        match last {
            NOWHERE => self.slots[slot].first = number,
            last => self.blocks[last as usize].after = number,
        }
        self.slots[slot].last = number;
        number
    }

    /// Removes a block from its list, and frees it.
    fn unlink(&mut self, number: u32) {
        let Block { before, after, slot, .. } = self.blocks[number as usize];
        let slot = &mut self.slots[usize::from(slot)];
        match before {
            NOWHERE => slot.first = after,
            before => self.blocks[before as usize].after = after,
        }
        match after {
            NOWHERE => slot.last = before,
            after => self.blocks[after as usize].before = before,
        }
        if slot.first == NOWHERE {
            (slot.least, slot.exact) = (u64::MAX, true);
        }
        self.free.push(number);
    }
}
