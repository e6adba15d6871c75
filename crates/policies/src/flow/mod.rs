//! The slot `flow`: how much the two ends take.

mod absent;
mod credit_window;

pub use absent::Absent;
pub use credit_window::CreditWindow;
