//! The slot `integrity`: whether a packet is what was sent.

mod absent;
mod covered;
mod crc32c;
mod internet;

pub use absent::Absent;
pub use crc32c::Crc32c;
pub use internet::Internet;
