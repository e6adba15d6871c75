//! All tests of the crate, in one binary: a module for each subject.

mod apart;
mod talks;
