//! Calls that are awaited: tokio watches the descriptors, of which one tells the time, and
//! whichever task awaits runs the stack.
//!
//! | file | what |
//! | --- | --- |
//! | `endpoint.rs` | listening, connecting, accepting |
//! | `association.rs`, `sending.rs` | messages: sending, receiving, closing |
//! | `stream.rs` | octets: reading, writing, finishing |
//! | `watch.rs` | running the stack, one poll at a time |
//! | `readers.rs` | what the runtime watches for it |
//! | `alarm.rs` | the tasks that wait |
//! | `run.rs` | running the stack while the application does something else |

mod alarm;
mod association;
#[cfg(test)]
mod dropped;
mod endpoint;
mod readers;
mod run;
mod sending;
mod stream;
mod watch;

pub use association::Association;
pub use endpoint::Endpoint;
pub use run::Run;
pub use sending::SendFuture;
pub use stream::Stream;
