//! The cache of one entry: the place of the binding that was installed or found last (thesis §4.2).

use core::cell::Cell;

/// The place of the binding that was installed or found last. The caller compares the key there: a
/// hit hashes nothing, and a stale place does no harm.
///
/// The comparison costs a little, which is lost where keys come in no order. So after [`PATIENCE`]
/// misses in a row the cache sleeps: no key is compared before it is hashed, and none is
/// remembered. A lookup asleep counts itself, and that count is its one test, on which neither the
/// hash nor the lookup of the binding has to wait.
///
/// When the sleep is over, the cache tries again. A vain try costs more than its comparisons: a
/// lookup takes 3 % longer with sleeps of 256 than with endless sleep, presumably because the
/// processor predicts the branches after a try less well. So every vain try is followed by a sleep
/// twice as long, up to [`LONGEST`], and one that helped by the [`SHORTEST`].
#[derive(Debug)]
pub(super) struct Recent {
    place: Cell<usize>,
    /// Asleep: the number of lookups that are left. Awake: below [`TRYING`] or [`HELPING`] by the
    /// misses in a row.
    left: Cell<i32>,
    nap: Cell<i32>,
}

/// The misses in a row that put a cache to sleep that has been of use.
const PATIENCE: i32 = 8;
/// The misses in a row that end a try: where every key comes twice, one of three lookups is a hit.
const TRIES: i32 = 3;
const SHORTEST: i32 = 32;
const LONGEST: i32 = 1 << 16;
/// Awake, without a hit so far.
const TRYING: i32 = 0;
/// Awake, with a hit.
const HELPING: i32 = TRYING - TRIES;

/// Marks the path of a cache that is asleep as the one without a jump: a taken branch would enter
/// the processor's branch history, and displace what predicts the ends of chains.
#[cold]
#[inline]
fn seldom() {}

impl Recent {
    /// Creates a cache that is awake, with a place at which there is nothing yet.
    pub(super) fn new() -> Self {
        Recent { place: Cell::new(0), left: Cell::new(HELPING), nap: Cell::new(SHORTEST) }
    }

    /// Counts a lookup, and returns whether to compare the key at [`place`](Self::place) before it
    /// is hashed. If so, the result is reported with [`hit`](Self::hit), [`missed`](Self::missed)
    /// or [`absent`](Self::absent).
    #[inline]
    pub(super) fn awake(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        let awake = left < TRYING;
        if awake {
            seldom();
        }
        awake
    }

    #[inline]
    pub(super) fn place(&self) -> usize {
        self.place.get()
    }

    /// Records, awake, that the key was there.
    #[inline]
    pub(super) fn hit(&self) {
        self.left.set(HELPING);
    }

    /// Records, awake, that the key was not there, but at `place`.
    pub(super) fn missed(&self, place: usize) {
        self.place.set(place);
        self.absent();
    }

    /// Records, awake, that there is no such key. Lookups of unknown keys give the cache nothing to
    /// do.
    pub(super) fn absent(&self) {
        let nap = match self.left.get() {
            left if left == TRYING - TRIES => (2 * self.nap.get()).min(LONGEST),
            left if left == HELPING - PATIENCE => SHORTEST,
            _ => return,
        };
        self.nap.set(nap);
        self.left.set(nap);
    }

    /// Records that a binding was installed at `place`.
    pub(super) fn set(&self, place: usize) {
        self.place.set(place);
        self.left.set(HELPING);
    }

    /// Records that the binding that was at `from` is at `to` now.
    pub(super) fn moved(&self, from: usize, to: usize) {
        if self.place.get() == from {
            self.place.set(to);
        }
    }
}
