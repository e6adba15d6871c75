//! The slot `rate`: how fast.

mod absent;
mod paced;
mod paced_by_congestion;

pub use absent::Absent;
pub use paced::Paced;
pub use paced_by_congestion::PacedByCongestion;
