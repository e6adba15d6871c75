//! The slot `ordering`: in which order units are delivered.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | messages that mean something without those before them | ARTP, UDP |
//! | [`Sequenced`] | values of which only the newest counts | XTP (NOERR) |
//! | [`Total`] | streams, and messages that build on each other | TCP, XTP, XSTP |

mod absent;
mod sequenced;
mod total;

pub use absent::Absent;
pub use sequenced::Sequenced;
pub use total::Total;
