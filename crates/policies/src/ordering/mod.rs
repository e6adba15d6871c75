//! The slot `ordering`: what may go up now.

mod absent;
mod sequenced;
mod total;

pub use absent::Absent;
pub use sequenced::Sequenced;
pub use total::Total;
