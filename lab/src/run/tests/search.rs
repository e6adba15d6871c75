//! Bugs are found, and shrunk; the same seed is the same run.

use super::two;
use crate::measure::Stop;
use crate::run::search::{Found, search};
use crate::run::simulated::{self, Keep};
use crate::run::sweep::{Mishap, sweep};
use crate::scenario::{self, Scenario};
use crate::workload::Broken;

const BAD: &str = "profile = \"lan-1g\"\nloss = 0.1\nduplicate = 0.1\ncorrupt = 0.1";
const FEW: &str = "{ messages = { count = 20, message = \"64 B\" } }";

fn find(scenario: &Scenario, seeds: u64) -> Option<Found> {
    search(scenario, 1, seeds, 2, || {}, &Stop::default()).1
}

/// The octet that a retransmission forgets: one lost message shows it.
#[test]
fn a_planted_bug_is_found_and_shrunk() {
    let planted = two(BAD, "\"planted\"", FEW);
    let found = find(&planted, 100).expect("one of them loses something");
    assert_eq!(found.broken, Broken::Altered);
    assert!(found.faults.len() <= 5, "{:?}", found.faults);
    assert!(found.of > found.faults.len(), "there was something to shrink");
    // What is written can be read, and shows the bug.
    let text = scenario::written(&planted.text, found.seed, &found.faults, &planted.stations);
    let again = super::scenario(&text);
    assert_eq!(again.faults.as_deref(), Some(&found.faults[..]));
    let outcome =
        simulated::run(&again, again.seed, again.faults.as_deref(), Keep::default()).outcome;
    assert_eq!(outcome.broken(), Some(&Broken::Altered));
}

#[test]
fn what_has_no_bug_has_none() {
    for transport in ["{ stop-and-wait = {} }", "{ artp = {} }"] {
        assert!(find(&two(BAD, transport, FEW), 300).is_none(), "{transport}");
    }
    // In fragments, and on several sessions.
    let several = "{ associations = { count = 3, messages = 5, message = \"5 kB\" } }";
    assert!(find(&two(BAD, "{ artp = { packet = 600 } }", several), 300).is_none());
}

#[test]
fn the_nth_packet_may_come_to_grief() {
    let mishaps = [Mishap::Lose, Mishap::Duplicate, Mishap::Delay, Mishap::Alter];
    let late = std::time::Duration::from_millis(300);
    for transport in ["{ stop-and-wait = {} }", "{ artp = {} }"] {
        let sound = two("profile = \"lan-1g\"", transport, FEW);
        let (run, failures) = sweep(&sound, &mishaps, 25, late, || true);
        assert_eq!((run, failures.len()), (2 * 4 * 25, 0), "{failures:?}");
    }
    let planted = two("profile = \"lan-1g\"", "\"planted\"", FEW);
    let (_, failures) = sweep(&planted, &[Mishap::Lose], 25, late, || true);
    // Each of the twenty messages is sent again when it is lost. When its acknowledgement is, too;
    // but then it is a copy.
    assert_eq!(failures.len(), 20);
}

#[test]
fn one_seed_is_one_run() {
    let bad = two(BAD, "{ stop-and-wait = {} }", FEW);
    let keep = Keep { trace: true, ..Keep::default() };
    let hash = |seed| simulated::run(&bad, seed, None, keep).outcome.trace;
    let first = hash(7);
    assert!((0..100).all(|_| hash(7) == first));
    assert_ne!(hash(8), first);
}

/// What is logged of a run, and nothing else, makes the same run.
#[test]
fn the_faults_of_a_run_make_it_again() {
    for seed in 0..50 {
        let bad = two(BAD, "{ stop-and-wait = {} }", FEW);
        let keep = Keep { trace: true, faults: true, ..Keep::default() };
        let first = simulated::run(&bad, seed, None, keep);
        let again = simulated::run(&bad, seed, Some(&first.faults), keep);
        assert_eq!(first.outcome.trace, again.outcome.trace, "seed {seed}");
    }
}
