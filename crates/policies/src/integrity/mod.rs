//! The slot `integrity`: whether a packet is what was sent.

mod absent;

pub use absent::Absent;
