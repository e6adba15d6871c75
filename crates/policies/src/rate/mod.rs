//! The slot `rate`: how fast.

mod absent;
mod paced;

pub use absent::Absent;
pub use paced::Paced;
