//! All tests of the crate, in one binary: a module for each subject.
//!
//! `steady` and `memory` are others: they replace the allocator by one that counts.

mod frames;
mod hostile;
mod ports;
mod raw;
mod rules;
mod simulated;
mod states;
