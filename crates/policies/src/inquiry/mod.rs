//! The slot `inquiry`: when the sender asks, and insists.

mod absent;
mod polls;
mod tail_probe;
mod window_end;

pub use absent::Absent;
pub use polls::Polls;
pub use tail_probe::TailProbe;
pub use window_end::WindowEnd;
