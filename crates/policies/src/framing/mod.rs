//! The slot `framing`: how a message becomes pieces, and pieces a message.

mod assembly;
mod fragments;
mod message_end;
mod octet_stream;

pub use fragments::{Forgetting, Fragments};
pub use message_end::MessageEnd;
pub use octet_stream::OctetStream;
