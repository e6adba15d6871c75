//! Chains of lookups: what is found says what is asked for next.
//!
//! Each key is bound to the next of one random cycle through all keys. Then a lookup can begin only
//! when the one before has ended, and what is timed is how long a lookup takes, not how many a
//! processor can have under way.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;

use foldhash::fast::FixedState;
use stackwright_base::map::{Cached, Key, Keyed, Map, Open};

use crate::measure::{Race, Subject, Turn};
use crate::subjects::{BUCKETS, Called, Keys, LOOKUPS, Ours, Resolve, SEED};

/// A map of theirs.
type Swiss<K> = hashbrown::HashMap<K, K, FixedState>;

/// The subjects whose lookups depend on each other, with one number of bindings and keys of one
/// length.
pub(crate) struct Chains {
    /// The cache hits: a key is bound to its own number.
    pub(crate) cached_hit: Subject,
    pub(crate) open_hit: Subject,
    pub(crate) uncached: Subject,
    pub(crate) cached: Subject,
    /// The same, each lookup a call.
    pub(crate) uncached_called: Subject,
    pub(crate) cached_called: Subject,
    /// The same in a loop, with the hashing for keys that peers choose.
    pub(crate) uncached_keyed: Subject,
    pub(crate) cached_keyed: Subject,
    pub(crate) open: Subject,
    pub(crate) swiss: Subject,
}

/// All maps alike, those that are not ours too.
trait Next<'a, K>: Copy {
    /// What `key` is bound to: another key.
    fn next(self, key: &K) -> Option<&'a K>;
}

impl<'a, K: Key, M: Map<K, K>> Next<'a, K> for Ours<'a, M> {
    #[inline]
    fn next(self, key: &K) -> Option<&'a K> {
        self.0.lookup(key)
    }
}

impl<'a, K: Key> Next<'a, K> for &'a Swiss<K> {
    #[inline]
    fn next(self, key: &K) -> Option<&'a K> {
        self.get(key)
    }
}

impl<'a, K, M: Next<'a, K>> Next<'a, K> for Called<M> {
    #[inline(never)]
    fn next(self, key: &K) -> Option<&'a K> {
        self.0.next(key)
    }
}

/// Goes so many bindings on from `key`. Not inlined: the same code for every subject with this map.
#[inline(never)]
fn follow<'a, K: Key>(map: impl Next<'a, K>, mut key: &'a K, mut lookups: usize) -> &'a K {
    while lookups > 0 {
        key = map.next(key).expect("every key is bound to another");
        lookups -= 1;
    }
    key
}

/// Follows the cycle, turn by turn on from where it was left.
///
/// What was timed before has taken the processor's caches, so the way before it is gone first,
/// untimed. Every subject begins somewhere else, so that none finds the bindings of a large map
/// where a neighbour with the same map has just had them.
fn following<const N: usize, T: 'static>(
    keys: &Keys<N>,
    map: &Rc<T>,
    follow: impl for<'a> Fn(&'a T, &'a [u8; N], usize) -> &'a [u8; N] + 'static,
) -> Turn {
    let (mut key, map) = (keys.bound[fastrand::usize(..keys.bound.len())], Rc::clone(map));
    Box::new(move |_| {
        key = *follow(&map, &key, LOOKUPS / 4);
        let begin = Instant::now();
        key = *black_box(follow(&map, black_box(&key), LOOKUPS));
        begin.elapsed().as_nanos() as f64 / LOOKUPS as f64
    })
}

/// Asks for the key whose number was found, which is always the same. Not inlined, as above.
#[inline(never)]
fn stay<K>(map: impl Resolve<K>, keys: &[K], mut number: u32, lookups: usize) -> u32 {
    for _ in 0..lookups {
        number = map.resolve(&keys[number as usize]).expect("every key is bound to its number");
    }
    number
}

