//! All tests of the crate, in one binary: a module for each subject.

mod memory;
mod scene;
mod talks;
