//! The slot `lifetime`: when a message has expired.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | messages that are of use for ever | |
//! | [`Deadline`] | formats without times | |
//! | [`Timestamps`] | expiry at both ends | ARTP §1.4.2 |

mod absent;
mod deadline;
mod timestamps;

pub use absent::Absent;
pub use deadline::Deadline;
pub use timestamps::Timestamps;
