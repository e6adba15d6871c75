//! What a generated role stands on: a layer over datagrams that holds what a role does not hear
//! yet, keeps its timers, and sends within the credit.
//!
//! | file | what |
//! | --- | --- |
//! | `part.rs` | what is generated of a role: [`RolePart`] |
//! | `words.rs` | what an application asks of a role, and is told |
//! | `association.rs` | one association: its role, what is held, what waits |
//! | `layer.rs`, `receive.rs`, `timers.rs` | the layer: from above, from below, time |
//! | `pair.rs` | two roles on one association |
//!
//! The roles of a specification are written by `stackwright spec gen --contract`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod association;
mod layer;
mod pair;
mod part;
mod receive;
mod timers;
mod words;

pub use layer::RoleLayer;
pub use pair::PartPair;
pub use part::{RoleEvent, RoleOutlet, RolePart, RoleWait};
pub use words::{RoleIndication, RoleRequest, Speaking};
