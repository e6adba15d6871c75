//! What is timed: maps of every kind with the same bindings, asked for the same keys in the same
//! order.
//!
//! The lookups of these subjects overlap in the processor; those of [`chains`] do not.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use foldhash::fast::FixedState;
use stackwright_base::map::{Cached, Key, Keyed, Map, Open};

use crate::chains::{self, Chains};
use crate::measure::{Race, Subject, Turn};

/// Lookups of one turn.
pub(crate) const LOOKUPS: usize = 8192;
/// The buckets of the thesis' map.
pub(crate) const BUCKETS: usize = 101;
pub(crate) const SEED: u64 = 1;

/// A map of ours.
pub(crate) struct Ours<'a, M>(pub(crate) &'a M);

impl<M> Clone for Ours<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Ours<'_, M> {}

/// A map of theirs.
type Swiss<K> = hashbrown::HashMap<K, u32, FixedState>;

/// The subjects with one number of bindings, and keys of one length.
pub(crate) struct Cell {
    pub(crate) bindings: usize,
    /// The cache hits.
    pub(crate) cached_hit: Subject,
    pub(crate) open_hit: Subject,
    /// Keys in random order, so that the cache misses.
    pub(crate) uncached: Subject,
    pub(crate) cached: Subject,
    /// The same, each lookup a call, as a demultiplexer's is: it keeps nothing in registers from
    /// one message to the next.
    pub(crate) uncached_called: Subject,
    pub(crate) cached_called: Subject,
    /// The same in a loop, with the hashing for keys that peers choose.
    pub(crate) uncached_keyed: Subject,
    pub(crate) cached_keyed: Subject,
    pub(crate) open: Subject,
    pub(crate) swiss: Subject,
    /// Keys that are not bound.
    pub(crate) open_absent: Subject,
    pub(crate) swiss_absent: Subject,
    /// Keys in random order, each twice.
    pub(crate) uncached_pairs: Subject,
    pub(crate) cached_pairs: Subject,
    pub(crate) open_pairs: Subject,
    pub(crate) swiss_pairs: Subject,
    /// Lookups that depend on each other.
    pub(crate) chains: Chains,
    /// A fixed number of buckets.
    pub(crate) fixed: Option<Fixed>,
}

/// The subjects of experiment E1: the cache hits, it misses, and the old map, which has none.
pub(crate) struct Fixed {
    pub(crate) hit: Subject,
    pub(crate) miss: Subject,
    pub(crate) old: Subject,
    /// The same with lookups that depend on each other.
    pub(crate) dependent_hit: Subject,
    pub(crate) dependent_miss: Subject,
    pub(crate) dependent_old: Subject,
}

/// Bound keys and others, and orders to ask for them.
pub(crate) struct Keys<const N: usize> {
    pub(crate) bound: Vec<[u8; N]>,
    /// Every bound key once before any comes again, for many turns or until all have been asked
    /// for.
    shuffled: Rc<Vec<[u8; N]>>,
    paired: Rc<Vec<[u8; N]>>,
    absent: Rc<Vec<[u8; N]>>,
}

impl<const N: usize> Keys<N> {
    fn new(bindings: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(bindings as u64);
        let mut distinct = hashbrown::HashSet::with_hasher(FixedState::with_seed(SEED));
        let mut draw = |count: usize| {
            let mut keys = Vec::new();
            while keys.len() < count {
                let mut key = [0; N];
                random.fill(&mut key);
                if distinct.insert(key) {
                    keys.push(key);
                }
            }
            keys
        };
        let (bound, absent) = (draw(bindings), draw(bindings));
        let mut order = |keys: &[[u8; N]]| {
            let mut keys = keys.to_vec();
            let mut order: Vec<[u8; N]> = Vec::new();
            while order.len() < 4 * LOOKUPS {
                random.shuffle(&mut keys);
                if order.last() == keys.first() {
                    keys.rotate_left(1); // never one key twice in a row
                }
                order.extend_from_slice(&keys);
            }
            order
        };
        let shuffled = order(&bound);
        let paired = shuffled.iter().flat_map(|key| [*key; 2]).collect();
        let absent = order(&absent);
        Keys {
            bound,
            shuffled: Rc::new(shuffled),
            paired: Rc::new(paired),
            absent: Rc::new(absent),
        }
    }

