//! Routes found by asking, between stations that relay for each other: DSR (RFC 4728) for IPv4,
//! without flow state.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the header behind IPv4's, and its options |
//! | `packet.rs` | packets, taken apart and put together |
//! | `links.rs` | the links that are known, and routes by them |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod header;
mod links;
mod packet;

#[cfg(test)]
mod tests;
