//! The cache of one entry: where the binding is that was installed or found last (thesis §4.2).

use core::cell::Cell;

/// The place of the binding that was installed or found last. Whoever asks compares the key there:
/// a hit hashes nothing, and a place that means nothing any more is no harm.
///
/// To compare costs a little, which is lost where keys come in no order. So after [`PATIENCE`]
/// misses in a row the cache sleeps: no key is compared before it is hashed, and none is
/// remembered. A lookup asleep counts itself, and that count is its one test, for which neither the
/// hash nor the way to the binding has to wait.
///
/// When the nap is over, the cache tries again. A vain try costs more than its comparisons: a
/// lookup takes 3 % longer with naps of 256 than without end, presumably as the processor foresees
/// the branches after a try less well. So every vain try is followed by a nap twice as long, up to
/// [`LONGEST`], and one that helped by the [`SHORTEST`].
#[derive(Debug)]
pub(super) struct Recent {
    place: Cell<usize>,
    /// Asleep, for how many lookups still. Awake, below [`TRYING`] or [`HELPING`] by the misses in
    /// a row.
    left: Cell<i32>,
    nap: Cell<i32>,
}

/// So many misses in a row put a cache to sleep that has been of use.
const PATIENCE: i32 = 8;
/// So many, one that tries: where every key comes twice, one of three lookups is a hit.
const TRIES: i32 = 3;
const SHORTEST: i32 = 32;
const LONGEST: i32 = 1 << 16;
/// Awake, without a hit so far.
const TRYING: i32 = 0;
/// Awake, and it was not for nothing.
const HELPING: i32 = TRYING - TRIES;

/// Who is asleep goes straight on: a branch that is taken would be remembered by the processor, and
/// crowd out what it remembers of where chains end.
#[cold]
#[inline]
fn seldom() {}

impl Recent {
    /// Awake, with a place at which there is nothing yet.
    pub(super) fn new() -> Self {
        Recent { place: Cell::new(0), left: Cell::new(HELPING), nap: Cell::new(SHORTEST) }
    }

    /// Counts a lookup, and tells whether to compare the key at [`place`](Self::place) before it is
    /// hashed. If so, what came of it is told by [`hit`](Self::hit), [`missed`](Self::missed) or
    /// [`absent`](Self::absent).
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

    /// Awake: the key was there.
    #[inline]
    pub(super) fn hit(&self) {
        self.left.set(HELPING);
    }

    /// Awake: the key was not there, but at `place`.
    pub(super) fn missed(&self, place: usize) {
        self.place.set(place);
        self.absent();
    }

    /// Awake: the key was nowhere. Whoever asks for keys that nobody has gives the cache nothing to
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

    /// A binding was installed at `place`.
    pub(super) fn set(&self, place: usize) {
        self.place.set(place);
        self.left.set(HELPING);
    }

    /// What was at `from` is at `to` now.
    pub(super) fn moved(&self, from: usize, to: usize) {
        if self.place.get() == from {
            self.place.set(to);
        }
    }
}
