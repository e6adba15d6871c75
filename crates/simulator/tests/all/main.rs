//! All tests of the crate, in one binary: a module for each subject.

mod channel;
mod datagrams;
mod disk;
mod echo;
mod groups;
mod link;
mod network;
mod pipe;
mod streams;
mod world;
