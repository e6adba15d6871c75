//! E1: what a lookup in a map costs, by the number of bindings and the length of the key.

use std::hint::black_box;
use std::time::Instant;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use stackwright_base::map::{self, Cached, Chained, Key, Map as _, Open};
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row, figures};
use stackwright_results::verdict::Target;

use super::{About, AnyTable, Cell, Table};
use crate::measure::{Contestant, Course, Limit};

/// The buckets of the thesis' map.
pub(super) const BUCKETS: usize = 101;
/// Lookups of one sample, each of which asks for the key that the one before has found; as many go
/// before it for nothing. So many are from one try of a cache that does not hit to the next.
const LOOKUPS: usize = 65_536;
const HIT: &str = "cache hits";
const MISS: &str = "cache misses";
const OLD: &str = "no cache";
const OPEN: &str = "open addressing";
const SWISS: &str = "hashbrown";

/// Measures a row for so many bindings.
type Measure = fn(usize, &mut Row, &mut Course) -> Result<(), Problem>;

/// The lengths of keys, each with table 5.2 in microseconds: hits, misses, the old map; for each of
/// those 100 bindings to 1000.
const LENGTHS: [(usize, Measure, [[f64; 10]; 3]); 5] = [
    (
        4,
        lookups::<4>,
        [
            [16.8, 16.8, 16.7, 16.9, 16.7, 16.8, 17.0, 17.0, 16.9, 17.0],
            [19.1, 20.1, 22.7, 25.1, 27.3, 30.0, 30.9, 33.8, 37.0, 39.3],
            [19.1, 20.1, 22.3, 24.8, 25.9, 29.9, 30.7, 33.7, 37.0, 39.2],
        ],
    ),
    (
        7,
        lookups::<7>,
        [
            [17.0, 17.1, 17.0, 16.9, 16.9, 16.8, 16.9, 17.0, 17.0, 17.0],
            [19.0, 20.2, 22.4, 24.7, 26.8, 30.0, 31.8, 34.1, 37.4, 40.8],
            [18.9, 20.0, 22.1, 23.7, 26.0, 28.5, 31.2, 33.7, 36.9, 40.0],
        ],
    ),
    (
        8,
        lookups::<8>,
        [
            [17.0, 17.0, 17.1, 17.0, 17.0, 17.0, 17.1, 17.0, 17.0, 17.0],
            [19.0, 20.3, 22.9, 25.2, 27.6, 30.1, 31.9, 34.2, 37.5, 41.0],
            [19.0, 20.0, 22.0, 23.9, 26.0, 28.7, 31.3, 33.8, 37.0, 40.0],
        ],
    ),
    (
        12,
        lookups::<12>,
        [
            [17.1, 17.2, 17.1, 17.1, 17.2, 17.1, 17.2, 17.1, 17.0, 17.0],
            [19.2, 20.5, 22.9, 25.5, 27.8, 30.3, 31.9, 34.4, 37.5, 41.2],
            [19.1, 20.3, 22.1, 24.0, 26.1, 28.9, 31.4, 33.9, 37.1, 40.1],
        ],
    ),
    (
        14,
        lookups::<14>,
        [
            [17.0, 17.0, 17.3, 17.2, 17.0, 17.2, 17.0, 17.1, 17.0, 17.2],
            [19.4, 20.9, 23.1, 25.8, 27.9, 30.5, 32.3, 34.7, 37.9, 41.8],
            [19.2, 20.5, 22.3, 24.1, 26.3, 29.0, 31.6, 33.9, 37.1, 40.5],
        ],
    ),
];

