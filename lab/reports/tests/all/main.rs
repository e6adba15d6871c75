//! All tests of the package, in one binary: a module for each subject.

mod campaign;
mod report;
