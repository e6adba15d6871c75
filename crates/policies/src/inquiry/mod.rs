//! The slot `inquiry`: when the sender asks for a report, and repeats that.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | receivers that report by themselves | |
//! | [`Polls`] | paths whose delay varies | SSCOP, XSTP (POLL) |
//! | [`TailProbe`] | receivers that report by themselves, but for the tail of a burst | RFC 8985 §7 |
//! | [`WindowEnd`] | whole windows that are sent at a time | XTP §5 (SREQ, WTIMER) |

mod absent;
mod polls;
mod tail_probe;
mod window_end;

pub use absent::Absent;
pub use polls::Polls;
pub use tail_probe::TailProbe;
pub use window_end::WindowEnd;
