//! The slot `recovery`: what is lost, and sent again.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | data of which the newest counts | |
//! | [`LimitedRetransmissions`] | data that is of less use the later it comes, around another policy | RFC 7496 §3.1 |
//! | [`GoBackN`] | receivers that report no spans | XTP §4 |
//! | [`IndividualTimeout`] | packets that are acknowledged one by one | ARTP §1.4.5 |
//! | [`RackTlp`] | the same, on networks that lose and reorder | RFC 8985, RFC 9002 §6.1 |
//! | [`SelectiveRepeat`] | packets with room for spans | XTP §4, SSCOP (STAT, USTAT) |

mod absent;
mod go_back_n;
mod individual_timeout;
mod limited_retransmissions;
mod rack_tlp;
mod reordering;
mod selective_repeat;

pub use absent::Absent;
pub use go_back_n::GoBackN;
pub use individual_timeout::IndividualTimeout;
pub use limited_retransmissions::LimitedRetransmissions;
pub use rack_tlp::RackTlp;
pub use selective_repeat::SelectiveRepeat;

/// Returns whether the inquiry `answer` was sent with or after a unit that left at inquiry
/// `inquiry_number`, and `more` inquiries after that. Numbers wrap.
fn is_covered(inquiry_number: u32, more: u32, answer: u32) -> bool {
    answer.wrapping_sub(inquiry_number.wrapping_add(more)) as i32 >= 0
}
