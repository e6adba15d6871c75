//! How many seeds a test tries.

use std::env;
use std::ops::Range;

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
