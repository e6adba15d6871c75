//! The slot `connection`: how an association comes about and ends.

mod agreed;
mod two_stage;

pub use agreed::Agreed;
pub use two_stage::TwoStage;
