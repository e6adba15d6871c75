//! All tests of the crate, in one binary: a module for each subject.
//!
//! `memory` is another one: it counts what the whole process holds.

mod certificates;
mod simulated;
mod strangers;
