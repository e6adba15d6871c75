//! The slot `framing`: how a message becomes pieces, and pieces a message.

mod assembly;
mod fragments;
mod marks;
mod stream;

pub use fragments::{Forgetting, Fragments};
pub use marks::Marks;
pub use stream::Stream;
