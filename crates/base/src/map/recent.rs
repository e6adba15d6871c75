//! The cache of one entry: where the binding is that was installed or found last (thesis §4.2).

use core::cell::Cell;

/// The place of the binding that was installed or found last. Whoever asks compares the key there: a hit hashes nothing.
///
/// To ask costs a little, which is lost where keys come in no order. So after [`PATIENCE`] misses in a row the cache
/// sleeps: it remembers the place still, but complemented, which is a place in no table and compared with nothing. It wakes
/// as soon as the table finds the remembered binding again. That one lookup is all that sleep can lose.
#[derive(Debug)]
pub(super) struct Recent {
    place: Cell<usize>,
    misses: Cell<u8>,
}

/// No table has this place, and its complement neither.
const NOWHERE: usize = isize::MAX as usize;

const PATIENCE: u8 = 8;

impl Recent {
    pub(super) fn new() -> Self {
        Recent { place: Cell::new(NOWHERE), misses: Cell::new(0) }
    }

    /// Where to compare the key before it is hashed. May be beyond every table's end.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.place.get()
    }

    /// The key was there.
    #[inline]
    pub(super) fn hit(&self) {
        self.misses.set(0);
    }

    /// The key was not there, but the table found it at `place`.
    #[inline]
    pub(super) fn found(&self, place: usize) {
        let last = self.place.get();
        if last <= NOWHERE || last == !place {
            return self.found_awake(place);
        }
        self.place.set(!place);
    }

    #[cold]
    #[inline(never)]
    fn found_awake(&self, place: usize) {
        if self.place.get() == !place {
            return self.installed(place);
        }
        let misses = self.misses.get() + 1;
        self.misses.set(misses);
        self.place.set(if misses < PATIENCE { place } else { !place });
    }

    /// A binding was installed at `place`.
    #[inline]
    pub(super) fn installed(&self, place: usize) {
        self.place.set(place);
        self.misses.set(0);
    }

    /// What was at `place` is no more.
    pub(super) fn erased(&self, place: usize) {
        if self.place.get() == place || self.place.get() == !place {
            self.place.set(NOWHERE);
        }
    }

    /// What was at `from` is at `to` now.
    pub(super) fn moved(&self, from: usize, to: usize) {
        if self.place.get() == from {
            self.place.set(to);
        } else if self.place.get() == !from {
            self.place.set(!to);
        }
    }
}
