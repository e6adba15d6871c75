//! The slots of the wheel that are not empty.

use super::{LEVELS, WIDTH};

/// The number of words of 64 slots in a level.
const WORDS: usize = WIDTH / 64;

/// A bit for each slot, and a bit for each word of them, so that finding the first one takes a few
/// steps.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    slots: [[u64; WORDS]; LEVELS],
    words: [u32; LEVELS],
}

impl Occupied {
    pub(super) fn set(&mut self, slot: usize) {
        let (level, word) = (slot / WIDTH, slot % WIDTH / 64);
        self.slots[level][word] |= 1 << (slot % 64);
        self.words[level] |= 1 << word;
    }

    pub(super) fn clear(&mut self, slot: usize) {
        let (level, word) = (slot / WIDTH, slot % WIDTH / 64);
        self.slots[level][word] &= !(1 << (slot % 64));
        if self.slots[level][word] == 0 {
            self.words[level] &= !(1 << word);
        }
    }

    /// Returns the slot whose events are the next. It is in the lowest level that has one: those
    /// above differ from the tick that was reached in a higher digit.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let level = self.words.iter().position(|words| *words != 0)?;
        let word = self.words[level].trailing_zeros() as usize;
        Some(level * WIDTH + word * 64 + self.slots[level][word].trailing_zeros() as usize)
    }
}
