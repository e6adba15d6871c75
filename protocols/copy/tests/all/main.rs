//! All tests of the crate, in one binary: a module for each subject.

mod disks;
mod rate;
mod resume;
mod trees;
