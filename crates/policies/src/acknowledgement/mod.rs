//! The slot `acknowledgement`: what the receiver reports, and when.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | data that is never sent again | |
//! | [`AckRanges`] | most transports | RFC 2018, RFC 9000 §13.2 |
//! | [`Cumulative`] | packets without room for spans | RFC 9293 §3.8.6.3 |
//! | [`GapAtOnce`] | links that keep the order, around another policy | XTP (FASTNAK), XSTP (USTAT) |
//! | [`OnRequest`] | narrow or shared return paths | XTP §5 (SREQ), XSTP (POLL) |
//! | [`PeriodicList`] | paths that reorder | ARTP §1.4.5 |
//! | [`Slotted`] | the receivers of a group, around another policy | XTP (slotting and damping) |

mod absent;
mod ack_ranges;
mod cumulative;
mod delayed_ack;
mod gap_at_once;
mod on_request;
mod periodic_list;
mod slotted;

pub use absent::Absent;
pub use ack_ranges::AckRanges;
pub use cumulative::Cumulative;
pub use gap_at_once::GapAtOnce;
pub use on_request::OnRequest;
pub use periodic_list::PeriodicList;
pub use slotted::Slotted;
