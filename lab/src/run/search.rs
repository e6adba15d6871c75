//! Many seeds, until one breaks a promise; then the least that breaks it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use stackwright_simulator::shrink;

use super::simulated::{self, Keep};
use crate::measure::Stop;
use crate::scenario::{Fault, Scenario};
use crate::workload::Broken;

/// A run that broke a promise, as short as it could be made.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) seed: u64,
    /// What was broken first.
    pub(crate) broken: Broken,
    /// How many things went wrong in that run, and those that are enough.
    pub(crate) of: usize,
    pub(crate) faults: Vec<Fault>,
}

/// Runs `scenario` with the seeds `first..first + seeds` on so many threads, and stops at the first
/// that breaks a promise. `seen` hears of each seed that is done. Gives how many were run, and what
/// was found: of several the lowest seed.
pub(crate) fn search(
    scenario: &Scenario,
    first: u64,
    seeds: u64,
    jobs: usize,
    seen: impl Fn() + Sync,
    stop: &Stop,
) -> (u64, Option<Found>) {
    let (next, run) = (AtomicU64::new(0), AtomicU64::new(0));
    let lowest = AtomicU64::new(u64::MAX);
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let over = at >= seeds || lowest.load(Ordering::Relaxed) != u64::MAX;
                    if over || stop.asked() {
                        return;
                    }
                    let seed = first.wrapping_add(at);
                    if simulated::run(scenario, seed, None, Keep::default())
                        .outcome
                        .broken()
                        .is_some()
                    {
                        lowest.fetch_min(at, Ordering::Relaxed);
                    }
                    run.fetch_add(1, Ordering::Relaxed);
                    seen();
                }
            });
        }
    });
    let found = match lowest.into_inner() {
        u64::MAX => None,
        at => Some(reduce(scenario, first.wrapping_add(at))),
    };
    (run.into_inner(), found)
}

/// The least that goes wrong in the run of `seed` and still breaks a promise.
///
/// # Panics
/// Where that run breaks none.
pub(crate) fn reduce(scenario: &Scenario, seed: u64) -> Found {
    let keep = Keep { faults: true, ..Keep::default() };
    let all = simulated::run(scenario, seed, None, keep).faults;
    let of = all.len();
    let broken = |faults: &[Fault]| {
        let run = simulated::run(scenario, seed, Some(faults), Keep::default());
        run.outcome.broken().cloned()
    };
    let faults = shrink(all, |faults| broken(faults).is_some());
    let broken = broken(&faults).expect("it was the last that failed, or all of them");
    Found { seed, broken, of, faults }
}
