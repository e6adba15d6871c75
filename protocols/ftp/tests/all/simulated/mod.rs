//! Client and server in a simulated world: whatever goes wrong, a copy ends, and ends well or says
//! that it did not.
//!
//! `SEEDS=n` runs n times as many seeds, `SEED=n` only that one.

mod attacks;
mod commands;
mod copies;
mod corners;
mod crowd;
mod data_gone;
mod dialogue;
mod forms;
mod graphs;
mod lines;
mod listed;
mod looked_at;
mod memory;
mod merged;
mod odd;
mod raw;
mod recordings;
mod relay;
mod replies;
mod reported;
mod resume;
mod resumed;
mod scopes;
mod secure;
mod secured;
mod setting;
mod strange;
mod sweep;
mod trees;
mod vanished;
mod zone;
