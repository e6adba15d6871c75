//! All tests of the crate, in one binary: a module for each subject.

mod explore;
mod generated;
mod monitors;
mod refused;
mod sources;
