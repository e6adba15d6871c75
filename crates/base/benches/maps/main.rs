//! What a lookup costs, by size of the map and length of the key; and experiment E1 of the thesis (table 5.2).
//!
//! ```text
//! cargo bench -p stackwright-base --bench maps
//! cargo bench -p stackwright-base --bench maps -- --quick
//! ```
//!
//! All subjects with keys of one length run in turns, and only ratios of turns of one round count. `hashbrown` has its own
//! customary hash, foldhash; our maps have theirs.

mod measure;
mod subjects;

use std::process::ExitCode;

use measure::{Race, Ratio, Subject};
use subjects::Cell;

/// The greatest number of bindings, at which the smallest is looked back upon.
const MANY: usize = 1_000_000;

/// A promise, and what has been seen of it.
struct Promise {
    what: &'static str,
    most: f64,
    seen: Vec<(String, Ratio)>,
    /// Whether the interval's upper end has to keep it, not only the ratio.
    surely: bool,
}

impl Promise {
    fn new(what: &'static str, most: f64, surely: bool) -> Self {
        Promise { what, most, surely, seen: Vec::new() }
    }

    fn see(&mut self, octets: usize, bindings: usize, ratio: Ratio) {
        self.seen.push((format!("{octets} octets, {bindings} bindings"), ratio));
    }

    /// Says whether it is kept.
    fn judge(&self) -> bool {
        let judged = |ratio: &Ratio| if self.surely { ratio.high } else { ratio.value };
        let missed = self.seen.iter().filter(|(_, ratio)| judged(ratio) > self.most).count();
        let worst = self.seen.iter().max_by(|left, right| judged(&left.1).total_cmp(&judged(&right.1)));
        let (place, worst) = worst.expect("something was measured");
        let verdict = if missed == 0 { "met".into() } else { format!("MISSED in {missed}") };
        println!(
            "{}: {verdict} of {} (at most {}{}; worst {worst} with {place})",
            self.what,
            self.seen.len(),
            self.most,
            if self.surely { ", upper end" } else { "" },
        );
        missed == 0
    }
}

struct Promises {
    flat: Promise,
    flat_open: Promise,
    miss: Promise,
    miss_called: Promise,
    miss_keyed: Promise,
    miss_fixed: Promise,
    open: Promise,
    flat_fixed: Promise,
}

fn main() -> ExitCode {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 15 } else { 151 };
    let mut promises = Promises {
        flat: Promise::new("1. chained with cache, hit at 10^6 / hit at 100", 1.05, true),
        flat_open: Promise::new("1. open addressing, hit at 10^6 / hit at 100", 1.05, true),
        miss: Promise::new("2. chained, cache misses / no cache, buckets grow", 1.03, false),
        miss_called: Promise::new("2. the same, each lookup a call", 1.03, false),
        miss_keyed: Promise::new("2. the same, keyed hashing", 1.03, false),
        miss_fixed: Promise::new("2. chained, cache misses / no cache, 101 buckets", 1.03, false),
        open: Promise::new("3. open addressing / hashbrown, keys in random order", 1.1, false),
        flat_fixed: Promise::new("4. E1: hit at 1000 / hit at 100, 101 buckets", 1.05, true),
    };
    length::<4>(rounds, &mut promises);
    length::<7>(rounds, &mut promises);
    length::<8>(rounds, &mut promises);
    length::<12>(rounds, &mut promises);
    length::<14>(rounds, &mut promises);
    let Promises { flat, flat_open, miss, miss_called, miss_keyed, miss_fixed, open, flat_fixed } = promises;
    let kept = [flat, flat_open, miss, miss_called, miss_keyed, miss_fixed, open, flat_fixed]
        .map(|promise| promise.judge());
    if kept.contains(&false) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Times and reports all that has keys of `N` octets.
fn length<const N: usize>(rounds: usize, promises: &mut Promises) {
    let mut race = Race::default();
    // Hits with the fewest and with the most bindings are compared, and so run close to each other.
    let sizes = [100, MANY].into_iter().chain((200..=1000).step_by(100));
    let mut cells: Vec<Cell> = sizes.map(|bindings| subjects::enter::<N>(&mut race, bindings)).collect();
    cells.sort_by_key(|cell| cell.bindings);
    for _ in 0..rounds {
        race.round();
    }
    report::<N>(&race, &cells, promises);
    report_fixed::<N>(&race, &cells, promises);
}

