//! What every kind of map promises, with every hashing, beside the standard library's.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use proptest::prelude::*;
use stackwright_base::map::{
    Cached, Chained, ChainedHash, ChainedHashCached, Hashing, Key, Keyed, Map, MapKind, Open,
    OpenAddressing, Trusted,
};

/// A test for each kind of map, for maps with the keys and values that it is asked with.
macro_rules! for_every_kind {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            use super::*;

            #[test]
            fn chained() {
                super::$test::<ChainedHash<Trusted>>();
            }

            #[test]
            fn chained_keyed() {
                super::$test::<ChainedHash<Keyed>>();
            }

            #[test]
            fn cached() {
                super::$test::<ChainedHashCached<Trusted>>();
            }

            #[test]
            fn cached_keyed() {
                super::$test::<ChainedHashCached<Keyed>>();
            }

            #[test]
            fn open() {
                super::$test::<OpenAddressing<Trusted>>();
            }

            #[test]
            fn open_keyed() {
                super::$test::<OpenAddressing<Keyed>>();
            }
        })*
    };
}

for_every_kind!(
    agrees_with_the_standard_map,
    installing_again_replaces,
    the_erased_is_not_found,
    the_cache_compares_keys,
    the_cache_survives_a_move,
    grows,
    does_not_age,
    colliding_keys,
    keys_of_every_sort,
);

#[derive(Clone, Debug)]
enum Step<K> {
    Install(K, u32),
    Erase(K),
    Lookup(K),
    Change(K, u32),
}

fn steps<K: Clone + std::fmt::Debug>(
    key: impl Strategy<Value = K> + Clone,
) -> impl Strategy<Value = Vec<Step<K>>> {
    let step = prop_oneof![
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::Install(key, value)),
        2 => key.clone().prop_map(Step::Erase),
        4 => key.clone().prop_map(Step::Lookup),
        1 => (key, any::<u32>()).prop_map(|(key, value)| Step::Change(key, value)),
    ];
    prop::collection::vec(step, 0..400)
}

/// Plays `steps` to `map` and to the standard map.
fn agree<K: Key + std::fmt::Debug>(mut map: impl Map<K, u32>, steps: Vec<Step<K>>) {
    let mut standard = HashMap::new();
    for step in steps {
        match step {
            Step::Install(key, value) => {
                assert_eq!(map.install(key.clone(), value), standard.insert(key, value));
            }
            Step::Erase(key) => assert_eq!(map.erase(&key), standard.remove(&key)),
            Step::Lookup(key) => {
                assert_eq!(map.lookup(&key), standard.get(&key));
                assert_eq!(map.resolve(&key), standard.get(&key).copied());
            }
            Step::Change(key, value) => {
                assert_eq!(
                    map.lookup_mut(&key).map(|old| std::mem::replace(old, value)),
                    standard.get_mut(&key).map(|old| std::mem::replace(old, value))
                );
            }
        }
        assert_eq!((map.len(), map.is_empty()), (standard.len(), standard.is_empty()));
    }
    let bindings: Vec<(K, u32)> = map.iter().map(|(key, value)| (key.clone(), *value)).collect();
    assert_eq!(bindings.len(), standard.len(), "each binding once");
    assert_eq!(bindings.into_iter().collect::<HashMap<_, _>>(), standard);
}

fn agrees_with_the_standard_map<M: MapKind>() {
    proptest!(|(seed: u64, steps in steps(0u16..60))| agree(M::Of::new(seed), steps));
    proptest!(|(seed: u64, steps in steps("[a-c]{0,3}"))| agree(M::Of::new(seed), steps));
    proptest!(|(seed: u64, steps in steps((0u8..60).prop_map(Same)))| agree(M::Of::new(seed), steps));
}

#[test]
fn a_fixed_number_of_buckets_agrees_with_the_standard_map() {
    proptest!(|(buckets in 0usize..9, steps in steps(0u16..60))| {
        agree(Chained::<_, _>::with_buckets(1, buckets), steps.clone());
        agree(Cached::<_, _>::with_buckets(1, buckets), steps.clone());
        agree(Chained::<_, _, Keyed>::with_buckets(1, buckets), steps.clone());
        agree(Cached::<_, _, Keyed>::with_buckets(1, buckets), steps);
    });
}

fn installing_again_replaces<M: MapKind>() {
    let mut map = M::Of::new(1);
    assert_eq!(map.install("door", 1), None);
    assert_eq!(map.install("window", 2), None);
    assert_eq!(map.install("door", 3), Some(1));
    assert_eq!((map.len(), map.resolve(&"door"), map.resolve(&"window")), (2, Some(3), Some(2)));
}

fn the_erased_is_not_found<M: MapKind>() {
    let mut map = M::Of::new(1);
    for key in 0..20 {
        map.install(key, key);
        // In the cache by its installation, then by having been found.
        assert_eq!(map.erase(&key), Some(key));
        assert_eq!((map.resolve(&key), map.erase(&key)), (None, None));
        map.install(key, key);
        assert_eq!(map.resolve(&key), Some(key));
        assert_eq!(map.erase(&key), Some(key));
        assert_eq!((map.resolve(&key), map.lookup_mut(&key).copied()), (None, None));
        map.install(100 + key, 0);
    }
}

