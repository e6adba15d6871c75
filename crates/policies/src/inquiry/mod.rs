//! The slot `inquiry`: when the sender asks, and insists.

mod absent;

pub use absent::Absent;
