//! The slot `flow`: how much the two ends take.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | receivers that are faster than the network | |
//! | [`Bounded`] | data that is worth nothing if it is late | XTP (NOFLOW) |
//! | [`CreditWindow`] | receivers with bounded memory | XTP (`alloc`), XSTP (N(MR)) |
//! | [`Posted`] | applications that name their buffers | XTP (RES) |

mod absent;
mod bounded;
mod credit_window;
mod posted;

pub use absent::Absent;
pub use bounded::Bounded;
pub use credit_window::CreditWindow;
pub use posted::Posted;
