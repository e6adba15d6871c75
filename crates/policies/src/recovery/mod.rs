//! The slot `recovery`: what is lost.

mod absent;
mod individual_timeout;

pub use absent::Absent;
pub use individual_timeout::IndividualTimeout;
