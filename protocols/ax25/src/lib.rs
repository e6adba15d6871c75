//! AX.25 v2.2: the link layer of packet radio.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the head of a frame: addresses, control field, protocol identifier |
//! | `xid.rs` | the information of XID |
//! | `segment.rs` | segments of longer messages |
//! | `syntax.rs` | the syntax of a frame, for programs that display packets |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod header;
pub mod segment;
mod syntax;
pub mod xid;

pub use syntax::SYNTAX;
