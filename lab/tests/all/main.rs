//! All tests of the crate, in one binary: a module for each subject.

mod browser;
mod link;
mod picture;
mod requires;
mod scenarios;
mod table;
mod watch;
