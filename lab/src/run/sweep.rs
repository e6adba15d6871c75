//! The n-th packet: for n = 1, 2, 3 … exactly the n-th is lost, doubled, late or altered, each way.

use stackwright_contract::Duration;
use stackwright_simulator::{Deed, Event};

use super::simulated::{self, Keep};
use crate::scenario::{Fault, Scenario};
use crate::workload::Broken;

/// What can happen to the n-th packet, as a command names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Mishap {
    Lose,
    Duplicate,
    Delay,
    Alter,
}

impl Mishap {
    fn deed(self, late: Duration) -> Deed {
        match self {
            Mishap::Lose => Deed::Lose,
            Mishap::Duplicate => Deed::Duplicate { by: late },
            Mishap::Delay => Deed::HoldBack { by: late },
            // One in the middle of most messages.
            Mishap::Alter => Deed::Alter { bit: 331 },
        }
    }
}

/// One that broke a promise.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) broken: Broken,
}

/// Runs `scenario` once for each mishap, each way of each link that a flow uses, and each n up to
/// `to`. `seen` hears of each. Gives how many were run, and those that broke a promise.
pub(crate) fn sweep(
    scenario: &Scenario,
    mishaps: &[Mishap],
    to: u64,
    late: Duration,
    mut seen: impl FnMut() -> bool,
) -> (u64, Vec<Failure>) {
    let (mut run, mut failures) = (0, Vec::new());
    for (from, to_station) in ways(scenario) {
        for mishap in mishaps {
            for nth in 0..to {
                let event = Event { nth, deed: mishap.deed(late) };
                let fault = Fault { from, to: to_station, event };
                let outcome =
                    simulated::run(scenario, scenario.seed, Some(&[fault]), Keep::default())
                        .outcome;
                run += 1;
                failures.extend(outcome.broken().cloned().map(|broken| Failure { fault, broken }));
                if !seen() {
                    return (run, failures);
                }
            }
        }
    }
    (run, failures)
}

/// Each way on which packets of a flow travel, once.
pub(crate) fn ways(scenario: &Scenario) -> Vec<(usize, usize)> {
    let flows = scenario.flows.iter();
    let mut ways: Vec<_> =
        flows.flat_map(|flow| [(flow.from, flow.to), (flow.to, flow.from)]).collect();
    ways.sort_unstable();
    ways.dedup();
    ways
}
