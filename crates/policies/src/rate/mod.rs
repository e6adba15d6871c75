//! The slot `rate`: how fast.

mod absent;

pub use absent::Absent;
