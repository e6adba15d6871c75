//! The slot `ordering`: in which order units are delivered.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | messages that mean something without those before them | ARTP, UDP |
//! | [`Sequenced`] | values of which only the newest counts | XTP (NOERR) |
//! | [`ByEpoch`] | phases of which each has its own | UTS, STRL |
//! | [`Total`] | streams, and messages that build on each other | TCP, XTP, XSTP |

mod absent;
mod by_epoch;
mod sequenced;
mod total;

pub use absent::Absent;
pub use by_epoch::ByEpoch;
pub use sequenced::Sequenced;
pub use total::Total;
