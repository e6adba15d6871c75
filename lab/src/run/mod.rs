//! `lab run`, `lab search`, `lab sweep`: scenarios, in the simulator and on real sockets.
//!
//! | file | what |
//! | --- | --- |
//! | `simulated.rs` | one run in the simulator |
//! | `real.rs`, `station.rs` | one run on real sockets: the wire and two processes, and what each of these does |
//! | `both.rs` | both of them, compared |
//! | `network.rs` | what lies between the simulated stations |
//! | `search.rs` | many seeds, until one breaks a promise; then the least that breaks it |
//! | `sweep.rs` | the n-th packet lost, doubled, late, altered |
//! | `outcome.rs` | what came of a run |
//! | `written.rs` | traces and captures as files |
//! | `commands.rs` | what the commands say and do |

mod both;
mod commands;
mod network;
pub(crate) mod outcome;
pub(crate) mod real;
mod search;
pub(crate) mod simulated;
mod station;
mod sweep;
mod written;

#[cfg(test)]
mod tests;

pub(crate) use commands::{Run, Search, Sweep, profiles};
pub(crate) use outcome::Outcome;
pub(crate) use real::run as on_sockets;
pub(crate) use simulated::{Keep, run as simulate};
pub(crate) use station::Station;
