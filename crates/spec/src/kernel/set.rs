//! Sets of small numbers: signals, and places where a role waits.

const WORDS: usize = 4;

/// A set of numbers below [`Set::MOST`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Set([u64; WORDS]);

impl Set {
    /// Numbers from here on are in no set.
    pub(crate) const MOST: usize = WORDS * 64;
    pub(crate) const EMPTY: Set = Set([0; WORDS]);

    pub(crate) fn of(number: u16) -> Set {
        let mut set = Set::EMPTY;
        set.insert(number);
        set
    }

    pub(crate) fn has(&self, number: u16) -> bool {
        self.0[usize::from(number) / 64] & (1 << (number % 64)) != 0
    }

    pub(crate) fn insert(&mut self, number: u16) {
        self.0[usize::from(number) / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: u16) {
        self.0[usize::from(number) / 64] &= !(1 << (number % 64));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    pub(crate) fn meets(&self, other: &Set) -> bool {
        !self.and(other).is_empty()
    }

    pub(crate) fn and(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|nth| self.0[nth] & other.0[nth]))
    }

    pub(crate) fn join(&mut self, other: &Set) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    pub(crate) fn numbers(self) -> impl Iterator<Item = u16> {
        (0..Set::MOST as u16).filter(move |number| self.has(*number))
    }
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.numbers()).finish()
    }
}
