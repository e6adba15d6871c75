//! The cache of one entry: where the binding is that was installed or found last (thesis §4.2).

use core::cell::Cell;

/// The place of the binding that was installed or found last. Whoever asks compares the key there: a hit hashes nothing, and
/// a place that means nothing any more is no harm.
///
/// To ask costs a little, which is lost where keys come in no order. So after [`PATIENCE`] misses in a row the cache
/// sleeps: it remembers the place still, but complemented, which is a place in no table and compared with nothing. It wakes
/// as soon as the table finds the remembered binding again. That one lookup is all that sleep can lose.
#[derive(Debug)]
pub(super) struct Recent {
    place: Cell<usize>,
    misses: Cell<u8>,
}

const PATIENCE: u8 = 8;

impl Recent {
    /// Awake, with a place at which there is nothing yet.
    pub(super) fn new() -> Self {
        Recent { place: Cell::new(0), misses: Cell::new(0) }
    }

    /// Where to compare the key before it is hashed; beyond every table's end while the cache sleeps.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.place.get()
    }

    /// Awake: the key was there.
    #[inline]
    pub(super) fn hit(&self) {
        self.misses.set(0);
    }

    /// Awake: the key was not there, but at `place`.
    pub(super) fn missed(&self, place: usize) {
        let misses = self.misses.get() + 1;
        self.misses.set(misses);
        self.place.set(if misses < PATIENCE { place } else { !place });
    }

    /// Asleep: the key was at `place`.
    #[inline]
    pub(super) fn dreamt(&self, place: usize) {
        if self.place.get() == !place {
            self.set(place);
        } else {
            self.place.set(!place);
        }
    }

    #[inline]
    pub(super) fn set2(&self, place: usize) {
        self.place.set(place);
    }

    /// A binding was installed at `place`, or found there twice.
    #[cold]
    pub(super) fn set(&self, place: usize) {
        self.place.set(place);
        self.misses.set(0);
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
