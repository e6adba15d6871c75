//! The slot `inquiry`: when the sender asks for a report, and repeats that.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | receivers that report by themselves | |
//! | [`AnyAnswer`] | groups, around a policy that insists | |
//! | [`KeepAlive`] | peers that may vanish, beside another policy | XTP §5 (CTIMER, CTIMEOUT) |
//! | [`Polls`] | paths whose delay varies | SSCOP, XSTP (POLL) |
//! | [`TailProbe`] | receivers that report by themselves, but for the tail of a burst | RFC 8985 §7 |
//! | [`WindowProbe`] | windows that are shut | RFC 9293 §3.8.6.1 |
//! | [`WindowEnd`] | whole windows that are sent at a time | XTP §5 (SREQ, WTIMER) |

mod absent;
mod any_answer;
mod keep_alive;
mod polls;
mod tail_probe;
mod window_end;
mod window_probe;

pub use absent::Absent;
pub use any_answer::AnyAnswer;
pub use keep_alive::KeepAlive;
pub use polls::Polls;
pub use tail_probe::TailProbe;
pub use window_end::WindowEnd;
pub use window_probe::WindowProbe;
