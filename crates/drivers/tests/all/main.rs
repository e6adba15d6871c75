//! All tests of the crate, in one binary: a module for each subject.

mod air;
mod files;
mod ip;
mod line;
mod namespace;
mod pipe;
mod tcp;
mod udp;
