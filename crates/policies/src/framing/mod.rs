//! The slot `framing`: how a message becomes pieces, and pieces a message.

mod assembly;
mod fragments;

pub use fragments::Fragments;
