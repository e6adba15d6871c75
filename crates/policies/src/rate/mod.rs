//! The slot `rate`: how fast.

mod absent;
mod paced;
mod told;

pub use absent::Absent;
pub use paced::Paced;
pub use told::Told;