/// Asks a map that binds keys to their own numbers for one key again and again, turn by turn
/// another.
pub(crate) fn staying<const N: usize>(
    keys: &Keys<N>,
    map: &Rc<impl Map<[u8; N], u32> + 'static>,
) -> Turn {
    const FEW: usize = 32;
    const ROUNDS: usize = 4;
    let (keys, map) = (keys.bound[..FEW].to_vec(), Rc::clone(map));
    Box::new(move |turn| {
        let number = stay(Ours(&*map), &keys, (turn % FEW) as u32, LOOKUPS / 4);
        let begin = Instant::now();
        black_box(stay(Ours(&*map), &keys, black_box(number), ROUNDS * LOOKUPS));
        begin.elapsed().as_nanos() as f64 / (ROUNDS * LOOKUPS) as f64
    })
}

/// Binds every key to the next of a random cycle through all.
fn cycle<const N: usize>(keys: &[[u8; N]]) -> Vec<([u8; N], [u8; N])> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    fastrand::Rng::with_seed(SEED).shuffle(&mut order);
    // Installed in the keys' own order: in the cycle's, they would lie in memory as they are gone
    // through.
    let mut bindings: Vec<_> = keys.iter().map(|key| (*key, *key)).collect();
    for (number, next) in order.iter().zip(order.iter().cycle().skip(1)) {
        bindings[*number].1 = keys[*next];
    }
    bindings
}

fn fill<const N: usize, M: Map<[u8; N], [u8; N]>>(
    bindings: &[([u8; N], [u8; N])],
    mut map: M,
) -> Rc<M> {
    for (key, next) in bindings {
        map.install(*key, *next);
    }
    Rc::new(map)
}

/// Enters all subjects with these keys. The maps are those that bind them to their numbers.
pub(crate) fn enter<const N: usize>(
    race: &mut Race,
    keys: &Keys<N>,
    numbers: &Rc<impl Map<[u8; N], u32> + 'static>,
    open_numbers: &Rc<impl Map<[u8; N], u32> + 'static>,
) -> Chains {
    let bindings = cycle(&keys.bound);
    // Without the cache the same map is asked: where in memory the kernel has put a large one makes
    // a tenth of a lookup.
    let cached = fill(&bindings, Cached::<_, _>::new(SEED));
    let cached_keyed = fill(&bindings, Cached::<_, _, Keyed>::new(SEED));
    let open = fill(&bindings, Open::<_, _>::new(SEED));
    let mut swiss = Swiss::with_hasher(FixedState::with_seed(SEED));
    swiss.extend(bindings);
    // What is compared runs side by side.
    Chains {
        cached_hit: race.enter(staying(keys, numbers)),
        open_hit: race.enter(staying(keys, open_numbers)),
        uncached: race.enter(following(keys, &cached, |map, key, lookups| {
            follow(Ours(map.as_ref()), key, lookups)
        })),
        cached: race
            .enter(following(keys, &cached, |map, key, lookups| follow(Ours(map), key, lookups))),
        uncached_called: race.enter(following(keys, &cached, |map, key, lookups| {
            follow(Called(Ours(map.as_ref())), key, lookups)
        })),
        cached_called: race.enter(following(keys, &cached, |map, key, lookups| {
            follow(Called(Ours(map)), key, lookups)
        })),
        uncached_keyed: race.enter(following(keys, &cached_keyed, |map, key, lookups| {
            follow(Ours(map.as_ref()), key, lookups)
        })),
        cached_keyed: race.enter(following(keys, &cached_keyed, |map, key, lookups| {
            follow(Ours(map), key, lookups)
        })),
        open: race
            .enter(following(keys, &open, |map, key, lookups| follow(Ours(map), key, lookups))),
        swiss: race
            .enter(following(keys, &Rc::new(swiss), |map, key, lookups| follow(map, key, lookups))),
    }
}

/// Enters the old map with a fixed number of buckets, and one whose cache misses.
pub(crate) fn enter_fixed<const N: usize>(race: &mut Race, keys: &Keys<N>) -> (Subject, Subject) {
    let bindings = cycle(&keys.bound);
    let map = fill(&bindings, Cached::<_, _>::with_buckets(SEED, BUCKETS));
    let old = following(keys, &map, |map, key, lookups| follow(Ours(map.as_ref()), key, lookups));
    let miss = following(keys, &map, |map, key, lookups| follow(Ours(map), key, lookups));
    (race.enter(old), race.enter(miss))
}
