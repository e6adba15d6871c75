//! The slot `lifetime`: whether something is still of use.

mod absent;
mod timestamps;

pub use absent::Absent;
pub use timestamps::Timestamps;