fn the_cache_compares_keys<M: MapKind>() {
    let mut map = M::Of::new(1);
    map.install(Same(1), 'a');
    map.install(Same(2), 'b');
    for _ in 0..3 {
        assert_eq!(map.resolve(&Same(1)), Some('a'));
        assert_eq!(map.resolve(&Same(2)), Some('b'));
        assert_eq!(map.resolve(&Same(2)), Some('b'));
        assert_eq!(map.resolve(&Same(3)), None);
    }
}

fn the_cache_survives_a_move<M: MapKind>() {
    // Whichever is erased, whichever was asked for before, awake or asleep: the others are where
    // they were.
    for erased in 0..12 {
        for asked in 0..12 {
            for times in [1, 2, 20] {
                let mut map = M::Of::new(1);
                for key in 0..12 {
                    map.install(Same(key), key);
                }
                for turn in 0..times {
                    map.resolve(&Same(turn % 12));
                }
                map.resolve(&Same(asked));
                map.erase(&Same(erased));
                assert_eq!(map.resolve(&Same(asked)), (asked != erased).then_some(asked));
                for key in 0..12 {
                    assert_eq!(map.resolve(&Same(key)), (key != erased).then_some(key));
                }
            }
        }
    }
}

fn grows<M: MapKind>() {
    let mut map = M::Of::new(1);
    for key in 0..100_000u32 {
        assert_eq!(map.install(key, !key), None);
    }
    assert!((0..100_000).all(|key| map.resolve(&key) == Some(!key)));
    assert!((100_000..200_000).all(|key| map.lookup(&key).is_none()));
    assert_eq!(map.iter().map(|(key, _)| *key).collect::<HashSet<_>>().len(), 100_000);
    assert!((0..100_000).all(|key| map.erase(&key) == Some(!key)));
    assert!(map.is_empty() && map.iter().next().is_none());
}

/// Counts how often keys are compared.
#[derive(Clone, Debug)]
struct Counted(u32);

thread_local! {
    static COMPARED: Cell<u64> = const { Cell::new(0) };
    static HASHED: Cell<u64> = const { Cell::new(0) };
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        COMPARED.set(COMPARED.get() + 1);
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        HASHED.set(HASHED.get() + 1);
        self.0.hash(hasher);
    }
}

fn does_not_age<M: MapKind>() {
    // A hundred bindings at a time, twenty thousand in all: each new one replaces the oldest.
    let mut map = M::Of::new(1);
    let compared = |map: &M::Of<Counted, u32>, keys: std::ops::Range<u32>| {
        COMPARED.set(0);
        assert!(keys.clone().all(|key| map.resolve(&Counted(key)) == Some(key)));
        assert!(keys.into_iter().all(|key| map.resolve(&Counted(!key)).is_none()));
        COMPARED.get()
    };
    for key in 0..100 {
        map.install(Counted(key), key);
    }
    let young = compared(&map, 0..100);
    for key in 100..20_000 {
        map.install(Counted(key), key);
        assert_eq!(map.erase(&Counted(key - 100)), Some(key - 100));
    }
    assert_eq!(map.len(), 100);
    let old = compared(&map, 19_900..20_000);
    assert!(old < young + 200, "{old} comparisons in an old map, {young} in a young one");
}

/// All of these have one hash.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Same(u8);

impl Hash for Same {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

fn colliding_keys<M: MapKind>() {
    let mut map = M::Of::new(1);
    for key in 0..=255 {
        map.install(Same(key), key);
    }
    assert!((0..=255).all(|key| map.resolve(&Same(key)) == Some(key)));
    for key in (0..=255).step_by(2) {
        assert_eq!(map.erase(&Same(key)), Some(key));
    }
    assert!((0..=255).all(|key| map.resolve(&Same(key)) == (key % 2 == 1).then_some(key)));
    assert_eq!(map.len(), 128);
}

fn keys_of_every_sort<M: MapKind>() {
    fn bind<M: MapKind, K: Key>(keys: impl IntoIterator<Item = K>) {
        let keys: Vec<K> = keys.into_iter().collect();
        let mut map = M::Of::new(1);
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(map.install(key.clone(), number), None);
        }
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(map.resolve(key), Some(number));
        }
    }
    bind::<M, _>([()]);
    bind::<M, _>([true, false]);
    bind::<M, _>((0..300u128).map(|number| number << 64));
    bind::<M, _>((0..300u64).map(|number| (number as u8, (number * 77) as u32, number as u16)));
    bind::<M, _>((0..70).map(|length| "x".repeat(length)));
    bind::<M, _>((0..70).map(|length| vec![0u8; length]));
}

