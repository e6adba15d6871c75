//! The slot `framing`: how a message becomes pieces, and pieces a message.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Fragments`] | messages in any order of arrival | ARTP |
//! | [`MessageEnd`] | messages in order, with one bit for them in the format | XTP (EOM) |
//! | [`OctetStream`] | files and terminals, whose messages have no bounds | TCP, XSTP |

mod assembly;
mod fragments;
mod message_end;
mod octet_stream;

pub use fragments::{Forgetting, Fragments};
pub use message_end::MessageEnd;
pub use octet_stream::OctetStream;
