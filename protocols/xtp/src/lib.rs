//! XTP 4.0, the Xpress Transport Protocol: a transport whose user chooses the service, over
//! datagrams.
//!
//! There is no machine here: a service is a configuration of the engine, and this crate adds the
//! format of packets and what concerns contexts as a whole.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the headers |
//! | `key.rs` | keys that say the name of their context |
//! | `format.rs` | the packets of one context |
//! | `receive.rs`, `send.rs` | octets to words, and words to octets |
//! | `services.rs` | the services, each a configuration |
//! | `multicast/` | the services for a group of receivers: their format, their contexts |
//! | `contexts.rs` | the contexts of a station: which are made, and what the others are told |
//! | `config.rs` | the configuration |
//! | `syntax.rs` | the syntax of a packet, for programs that display packets |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod contexts;
mod format;
pub mod header;
mod key;
pub mod multicast;
mod receive;
mod send;
pub mod services;
mod syntax;

pub use config::{Config, PACKET_LEAST};
pub use contexts::Contexts;
pub use format::Xtp4;
pub use key::ContextKey;
pub use services::XtpService;
pub use syntax::SYNTAX;

use stackwright_transport::{Associations, Transport};

/// The default UDP port of a server.
pub const PORT: u16 = 4360;

/// A service of XTP as a layer.
pub type Layer<M, S> = Transport<Contexts<M, S>>;

/// Returns a service of XTP with `config`. A peer must not know `seed`.
pub fn layer<M: stackwright_wire::Message, S: XtpService>(
    config: Config,
    seed: u64,
) -> Layer<M, S> {
    Transport::new(Associations::new(Contexts::new(config)), seed)
}