    fn fill<M: Map<[u8; N], u32>>(&self, mut map: M) -> Rc<M> {
        for (number, key) in self.bound.iter().enumerate() {
            map.install(*key, number as u32);
        }
        Rc::new(map)
    }
}

/// All maps alike, those that are not ours too.
pub(crate) trait Resolve<K>: Copy {
    fn resolve(self, key: &K) -> Option<u32>;
}

impl<K: Key, M: Map<K, u32>> Resolve<K> for Ours<'_, M> {
    #[inline]
    fn resolve(self, key: &K) -> Option<u32> {
        self.0.resolve(key)
    }
}

impl<K: Key> Resolve<K> for &Swiss<K> {
    #[inline]
    fn resolve(self, key: &K) -> Option<u32> {
        self.get(key).copied()
    }
}

/// A map whose lookup is a call.
#[derive(Clone, Copy)]
pub(crate) struct Called<M>(pub(crate) M);

impl<K, M: Resolve<K>> Resolve<K> for Called<M> {
    #[inline(never)]
    fn resolve(self, key: &K) -> Option<u32> {
        self.0.resolve(key)
    }
}

/// Asks for `keys`, one after the other. Not inlined: the same code for every subject with this
/// map.
#[inline(never)]
fn pass<K>(map: impl Resolve<K>, keys: &[K]) {
    let mut sum = 0u64;
    for key in black_box(keys) {
        if let Some(value) = map.resolve(key) {
            sum += u64::from(value);
        }
    }
    black_box(sum);
}

/// Asks a map for keys, turn by turn another piece of `order`.
///
/// What was timed before has taken the processor's caches. So other keys are asked for first,
/// enough for all bindings of a small map, and the keys to be asked for are read once. Every
/// subject begins with another piece, so that none finds the bindings of a large map where a
/// neighbour with the same map has just had them.
fn asking<const N: usize, T: 'static>(
    order: &Rc<Vec<[u8; N]>>,
    map: &Rc<T>,
    pass: impl Fn(&T, &[[u8; N]]) + 'static,
) -> Turn {
    let (order, map) = (Rc::clone(order), Rc::clone(map));
    let pieces = order.len() / LOOKUPS;
    let first = fastrand::usize(..pieces);
    Box::new(move |number| {
        let piece = |number: usize| &order[number % pieces * LOOKUPS..][..LOOKUPS];
        let number = first + number;
        let keys = piece(number);
        pass(&map, &piece(number + pieces / 2)[..LOOKUPS / 4]);
        black_box(keys.iter().fold(0, |sum, key| sum ^ key[0]));
        let begin = Instant::now();
        pass(&map, keys);
        begin.elapsed().as_nanos() as f64 / LOOKUPS as f64
    })
}

/// Asks a map for one key again and again, turn by turn another.
fn repeating<const N: usize>(keys: &Keys<N>, map: &Rc<impl Map<[u8; N], u32> + 'static>) -> Turn {
    const LENGTH: usize = 256;
    const ROUNDS: usize = 128;
    let (keys, map) = (keys.bound[..32].to_vec(), Rc::clone(map));
    Box::new(move |number| {
        let keys = [keys[number % keys.len()]; LENGTH];
        pass(Ours(&*map), &keys);
        let begin = Instant::now();
        for _ in 0..ROUNDS {
            pass(Ours(&*map), &keys);
        }
        begin.elapsed().as_nanos() as f64 / (ROUNDS * LENGTH) as f64
    })
}

