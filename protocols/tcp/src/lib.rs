//! TCP (RFC 9293) in user space, over any datagrams: IP, or a test's.
//!
//! There is no state machine here: a connection is a configuration of the engine, and this crate
//! adds the format of segments and what concerns connections as a whole.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs`, `options.rs` | the layouts |
//! | `key.rs` | what tells connections apart |
//! | `format/` | the segments of one connection |
//! | `state.rs` | the eleven states, which nobody keeps |
//! | `host.rs` | the connections of a station: which are made, and what others are told |
//! | `config.rs` | the settings |
//! | `policies.rs` | the policies, set so |
//! | `described.rs` | how a file describes TCP |
//! | `syntax.rs` | the syntax of a segment, for programs that display packets |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod described;
mod format;
mod header;
mod host;
mod key;
pub mod options;
mod policies;
mod state;
mod syntax;

pub use config::{Config, SEGMENT_LEAST};
pub use described::described;
pub use format::TcpFormat;
pub use header::TcpFront;
pub use host::TcpHost;
pub use key::TcpKey;
pub use policies::{Tcp, policies};
pub use state::TcpState;
pub use syntax::SYNTAX;

use stackwright_transport::{Associations, Transport};

/// TCP as a layer.
pub type TcpLayer<M> = Transport<TcpHost<M>>;

/// Returns TCP with `config`. A peer must not know `seed`.
pub fn layer<M: stackwright_wire::Message>(config: Config, seed: u64) -> TcpLayer<M> {
    Transport::new(Associations::new(TcpHost::new(config)), seed)
}
