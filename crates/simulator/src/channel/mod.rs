//! A half-duplex channel that stations share: who may send, and who hears what.

mod conditions;
mod hearing;

pub use conditions::ChannelConditions;
pub use hearing::Hearing;
