//! The cache of one entry: where the binding is that was installed or found last (thesis §4.2).

use core::cell::Cell;

/// The place of the binding that was installed or found last. Whoever asks compares the key there: a hit hashes nothing, and
/// a place that means nothing any more is no harm.
///
/// To compare costs a little, which is lost where keys come in no order. So after [`PATIENCE`] misses in a row the cache
/// sleeps: no key is compared before it is hashed. What is found is remembered still, and the cache wakes as soon as that is
/// found again. That one lookup is all that sleep can lose; and it costs no more than one word read, one compared and one
/// written, none of which the way from a key to its binding has to wait for.
#[derive(Debug)]
pub(super) struct Recent {
    place: Cell<usize>,
    /// In a row, and no more than [`PATIENCE`].
    misses: Cell<u8>,
}

const PATIENCE: u8 = 8;

impl Recent {
    /// Awake, with a place at which there is nothing yet.
    pub(super) fn new() -> Self {
        Recent { place: Cell::new(0), misses: Cell::new(0) }
    }

    /// Whether to compare the key at [`place`](Self::place) before it is hashed.
    #[inline]
    pub(super) fn awake(&self) -> bool {
        self.misses.get() != PATIENCE
    }

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
    #[inline]
    pub(super) fn missed(&self, place: usize) {
        self.misses.set(self.misses.get() + 1);
        self.place.set(place);
    }

    /// Awake: the key was nowhere. Whoever asks for keys that nobody has gives the cache nothing to do.
    #[inline]
    pub(super) fn absent(&self) {
        self.misses.set(self.misses.get() + 1);
    }

    /// Asleep: the key was at `place`.
    #[inline]
    pub(super) fn dreamt(&self, place: usize) {
        if self.place.replace(place) == place {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        self.misses.set(0);
    }

    /// A binding was installed at `place`.
    pub(super) fn set(&self, place: usize) {
        self.place.set(place);
        self.misses.set(0);
    }

    /// What was at `from` is at `to` now.
    pub(super) fn moved(&self, from: usize, to: usize) {
        if self.place.get() == from {
            self.place.set(to);
        }
    }
}