/// Enters all subjects with so many bindings.
pub(crate) fn enter<const N: usize>(race: &mut Race, bindings: usize) -> Cell {
    let keys = Keys::<N>::new(bindings);
    // Without the cache the same map is asked: where in memory it lies is no difference.
    let cached = keys.fill(Cached::<_, u32>::new(SEED));
    let cached_keyed = keys.fill(Cached::<_, u32, Keyed>::new(SEED));
    let open = keys.fill(Open::<_, u32>::new(SEED));
    // A cache that is asked for keys in random order sleeps for long. So there are maps whose cache
    // is of use, too.
    let cached_used = keys.fill(Cached::<_, u32>::new(SEED));
    let open_used = keys.fill(Open::<_, u32>::new(SEED));
    let mut swiss = Swiss::with_hasher(FixedState::with_seed(SEED));
    swiss.extend(keys.bound.iter().enumerate().map(|(number, key)| (*key, number as u32)));
    let swiss = Rc::new(swiss);
    let Keys { shuffled, absent, paired, .. } = &keys;
    // What is compared runs side by side.
    Cell {
        bindings,
        cached_hit: race.enter(repeating(&keys, &cached_used)),
        open_hit: race.enter(repeating(&keys, &open_used)),
        uncached: race.enter(asking(shuffled, &cached, |map, keys| pass(Ours(map.as_ref()), keys))),
        cached: race.enter(asking(shuffled, &cached, |map, keys| pass(Ours(map), keys))),
        uncached_called: race
            .enter(asking(shuffled, &cached, |map, keys| pass(Called(Ours(map.as_ref())), keys))),
        cached_called: race
            .enter(asking(shuffled, &cached, |map, keys| pass(Called(Ours(map)), keys))),
        uncached_keyed: race
            .enter(asking(shuffled, &cached_keyed, |map, keys| pass(Ours(map.as_ref()), keys))),
        cached_keyed: race
            .enter(asking(shuffled, &cached_keyed, |map, keys| pass(Ours(map), keys))),
        open: race.enter(asking(shuffled, &open, |map, keys| pass(Ours(map), keys))),
        swiss: race.enter(asking(shuffled, &swiss, |map, keys| pass(map, keys))),
        open_absent: race.enter(asking(absent, &open, |map, keys| pass(Ours(map), keys))),
        swiss_absent: race.enter(asking(absent, &swiss, |map, keys| pass(map, keys))),
        uncached_pairs: race
            .enter(asking(paired, &cached_used, |map, keys| pass(Ours(map.as_ref()), keys))),
        cached_pairs: race.enter(asking(paired, &cached_used, |map, keys| pass(Ours(map), keys))),
        open_pairs: race.enter(asking(paired, &open_used, |map, keys| pass(Ours(map), keys))),
        swiss_pairs: race.enter(asking(paired, &swiss, |map, keys| pass(map, keys))),
        chains: chains::enter(race, &keys, &cached_used, &open_used),
        fixed: (bindings <= 1000).then(|| enter_fixed(race, &keys)),
    }
}

fn enter_fixed<const N: usize>(race: &mut Race, keys: &Keys<N>) -> Fixed {
    let map = keys.fill(Cached::<_, u32>::with_buckets(SEED, BUCKETS));
    let used = keys.fill(Cached::<_, u32>::with_buckets(SEED, BUCKETS));
    let (dependent_old, dependent_miss) = chains::enter_fixed(race, keys);
    Fixed {
        hit: race.enter(repeating(keys, &used)),
        miss: race.enter(asking(&keys.shuffled, &map, |map, keys| pass(Ours(map), keys))),
        old: race.enter(asking(&keys.shuffled, &map, |map, keys| pass(Ours(map.as_ref()), keys))),
        dependent_hit: race.enter(chains::staying(keys, &used)),
        dependent_miss,
        dependent_old,
    }
}
