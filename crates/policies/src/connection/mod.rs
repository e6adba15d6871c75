//! The slot `connection`: how an association comes about and ends.

mod agreed;
mod halves;
mod handshake;
mod implicit;
mod two_stage;

pub use agreed::Agreed;
pub use handshake::Handshake;
pub use implicit::Implicit;
pub use two_stage::TwoStage;
