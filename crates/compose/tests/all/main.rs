//! All tests of the crate, in one binary: a module for each subject.
//!
//! `leaks` is another one: it replaces the allocator by one that counts.

mod batches;
mod equations;
mod filters;
mod frames;
mod graph;
mod questions;
mod refusals;
mod stations;
#[path = "refusals/toys/mod.rs"]
mod toys;
