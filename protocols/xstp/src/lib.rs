//! XSTP in user space, over any datagrams of hosts: streams over links that lose packets for
//! reasons of their own, whose peers come and go, and whose way back is narrow.
//!
//! There is no state machine here: a connection is a configuration of the engine, and this crate
//! adds the format of packets and what concerns connections as a whole.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the layout |
//! | `format/` | the packets of one connection |
//! | `host.rs` | the connections of a station: which are made, and what others are told |
//! | `config.rs` | the settings |
//! | `policies.rs` | the policies, set so |
//! | `described.rs` | how a file describes XSTP |
//! | `syntax.rs` | the syntax of a packet, for programs that display packets |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod described;
mod format;
mod header;
mod host;
mod policies;
mod syntax;

pub use config::{Config, PACKET_LEAST};
pub use described::described;
pub use format::XstpFormat;
pub use header::{XstpHeader, XstpKind};
pub use host::XstpHost;
pub use policies::{Xstp, policies};
pub use syntax::SYNTAX;

use stackwright_transport::{Associations, Transport};

/// The number of XSTP among the protocols of IP: one for experiments (RFC 3692).
pub const PROTOCOL: u8 = 253;

/// XSTP as a layer.
pub type XstpLayer<M> = Transport<XstpHost<M>>;

/// Returns XSTP with `config`. A peer must not know `seed`.
pub fn layer<M: stackwright_wire::Message>(config: Config, seed: u64) -> XstpLayer<M> {
    Transport::new(Associations::new(XstpHost::new(config, seed)), seed)
}
