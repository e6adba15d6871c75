//! `lab run`, `lab search`, `lab sweep`: scenarios, in the simulator and on real sockets.
//!
//! | file | what |
//! | --- | --- |
//! | `simulated.rs` | one run in the simulator |
//! | `real.rs`, `process.rs`, `station.rs` | one run on real sockets: the wire, two processes, and what each of these does |
//! | `both.rs` | both of them, compared |
//! | `network.rs` | what lies between the simulated stations |
//! | `search.rs` | many seeds, until one breaks a promise; then the least that breaks it |
//! | `sweep.rs` | the n-th packet lost, doubled, late, altered |
//! | `outcome.rs` | what came of a run |
//! | `written.rs` | traces and captures as files |
//! | `commands.rs` | what the commands say and do |

mod both;
mod commands;
pub(crate) mod network;
pub(crate) mod outcome;
mod process;
mod real;
mod search;
pub(crate) mod simulated;
mod station;
mod sweep;
mod written;

#[cfg(test)]
mod tests;

use std::io::Write as _;

use stackwright_results::Problem;

use crate::scenario::Scenario;

pub(crate) use commands::{Run, Search, Sweep, profiles};
pub(crate) use outcome::Outcome;
pub(crate) use process::Process;
pub(crate) use station::Station;

/// Runs a scenario that no file holds, in the simulator or on real sockets.
///
/// # Errors
/// Where it is none, or cannot run on real sockets.
pub(crate) fn text(text: String, seed: u64, real: bool) -> Result<(Scenario, Outcome), Problem> {
    if !real {
        let scenario = Scenario::read("scenario".into(), text)
            .map_err(|flaw| flaw.problem("scenario".as_ref()))?;
        let outcome = simulated::run(&scenario, seed, None, simulated::Keep::default()).outcome;
        return Ok((scenario, outcome));
    }
    // The processes at both ends read it.
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().map_err(Problem::new)?;
    file.write_all(text.as_bytes()).map_err(Problem::new)?;
    let scenario = Scenario::load(file.path(), &[])?;
    let outcome = real::run(&scenario, file.path(), &[], seed)?;
    Ok((scenario, outcome))
}
