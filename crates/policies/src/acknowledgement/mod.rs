//! The slot `acknowledgement`: what the receiver says, and when.

mod absent;
mod cumulative;
mod delay;
mod gap_at_once;
mod on_request;
mod periodic_list;
mod ranges;

pub use absent::Absent;
pub use cumulative::Cumulative;
pub use gap_at_once::GapAtOnce;
pub use on_request::OnRequest;
pub use periodic_list::PeriodicList;
pub use ranges::Ranges;
