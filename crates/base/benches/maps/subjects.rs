//! What is timed: maps of every kind with the same bindings, asked for the same keys in the same order.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use foldhash::fast::FixedState;
use stackwright_base::map::{Cached, Chained, Map, Open};

use crate::measure::{Race, Subject, Turn};

/// Lookups of one turn.
const LOOKUPS: usize = 8192;
/// The buckets of the thesis' map.
const BUCKETS: usize = 101;
const SEED: u64 = 1;

/// The subjects with one number of bindings, and keys of one length.
pub(crate) struct Cell {
    pub(crate) bindings: usize,
    /// The cache hits.
    pub(crate) cached_hit: Subject,
    pub(crate) open_hit: Subject,
    /// Keys in random order, so that the cache misses.
    pub(crate) uncached: Subject,
    pub(crate) cached: Subject,
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
    /// A fixed number of buckets.
    pub(crate) fixed: Option<Fixed>,
}

/// The subjects of experiment E1: the cache hits, it misses, and the old map, which has none.
pub(crate) struct Fixed {
    pub(crate) hit: Subject,
    pub(crate) miss: Subject,
    pub(crate) old: Subject,
}

/// Bound keys and others, and orders to ask for them.
struct Keys<const N: usize> {
    bound: Vec<[u8; N]>,
    /// Every bound key once before any comes again, for many turns or until all have been asked for.
    shuffled: Rc<Vec<[u8; N]>>,
    paired: Rc<Vec<[u8; N]>>,
    absent: Rc<Vec<[u8; N]>>,
    /// A key for each turn, so often as a turn has lookups.
    repeated: Rc<Vec<[u8; N]>>,
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
        let repeated = shuffled[..16].iter().flat_map(|key| [*key; LOOKUPS]).collect();
        let absent = order(&absent);
        Keys {
            bound,
            shuffled: Rc::new(shuffled),
            paired: Rc::new(paired),
            absent: Rc::new(absent),
            repeated: Rc::new(repeated),
        }
    }

    fn fill<M: Map<[u8; N], u32>>(&self, mut map: M) -> Rc<M> {
        for (number, key) in self.bound.iter().enumerate() {
            map.install(*key, number as u32);
        }
        Rc::new(map)
    }
}

/// Asks a map for keys, turn by turn another piece of `order`.
///
/// What was timed before has taken the processor's caches: of a small map, all is asked for once before the time is taken;
/// of a large one only some, since it does not fit there anyway.
fn asking<K: 'static>(order: &Rc<Vec<K>>, look: impl Fn(&K) -> Option<u32> + 'static) -> Turn {
    let order = Rc::clone(order);
    let pass = move |keys: &[K]| {
        let mut sum = 0u64;
        for key in keys {
            if let Some(value) = look(key) {
                sum += u64::from(value);
            }
        }
        black_box(sum);
    };
    Box::new(move |number| {
        let start = number * LOOKUPS % (order.len() - LOOKUPS + 1);
        let start = start - start % LOOKUPS;
        let keys = &order[start..start + LOOKUPS];
        pass(black_box(&keys[..LOOKUPS / 4]));
        let begin = Instant::now();
        pass(black_box(keys));
        begin.elapsed().as_nanos() as f64 / LOOKUPS as f64
    })
}

/// Enters all subjects with so many bindings.
pub(crate) fn enter<const N: usize>(race: &mut Race, bindings: usize) -> Cell {
    let keys = Keys::<N>::new(bindings);
    let chained = keys.fill(Chained::<_, u32>::new(SEED));
    let cached = keys.fill(Cached::<_, u32>::new(SEED));
    let open = keys.fill(Open::<_, u32>::new(SEED));
    let mut swiss = hashbrown::HashMap::with_hasher(FixedState::with_seed(SEED));
    swiss.extend(keys.bound.iter().enumerate().map(|(number, key)| (*key, number as u32)));
    let swiss = Rc::new(swiss);

    let mut chained = |order: &Rc<_>| {
        let map = Rc::clone(&chained);
        race.enter(asking(order, move |key| map.resolve(key)))
    };
    let (uncached, uncached_pairs) = (chained(&keys.shuffled), chained(&keys.paired));
    let mut cached = |order: &Rc<_>| {
        let map = Rc::clone(&cached);
        race.enter(asking(order, move |key| map.resolve(key)))
    };
    let (cached, cached_pairs, cached_hit) =
        (cached(&keys.shuffled), cached(&keys.paired), cached(&keys.repeated));
    let mut open = |order: &Rc<_>| {
        let map = Rc::clone(&open);
        race.enter(asking(order, move |key| map.resolve(key)))
    };
    let (open, open_pairs, open_hit, open_absent) =
        (open(&keys.shuffled), open(&keys.paired), open(&keys.repeated), open(&keys.absent));
    let mut swiss = |order: &Rc<_>| {
        let map = Rc::clone(&swiss);
        race.enter(asking(order, move |key| map.get(key).copied()))
    };
    let (swiss, swiss_pairs, swiss_absent) =
        (swiss(&keys.shuffled), swiss(&keys.paired), swiss(&keys.absent));
    let fixed = (bindings <= 1000).then(|| enter_fixed(race, &keys));
    Cell {
        bindings,
        cached_hit,
        open_hit,
        uncached,
        cached,
        open,
        swiss,
        open_absent,
        swiss_absent,
        uncached_pairs,
        cached_pairs,
        open_pairs,
        swiss_pairs,
        fixed,
    }
}

fn enter_fixed<const N: usize>(race: &mut Race, keys: &Keys<N>) -> Fixed {
    let old = keys.fill(Chained::<_, u32>::with_buckets(SEED, BUCKETS));
    let cached = keys.fill(Cached::<_, u32>::with_buckets(SEED, BUCKETS));
    let hit = Rc::clone(&cached);
    Fixed {
        old: race.enter(asking(&keys.shuffled, move |key| old.resolve(key))),
        miss: race.enter(asking(&keys.shuffled, move |key| cached.resolve(key))),
        hit: race.enter(asking(&keys.repeated, move |key| hit.resolve(key))),
    }
}
