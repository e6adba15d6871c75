//! The slot `flow`: how much the two ends take.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | receivers that are faster than the network | |
//! | [`Bounded`] | data that is worth nothing if it is late | XTP (NOFLOW) |
//! | [`CreditWindow`] | receivers with bounded memory | XTP (`alloc`), XSTP (N(MR)) |

mod absent;
mod bounded;
mod credit_window;

pub use absent::Absent;
pub use bounded::Bounded;
pub use credit_window::CreditWindow;
