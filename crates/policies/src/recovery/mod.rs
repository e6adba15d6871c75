//! The slot `recovery`: what is lost.

mod absent;
mod go_back_n;
mod individual_timeout;
mod selective_repeat;

pub use absent::Absent;
pub use go_back_n::GoBackN;
pub use individual_timeout::IndividualTimeout;
pub use selective_repeat::SelectiveRepeat;

/// Whether the answer is to a question that left with or after a unit of this stamp, and `more`
/// after that. Numbers wrap.
fn is_covered(stamp: u32, more: u32, answer: u32) -> bool {
    answer.wrapping_sub(stamp.wrapping_add(more)) as i32 >= 0
}
