//! All tests of the crate, in one binary: a module for each subject.
//!
//! `steady` is another one: it replaces the allocator by one that counts, and only that.

mod allocator;
mod attacks;
mod by_hand;
mod congestion;
mod engine;
mod protection;
mod runs;
mod simulated;

#[path = "../../benches/packet/ends.rs"]
#[allow(dead_code, reason = "some of it is for the bench only")]
mod ends;
#[path = "../../benches/packet/monolith/mod.rs"]
mod monolith;
