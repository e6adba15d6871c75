//! All tests of the crate, in one binary: a module for each subject.

mod congestion;
mod names;
mod totality;
