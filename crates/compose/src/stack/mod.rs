//! Composition at compile time: each combinator is itself a protocol.

mod beside;
mod over;

pub use beside::Beside;
pub use over::Over;
