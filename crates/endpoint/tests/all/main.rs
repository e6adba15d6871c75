//! All tests of the crate, in one binary: a module for each subject.
//!
//! `idle` is another one: it counts what the whole process holds.

mod blocking;
mod commands;
#[cfg(feature = "tokio")]
mod common;
#[cfg(feature = "tokio")]
mod cores;
#[cfg(feature = "tokio")]
mod crowd;
mod edge;
mod ends;
mod frames;
mod lifetimes;
mod limits;
mod placed;
mod placement;
mod qlog;
mod questions;
mod rebinding;
#[cfg(feature = "tokio")]
mod tasks;
#[cfg(feature = "tokio")]
mod threads;
#[cfg(feature = "tokio")]
mod times;
#[cfg(feature = "tracing")]
mod tracing;
