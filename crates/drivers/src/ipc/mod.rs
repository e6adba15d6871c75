//! One stack for several programs: the words of a service between two processes of one machine.
//!
//! ```text
//!   a program                                  a server
//!   an endpoint, a protocol                    StackHost
//!   Near<T>                                     │      │
//!   UnixStreams ── words, as octets ── UnixStreams    a stack that provides T
//! ```
//!
//! Both sides of a joint speak of an association by one name, credit adds up, and words cross. So
//! the words are carried as they are, and an application stands on [`Near`] as on the stack itself.
//! Any stream carries them.
//!
//! | file | what |
//! | --- | --- |
//! | `near.rs` | the application's side |
//! | `host.rs`, `application.rs` | the server's side, and what it knows of an application and of a name |
//! | `policy.rs`, `quota.rs` | who may do what, and what applications may have of it |
//! | `admission.rs` | what is refused, and how |
//! | `grant.rs` | descriptors for stacks in programs that have not the rights for them |
//! | `handover.rs` | a server that takes over from another one |
//! | `word.rs`, `fields.rs` | a word as fields, and fields as octets |
//! | `channel.rs` | words through a stream |
//! | `wall.rs` | both sides without a socket, with the feature `wall` |

mod admission;
mod application;
mod channel;
mod fields;
mod grant;
mod handover;
mod host;
mod near;
mod policy;
mod quota;
#[cfg(test)]
mod tests;
#[cfg(feature = "wall")]
mod wall;
mod word;

pub use grant::{DescriptorGrant, GrantAnswer, GrantHost, Openable};
pub use handover::{HandoverHost, NamedSockets, Predecessor, Succession};
pub use host::{HOST, StackHost};
pub use near::Near;
pub use policy::{AddressBlock, AdmissionPolicy, Allowance, UserId, Users};
pub use quota::Quota;
#[cfg(feature = "wall")]
pub use wall::Wall;
pub use word::Crossing;

/// Octets that each side takes before the other has to wait: they are taken at once.
const ROOM: usize = 256 << 10;