/// The table. Its tasks are how many bindings there are, with keys of which length.
pub(super) const TABLE: &dyn AnyTable = &Table::<(usize, Measure), ()> {
    about: About {
        name: "map",
        title: "cost of a lookup",
        measures: "One lookup in a map of 101 buckets, each for the key that the previous lookup \
                   found: with a one-entry cache that hits or misses, without a cache, and in maps that grow.",
        source: "thesis of 2003, table 5.2 and figure 5.1",
        axes: Axes { x: "bindings", y: "time of a lookup", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |_| cells(),
    open: |_, _| Ok(()),
    measure: |(), (bindings, measure), row, course| measure(*bindings, row, course),
};

fn cells() -> Vec<Cell<(usize, Measure)>> {
    let mut cells = Vec::new();
    for (length, measure, document) in LENGTHS {
        for (place, bindings) in (100..=1000).step_by(100).enumerate() {
            let group = format!("keys of {length} octets");
            let key = format!("{length}-octets/{bindings}");
            let row = Row::new(key, group, format!("{bindings} bindings"), "s");
            let numbers = [HIT, MISS, OLD].into_iter().zip(document.map(|row| row[place]));
            let row = row.at(bindings as f64).beside(figures(numbers, "µs"));
            cells.push((row, (bindings, measure)));
        }
    }
    cells
}

fn lookups<const N: usize>(
    bindings: usize,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let next = cycle::<N>(bindings, course.seed);
    let own: Vec<_> = next.iter().map(|(from, _)| (*from, *from)).collect();
    let first = &next[0].0;
    let swiss = || {
        let mut map = HashMap::with_hasher(FixedState::with_seed(1));
        map.extend(next.iter().copied());
        map
    };
    row.columns = course.compete([
        Contestant::ours(HIT, || {
            let map = filled(Cached::<_, _>::with_buckets(1, BUCKETS), &own);
            timed(first, |key| map.lookup(key))
        }),
        Contestant::ours(MISS, || {
            let map = filled(Cached::<_, _>::with_buckets(1, BUCKETS), &next);
            timed(first, |key| map.lookup(key))
        }),
        Contestant::ours(OLD, || {
            let map = filled(Chained::<_, _>::with_buckets(1, BUCKETS), &next);
            timed(first, |key| map.lookup(key))
        }),
        Contestant::ours(OPEN, || {
            let map = filled(Open::<_, _>::new(1), &next);
            timed(first, |key| map.lookup(key))
        }),
        Contestant::peer(SWISS, || {
            let map = swiss();
            timed(first, |key| map.get(key))
        }),
    ])?;
    row.compare(MISS, OLD, Some(Target::AtMost(1.025)));
    row.compare(HIT, OLD, Some(Target::AtMost(1.0)));
    row.compare(OPEN, SWISS, Some(Target::AtMost(1.1)));
    Ok(())
}

/// Keys, each with the next of one random cycle through all.
pub(super) fn cycle<const N: usize>(bindings: usize, seed: u64) -> Vec<([u8; N], [u8; N])> {
    let mut random = fastrand::Rng::with_seed(seed.wrapping_add(bindings as u64));
    let mut seen = HashSet::with_hasher(FixedState::with_seed(1));
    let mut keys = Vec::new();
    while keys.len() < bindings {
        let mut key = [0; N];
        random.fill(&mut key);
        if seen.insert(key) {
            keys.push(key);
        }
    }
    let next = keys.iter().cycle().skip(1);
    let mut pairs: Vec<_> = keys.iter().copied().zip(next.copied()).collect();
    // Installed in another order than they are gone through in.
    random.shuffle(&mut pairs);
    pairs
}

/// The map with these bindings. Every sample fills one of its own: then chained maps, with a cache
/// or without, lie in the same places. Where a binding lies across two lines of the processor's
/// cache, a lookup costs a tenth more, and maps that are kept side by side differ by that.
pub(super) fn filled<K: Key, M: map::Map<K, K>>(mut map: M, bindings: &[(K, K)]) -> M {
    for (from, to) in bindings {
        map.install(from.clone(), to.clone());
    }
    map
}

/// The seconds of one lookup. Each depends on the one before, as it is for a demultiplexer that
/// goes on with what it found. No key is copied: octets that were just written in two parts are not
/// read back at once, which all would wait for.
#[inline(never)]
pub(super) fn timed<'a, K: 'a>(
    first: &'a K,
    lookup: impl Fn(&'a K) -> Option<&'a K>,
) -> Result<f64, Problem> {
    let lost = || Problem::new("a map has lost a binding");
    let mut key = black_box(first);
    for _ in 0..LOOKUPS {
        key = lookup(key).ok_or_else(lost)?;
    }
    let begin = Instant::now();
    for _ in 0..LOOKUPS {
        match lookup(key) {
            Some(next) => key = next,
            None => return Err(lost()),
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    black_box(key);
    Ok(seconds / LOOKUPS as f64)
}
