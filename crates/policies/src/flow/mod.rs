//! The slot `flow`: how much the two ends take.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | receivers that are faster than the network | |
//! | [`CreditWindow`] | receivers with bounded memory | XTP (`alloc`), XSTP (N(MR)) |

mod absent;
mod credit_window;

pub use absent::Absent;
pub use credit_window::CreditWindow;
