//! Lookups in each map with 1000 bindings: of one key again and again, of bound keys in random
//! order, of others.

use std::hint::black_box;

use stackwright_base::map::{Cached, Chained, Hashing, Keyed, Map, Open, Trusted};
use stackwright_gate::subject::{Figure, Subject};

const BINDINGS: usize = 1000;
const LOOKUPS: usize = 4096;
const SEED: u64 = 1;

/// Two addresses and two ports, as a header has them.
type Key = [u8; 12];

/// Which keys are asked for.
#[derive(Clone, Copy)]
enum Asked {
    /// One again and again: a cache has it.
    Hit,
    /// Bound ones, never one twice in a row: a cache has another.
    Miss,
    /// Others.
    Absent,
}

pub(crate) fn add(figures: &mut Vec<Figure>) {
    hashed::<Keyed>(figures, "Keyed");
    hashed::<Trusted>(figures, "Trusted");
}

fn hashed<H: Hashing + 'static>(figures: &mut Vec<Figure>, hashing: &str) {
    for (asked, name) in [(Asked::Hit, "hit"), (Asked::Miss, "miss"), (Asked::Absent, "absent")] {
        let mut push = |map: &str, figure: fn(String, Asked) -> Figure| {
            figures.push(figure(format!("map/{map}/{hashing}/{name}"), asked));
        };
        push("Chained", figure::<Chained<Key, u32, H>>);
        push("Cached", figure::<Cached<Key, u32, H>>);
        push("Open", figure::<Open<Key, u32, H>>);
    }
}

fn figure<M: Map<Key, u32> + 'static>(name: String, asked: Asked) -> Figure {
    Figure::new(name, LOOKUPS as u64, move || Lookups::<M>::new(asked))
}

struct Lookups<M> {
    map: M,
    keys: Vec<Key>,
    found: usize,
}

impl<M: Map<Key, u32>> Lookups<M> {
    fn new(asked: Asked) -> Self {
        let mut random = fastrand::Rng::with_seed(SEED);
        // The first octet tells bound keys from others, and the number of a key is in it: all are
        // different.
        let mut draw = |bound: bool| -> Vec<Key> {
            let mut key = |number: usize| {
                let mut key = [u8::from(bound); 12];
                random.fill(&mut key[1..8]);
                key[8..].copy_from_slice(&(number as u32).to_be_bytes());
                key
            };
            (0..BINDINGS).map(&mut key).collect()
        };
        let (bound, absent) = (draw(true), draw(false));
        let mut map = M::new(SEED);
        for (number, key) in bound.iter().enumerate() {
            map.install(*key, number as u32);
        }
        let mut order = |mut keys: Vec<Key>| {
            random.shuffle(&mut keys);
            keys.into_iter().cycle().take(LOOKUPS).collect()
        };
        let (keys, found) = match asked {
            Asked::Hit => (vec![bound[BINDINGS / 2]; LOOKUPS], LOOKUPS),
            Asked::Miss => (order(bound), LOOKUPS),
            Asked::Absent => (order(absent), 0),
        };
        Lookups { map, keys, found }
    }
}

impl<M: Map<Key, u32>> Subject for Lookups<M> {
    fn work(&mut self) -> u64 {
        let mut found = 0;
        let mut sum = 0;
        for key in black_box(&self.keys) {
            if let Some(value) = self.map.resolve(key) {
                found += 1;
                sum += u64::from(value);
            }
        }
        assert_eq!(found, self.found, "bound keys are found, and no others");
        sum
    }
}
