//! The slot `lifetime`: whether something is still of use.

mod absent;
mod deadline;
mod timestamps;

pub use absent::Absent;
pub use deadline::Deadline;
pub use timestamps::Timestamps;