fn report<const N: usize>(race: &Race, cells: &[Cell], promises: &mut Promises) {
    println!("keys of {N} octets; ns a lookup are of this run only, ratios have their 95 % interval");
    println!(
        "{:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {:21} {:>6} {:>6}  {:21} {:>6} {:>7} {:>7}",
        "",
        "cached",
        "open",
        "",
        "cached",
        "",
        "hash-",
        "cached / uncached",
        "called",
        "keyed",
        "open / hashbrown",
        "absent",
        "cached",
        "open"
    );
    println!(
        "{:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {:21} {:>6} {:>6}  {:21} {:>6} {:>7} {:>7}",
        "bindings",
        "hit",
        "hit",
        "uncached",
        "miss",
        "open",
        "brown",
        "in random order",
        "*",
        "**",
        "in random order",
        "***",
        "****",
        "****"
    );
    for cell in cells {
        let miss = race.ratio(cell.cached, cell.uncached);
        let called = race.ratio(cell.cached_called, cell.uncached_called);
        let keyed = race.ratio(cell.cached_keyed, cell.uncached_keyed);
        let open = race.ratio(cell.open, cell.swiss);
        promises.miss.see(N, cell.bindings, miss);
        promises.miss_called.see(N, cell.bindings, called);
        promises.miss_keyed.see(N, cell.bindings, keyed);
        promises.open.see(N, cell.bindings, open);
        let ns = |subject: Subject| format!("{:.2}", race.median(subject));
        println!(
            "{:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {miss:21} {:>6.3} {:>6.3}  {open:21} {:>6.3} {:>7.3} {:>7.3}",
            cell.bindings,
            ns(cell.cached_hit),
            ns(cell.open_hit),
            ns(cell.uncached),
            ns(cell.cached),
            ns(cell.open),
            ns(cell.swiss),
            called.value,
            keyed.value,
            race.ratio(cell.open_absent, cell.swiss_absent).value,
            race.ratio(cell.cached_pairs, cell.uncached_pairs).value,
            race.ratio(cell.open_pairs, cell.swiss_pairs).value,
        );
    }
    println!("*    cached / uncached, each lookup a call, which keeps nothing in registers");
    println!("**   cached / uncached, with the hashing for keys that peers choose");
    println!("***  open / hashbrown, keys that are not bound");
    println!("**** cached / uncached and open / hashbrown, each key twice in a row");
    let (few, many) = (&cells[0], &cells[cells.len() - 1]);
    let (cached, open) =
        (race.ratio(many.cached_hit, few.cached_hit), race.ratio(many.open_hit, few.open_hit));
    println!("hit at {} / hit at {}: cached {cached}, open {open}\n", many.bindings, few.bindings);
    promises.flat.see(N, many.bindings, cached);
    promises.flat_open.see(N, many.bindings, open);
}

/// Experiment E1, beside the thesis' figures: those are of a machine, a language and a hash of their time.
fn report_fixed<const N: usize>(race: &Race, cells: &[Cell], promises: &mut Promises) {
    println!("E1, keys of {N} octets, 101 buckets");
    println!(
        "{:>8} {:>6} {:>6} {:>6}  {:21} {:21}",
        "bindings", "hit", "miss", "old", "miss / old", "old / hit"
    );
    let fixed: Vec<_> = cells.iter().filter_map(|cell| Some((cell.bindings, cell.fixed.as_ref()?))).collect();
    let mut misses = Vec::new();
    for (bindings, subjects) in &fixed {
        let miss = race.ratio(subjects.miss, subjects.old);
        promises.miss_fixed.see(N, *bindings, miss);
        misses.push(miss.value);
        println!(
            "{bindings:>8} {:>6.2} {:>6.2} {:>6.2}  {miss:21} {:21}",
            race.median(subjects.hit),
            race.median(subjects.miss),
            race.median(subjects.old),
            race.ratio(subjects.old, subjects.hit),
        );
    }
    let (Some((_, few)), Some((most, many))) = (fixed.first(), fixed.last()) else { return };
    let flat = race.ratio(many.hit, few.hit);
    promises.flat_fixed.see(N, *most, flat);
    println!("                        here                   in the thesis");
    println!("hit(1000) / hit(100)    {flat:22} 1 (16.7 to 17.3 us)");
    println!(
        "miss / old              mean {:.3}, most {:.3}  mean 1.025, most 1.071",
        misses.iter().sum::<f64>() / misses.len() as f64,
        misses.iter().copied().fold(0.0, f64::max)
    );
    println!("old(1000) / old(100)    {:22} 2.07 to 2.14", race.ratio(many.old, few.old));
    println!("old(100) / hit(100)     {:22} 1.11 to 1.14", race.ratio(few.old, few.hit));
    println!("old(1000) / hit(1000)   {:22} 2.31 to 2.36\n", race.ratio(many.old, many.hit));
}
