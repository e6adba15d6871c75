//! What is printed of a race.

use crate::Promises;
use crate::measure::{Race, Subject};
use crate::subjects::Cell;

pub(crate) fn overlapped<const N: usize>(race: &Race, cells: &[Cell], promises: &mut Promises) {
    println!(
        "keys of {N} octets, all known beforehand: overlapped lookups; ns a lookup are of this run only, ratios have their 95 % interval"
    );
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
        promises.overlapped.see(N, cell.bindings, miss);
        promises.overlapped_called.see(N, cell.bindings, called);
        promises.overlapped_keyed.see(N, cell.bindings, keyed);
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

/// Lookups of which each depends on the one before.
pub(crate) fn dependent<const N: usize>(race: &Race, cells: &[Cell], promises: &mut Promises) {
    println!("keys of {N} octets, each found where the one before was: dependent lookups");
    println!(
        "{:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {:21} {:21} {:21} {:21}",
        "",
        "cached",
        "open",
        "",
        "cached",
        "",
        "hash-",
        "cached / uncached",
        "the same, called",
        "the same, keyed",
        ""
    );
    println!(
        "{:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {:21} {:21} {:21} {:21}",
        "bindings",
        "hit",
        "hit",
        "uncached",
        "miss",
        "open",
        "brown",
        "",
        "*",
        "**",
        "open / hashbrown"
    );
    for cell in cells {
        let chains = &cell.chains;
        let miss = race.ratio(chains.cached, chains.uncached);
        let called = race.ratio(chains.cached_called, chains.uncached_called);
        let keyed = race.ratio(chains.cached_keyed, chains.uncached_keyed);
        let open = race.ratio(chains.open, chains.swiss);
        promises.miss.see(N, cell.bindings, miss);
        promises.miss_called.see(N, cell.bindings, called);
        promises.miss_keyed.see(N, cell.bindings, keyed);
        promises.open_dependent.see(N, cell.bindings, open);
        let ns = |subject: Subject| format!("{:.2}", race.median(subject));
        println!(
            "{:>8} {:>6} {:>6} {:>8} {:>8} {:>6} {:>6}  {miss:21} {called:21} {keyed:21} {open:21}",
            cell.bindings,
            ns(chains.cached_hit),
            ns(chains.open_hit),
            ns(chains.uncached),
            ns(chains.cached),
            ns(chains.open),
            ns(chains.swiss),
        );
    }
    let (few, many) = (&cells[0], &cells[cells.len() - 1]);
    let cached = race.ratio(many.chains.cached_hit, few.chains.cached_hit);
    let open = race.ratio(many.chains.open_hit, few.chains.open_hit);
    println!("hit at {} / hit at {}: cached {cached}, open {open}\n", many.bindings, few.bindings);
    promises.flat_dependent.see(N, many.bindings, cached);
    promises.flat_open_dependent.see(N, many.bindings, open);
}

/// Experiment E1, beside the thesis' figures: those are of a machine, a language and a hash of
/// their time.
pub(crate) fn fixed<const N: usize>(race: &Race, cells: &[Cell], promises: &mut Promises) {
    println!("E1, keys of {N} octets, 101 buckets; dependent lookups, and overlapped ones");
    println!(
        "{:>8} {:>6} {:>6} {:>6}  {:21} {:>6} {:>6} {:>6}  {:21} {:21}",
        "bindings",
        "hit",
        "miss",
        "old",
        "miss / old",
        "hit",
        "miss",
        "old",
        "miss / old",
        "old / hit"
    );
    let fixed: Vec<_> =
        cells.iter().filter_map(|cell| Some((cell.bindings, cell.fixed.as_ref()?))).collect();
    let (mut misses, mut dependent_misses) = (Vec::new(), Vec::new());
    for (bindings, subjects) in &fixed {
        let miss = race.ratio(subjects.miss, subjects.old);
        let dependent = race.ratio(subjects.dependent_miss, subjects.dependent_old);
        promises.overlapped_fixed.see(N, *bindings, miss);
        promises.miss_fixed.see(N, *bindings, dependent);
        misses.push(miss.value);
        dependent_misses.push(dependent.value);
        println!(
            "{bindings:>8} {:>6.2} {:>6.2} {:>6.2}  {dependent:21} {:>6.2} {:>6.2} {:>6.2}  {miss:21} {:21}",
            race.median(subjects.dependent_hit),
            race.median(subjects.dependent_miss),
            race.median(subjects.dependent_old),
            race.median(subjects.hit),
            race.median(subjects.miss),
            race.median(subjects.old),
            race.ratio(subjects.old, subjects.hit),
        );
    }
    let (Some((_, few)), Some((most, many))) = (fixed.first(), fixed.last()) else { return };
    let flat = race.ratio(many.hit, few.hit);
    promises.flat_fixed.see(N, *most, flat);
    println!(
        "                            dependent              overlapped             in the thesis"
    );
    println!(
        "hit(1000) / hit(100)        {:22} {flat:22} 1 (16.7 to 17.3 us)",
        race.ratio(many.dependent_hit, few.dependent_hit)
    );
    let summary = |misses: &[f64]| {
        let mean = misses.iter().sum::<f64>() / misses.len() as f64;
        format!("mean {mean:.3}, most {:.3}", misses.iter().copied().fold(0.0, f64::max))
    };
    println!(
        "miss / old                  {:22} {:22} mean 1.025, most 1.071",
        summary(&dependent_misses),
        summary(&misses)
    );
    let line = |what: &str, dependent, overlapped, thesis: &str| {
        println!("{what:27} {dependent:22} {overlapped:22} {thesis}");
    };
    let olds = (race.ratio(many.dependent_old, few.dependent_old), race.ratio(many.old, few.old));
    line("old(1000) / old(100)", olds.0, olds.1, "2.07 to 2.14");
    let fews = (race.ratio(few.dependent_old, few.dependent_hit), race.ratio(few.old, few.hit));
    line("old(100) / hit(100)", fews.0, fews.1, "1.11 to 1.14");
    let manies =
        (race.ratio(many.dependent_old, many.dependent_hit), race.ratio(many.old, many.hit));
    line("old(1000) / hit(1000)", manies.0, manies.1, "2.31 to 2.36\n");
}
