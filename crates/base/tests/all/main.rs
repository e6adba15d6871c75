//! All tests of the crate, in one binary: a module for each subject.
//!
//! `steady` is another one: it replaces the allocator by one that counts.

mod conformance;
mod events;
mod exhausted;
mod layer;
mod maps;
mod names;
mod refusals;
mod streams;
mod waiting;
