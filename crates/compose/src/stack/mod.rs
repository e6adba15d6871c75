//! Composition at compile time: each combinator is itself a protocol.

mod beside;
pub(crate) mod fork;
pub(crate) mod join;
mod opaque;
mod over;

pub use beside::Beside;
pub use fork::{Fork, Split, fork};
pub use join::{Join, JoinedLowers, join};
pub use opaque::Opaque;
pub use over::Over;
pub(crate) use over::ROUNDS_MOST;
