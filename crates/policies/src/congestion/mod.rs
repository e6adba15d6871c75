//! The slot `congestion`: how much the network takes.

mod absent;
mod aimd;

pub use absent::Absent;
pub use aimd::Aimd;
