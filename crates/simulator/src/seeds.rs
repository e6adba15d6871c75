//! How many seeds a test tries, and on how many processors.

use std::env;
use std::ops::Range;
use std::thread;

/// Returns the seeds of a test that usually tries `usual` of them.
///
/// The environment has the last word: `SEEDS=20` tries twenty times as many, and `SEED=7` only that
/// one.
///
/// # Panics
/// If a variable is no number: a test that tried fewer than it was asked would not be noticed.
pub fn seeds(usual: u64) -> Range<u64> {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..usual * number("SEEDS").unwrap_or(1),
    }
}

/// Runs each of these seeds, on all processors; returns what came of them, in their order.
///
/// # Panics
/// If one of the runs does.
pub fn on_all_processors<R: Send>(seeds: Range<u64>, run: impl Fn(u64) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let run = &run;
    let part = |first: usize| {
        let seeds = seeds.clone().skip(first).step_by(threads);
        move || seeds.map(|seed| (seed, run(seed))).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(part(first))).collect();
        let ended = parts.into_iter().map(|part| part.join());
        ended.flat_map(|part| part.unwrap_or_else(|why| std::panic::resume_unwind(why))).collect()
    });
    all.sort_unstable_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, came)| came).collect()
}
