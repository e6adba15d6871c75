//! The slot `acknowledgement`: what the receiver says, and when.

mod absent;
mod periodic_list;

pub use absent::Absent;
pub use periodic_list::PeriodicList;