/// Asks `$check` about each kind of map with a cache.
macro_rules! on_every_map_with_a_cache {
    ($check:ident) => {
        $check(Cached::<_, _>::new(1));
        $check(Open::<_, _>::new(1));
        $check(Cached::<_, _, Keyed>::new(1));
        $check(Open::<_, _, Keyed>::new(1));
        $check(Cached::<_, _>::with_buckets(1, 101));
    };
}

#[test]
fn a_hit_hashes_nothing_and_compares_once() {
    fn check(mut map: impl Map<Counted, u32>) {
        for key in 0..100 {
            map.install(Counted(key), key);
        }
        // The one that was installed last; then one that was found.
        for key in [99, 5] {
            map.resolve(&Counted(key));
            HASHED.set(0);
            COMPARED.set(0);
            for _ in 0..10 {
                assert_eq!(map.resolve(&Counted(key)), Some(key));
                assert_eq!(map.lookup_mut(&Counted(key)), Some(&mut { key }));
            }
            assert_eq!((HASHED.get(), COMPARED.get()), (0, 20));
        }
        // Pairs keep it awake.
        HASHED.set(0);
        for key in 0..50 {
            map.resolve(&Counted(key));
            map.resolve(&Counted(key));
        }
        assert_eq!(HASHED.get(), 50);
    }
    on_every_map_with_a_cache!(check);
}

#[test]
fn a_cache_that_is_of_no_use_sleeps_and_wakes_by_itself() {
    fn check(mut map: impl Map<Counted, u32>) {
        for key in 0..100 {
            map.install(Counted(key), key);
        }
        // In turn, and keys that nobody has: no key is compared in vain, but for a few tries.
        for first in [0, 100] {
            for key in (first..first + 100).cycle().take(100_000) {
                map.resolve(&Counted(key));
            }
            let lookups = 10_000;
            HASHED.set(0);
            COMPARED.set(0);
            for key in (first..first + 100).cycle().take(lookups) {
                assert_eq!(map.resolve(&Counted(key)).is_some(), key < 100);
            }
            assert_eq!(HASHED.get(), lookups as u64);
            let compared = COMPARED.get() - if first == 0 { lookups as u64 } else { 0 };
            // An open map compares the few that are in another's slot.
            assert!(compared < 1000, "{compared} keys compared in vain");
        }
        // One key in a row is noticed, and so are pairs; soon, after keys in no order were few.
        let hashed = |from: u32, lookups: u32, key: fn(u32) -> u32| {
            HASHED.set(0);
            for number in from..from + lookups {
                let key = key(number);
                assert_eq!(map.resolve(&Counted(key)), Some(key));
            }
            HASHED.get()
        };
        // The longest nap, first.
        hashed(0, 70_000, |_| 7);
        assert_eq!(hashed(0, 1000, |_| 7), 0);
        assert_eq!(hashed(0, 30, |number| number), 30);
        assert!(hashed(0, 1000, |_| 7) <= 40, "a short nap");
        hashed(0, 100_000, |number| number % 100);
        hashed(0, 70_000, |number| number / 2 % 100);
        assert_eq!(hashed(0, 1000, |number| number / 2 % 100), 500);
    }
    on_every_map_with_a_cache!(check);
}

#[test]
fn the_bits_that_maps_use_are_good() {
    // Keys that differ in little, as addresses and ports do, are told apart as well as chance
    // would: by the lowest bits, which name a slot, and by those below the 32nd, which name a
    // bucket.
    fn check<K: Key>(hashing: &impl Hashing, key: impl Fn(u32) -> K) {
        for bits in [6, 11, 16] {
            for shift in [0, 32 - bits] {
                let mut filled = vec![false; 1 << bits];
                for number in 0..1u32 << bits {
                    filled[(hashing.hash(&key(number)) >> shift) as usize % (1 << bits)] = true;
                }
                // By chance one of e stays empty; fewer is better still.
                let empty = filled.iter().filter(|filled| !**filled).count();
                let most = filled.len() as f64 * 0.40 + 6.0;
                assert!(
                    (empty as f64) < most,
                    "{empty} of 2^{bits} stay empty in the bits from {shift}"
                );
            }
        }
    }
    fn check_all(hashing: &impl Hashing) {
        check(hashing, |number| number);
        check(hashing, |number| u64::from(number) << 20);
        check(hashing, |number| u64::from(number) << 48);
        check(hashing, |number| number as usize * 4096);
        check(hashing, |number| (number as u16).to_be_bytes());
        check(hashing, |number| [number as u8, 1, (number >> 8) as u8, 2]);
        check(hashing, |number| u64::from(number).to_be_bytes());
        check(hashing, |number| (u128::from(number) << 48).to_be_bytes());
        check(hashing, |number| format!("a name that is longer than that, {number}"));
        check(hashing, |number| (number as u8, number >> 8));
    }
    check_all(&Trusted);
    check_all(&Keyed::new(1));
    assert_ne!(Keyed::new(1).hash(&7u32), Keyed::new(2).hash(&7u32), "the seed matters");
}
