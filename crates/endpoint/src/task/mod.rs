//! Calls that are awaited: tokio watches the descriptors, of which one tells the time, and
//! whichever task awaits runs the stack.
//!
//! These types are of either [`Flavor`](crate::Flavor). Applications use them by their shorter
//! names: [`crate::Endpoint`] and [`crate::multi_thread::Endpoint`], and so on.
//!
//! | file | what |
//! | --- | --- |
//! | `endpoint.rs` | listening, connecting, accepting |
//! | `current_thread.rs`, `multi_thread.rs` | making an endpoint, whose handles stay on one thread or not |
//! | `association.rs`, `sending.rs` | messages: sending, receiving, closing |
//! | `stream.rs` | octets: reading, writing, finishing |
//! | `watch.rs` | running the stack, one poll at a time |
//! | `readers.rs` | what the runtime watches for it |
//! | `alarm.rs` | the tasks that wait |
//! | `run.rs` | running the stack while the application does something else |

mod alarm;
mod association;
mod current_thread;
#[cfg(test)]
mod dropped;
mod endpoint;
mod multi_thread;
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
