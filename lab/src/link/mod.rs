//! `lab link`: the model of a link between two TUN devices, in network namespaces that are made for
//! it and removed.
//!
//! ```text
//! namespace a                               lab link                               namespace b
//! a program ── kernel ── TUN device ──▸ decode ▸ model ▸ hold ▸ encode ──▸ TUN device ── kernel ── a program
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `run.rs` | the command, from its making to its end |
//! | `wire.rs` | the same for the rest of the lab: a link as a value |
//! | `arguments.rs`, `field.rs`, `described.rs` | which link is meant |
//! | `carry.rs`, `direction.rs` | the loop, and what is read, held and written one way |
//! | `medium.rs`, `sent.rs` | the model, a link each way or a shared channel, and what it is asked about |
//! | `segment/` | a packet, or a segment of a super-packet: the model sees each of them |
//! | `ends.rs`, `namespace.rs` | what is made, and removed however it ends |
//! | `veth.rs`, `bridge.rs` | the same two ends with the kernel alone between them, and several on a bridge |
//! | `counts.rs`, `shown.rs` | what became of the packets, and who sees it how |

mod arguments;
mod attendance;
mod bridge;
mod carry;
mod clock;
mod command;
mod counts;
mod described;
mod direction;
mod ends;
mod field;
mod medium;
mod namespace;
mod rights;
mod run;
mod segment;
mod sent;
mod shown;
mod side;
mod signals;
mod veth;
mod wire;

pub(crate) use arguments::Arguments;
pub(crate) use bridge::Bridge;
pub(crate) use counts::{Counts, Report};
pub(crate) use rights::check as check_rights;
pub(crate) use run::run;
pub(crate) use side::Side;
pub(crate) use veth::Veth;
pub(crate) use wire::Wire;
