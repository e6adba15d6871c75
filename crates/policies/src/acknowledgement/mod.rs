//! The slot `acknowledgement`: what the receiver says, and when.

mod absent;
mod ack_ranges;
mod cumulative;
mod delay;
mod gap_at_once;
mod on_request;
mod periodic_list;

pub use absent::Absent;
pub use ack_ranges::AckRanges;
pub use cumulative::Cumulative;
pub use gap_at_once::GapAtOnce;
pub use on_request::OnRequest;
pub use periodic_list::PeriodicList;
