//! All tests of the crate, in one binary: a module for each subject.
//!
//! `catalogue` is another one: `tests/new-protocol` builds it alone.

mod channel;
mod encrypted;
