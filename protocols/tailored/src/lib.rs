//! A transport that is tailored to the services an application names, over datagrams.
//!
//! There is no state machine here: what an application asks for becomes a selection of policies on
//! the engine, and this crate adds the format of packets and what concerns associations as a whole.
//!
//! | file | what |
//! | --- | --- |
//! | `services.rs` | what the named services require |
//! | `tailoring.rs` | where the policies come from: types that a program names, or a plan |
//! | `configurations.rs` | configurations for usual selections |
//! | `header.rs` | the headers |
//! | `format.rs`, `opening.rs` | the packets of one association, and what they say of its opening |
//! | `receive.rs`, `send.rs` | octets to words, and words to octets |
//! | `rules.rs` | what a packet says of the rules by which messages go |
//! | `host.rs` | the associations of a station |
//! | `config.rs` | the configuration of a station |
//! | `syntax.rs` | the syntax of a packet, for programs that display packets |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
pub mod configurations;
mod format;
pub mod header;
mod host;
mod opening;
mod receive;
mod rules;
mod send;
mod services;
mod syntax;
mod tailoring;

pub use config::{Config, PACKET_LEAST};
pub use format::TailoredFormat;
pub use host::{TailoredHost, TailoredKey};
pub use services::{Demand, ServiceRefusal, demand};
pub use syntax::{SYNTAX, syntax_of};
pub use tailoring::{Named, Planned, Tailoring};

use stackwright_transport::{Associations, Transport};

/// The default UDP port of a server.
pub const PORT: u16 = 4370;

/// A tailored transport as a layer.
pub type Layer<T> = Transport<TailoredHost<T>>;

/// Returns the layer of a station. A peer must not know `seed`.
pub fn layer<T: Tailoring>(tailoring: T, config: Config, seed: u64) -> Layer<T> {
    layer_of(TailoredHost::new(tailoring, config), seed)
}

/// Returns the layer of a station that was made before.
pub fn layer_of<T: Tailoring>(host: TailoredHost<T>, seed: u64) -> Layer<T> {
    Transport::new(Associations::new(host), seed)
}
