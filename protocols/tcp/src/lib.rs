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
//! | `config.rs` | the policies, and their settings |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod format;
mod header;
mod key;
pub mod options;

pub use config::{Config, SEGMENT_LEAST, Tcp, policies};
pub use format::TcpFormat;
pub use header::TcpFront;
pub use key::TcpKey;
