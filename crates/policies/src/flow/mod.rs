//! The slot `flow`: how much the two ends take.

mod absent;
mod credit;

pub use absent::Absent;
pub use credit::Credit;
