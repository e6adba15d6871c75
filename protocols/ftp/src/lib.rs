//! The File Transfer Protocol (RFC 959, 1123, 2389, 2428, 3659, CCSDS 717.0), client and server, as
//! machines without I/O.
//!
//! ```text
//! [`Server`]   provides [`Serving`]       uses `Both<Streams, Files>`
//! [`Client`]   provides `Files`           uses `Streams`
//! ```
//!
//! Because a client *provides* files, "get" is a copy between two `Files`, and a server whose disk
//! is a client is a relay to another server.
//!
//! | file | what |
//! | --- | --- |
//! | `line.rs` | octets → lines: bounded, and without Telnet commands |
//! | `command/` | the table of commands |
//! | `reply.rs`, `address.rs`, `listing.rs`, `listing/`, `facts.rs`, `path.rs`, `time.rs` | the other grammars, one each |
//! | `form/` | how a file is represented on a data association |
//! | `server/`, `client/` | the machines: `state.rs`, `receive.rs` up, `send.rs` down, `timers.rs`, `config.rs` |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod address;
pub mod client;
pub mod command;
mod facts;
pub mod form;
mod line;
pub mod listing;
mod path;
pub mod reply;
pub mod server;
pub mod time;

pub use client::Client;
pub use line::{LineEvent, Lines};
pub use server::{Server, Serving};

/// The name in a refusal and in a trace.
const NAME: &str = "ftp";

/// The events that tell each line of a dialogue, for people that want to see them, are of this
/// name.
pub const DIALOGUE: &str = NAME;

/// The port of a control association (RFC 959 §8).
pub const PORT: u16 = 21;

/// The port of a control association that is secure from the start (IANA: ftps).
pub const TLS_PORT: u16 = 990;
