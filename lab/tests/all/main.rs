//! All tests of the crate, in one binary: a module for each subject.

mod campaign;
mod link;
mod scenarios;
mod table;
