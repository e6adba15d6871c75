//! Octets: messages, headers, checks, dissection, captures. Nothing here knows a protocol, and
//! nothing does I/O.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(unsafe_code)]

extern crate alloc;
// What the derive writes names this crate from outside; so it works in here too.
extern crate self as stackwright_wire;

pub mod capture;
pub mod check;
mod dissect;
mod header;
pub mod internet;
mod message;
mod processor;
pub mod stages;
pub mod syntax;

pub use dissect::{Dissection, dissect, dissect_fields};
pub use header::{ByteOrder, Field, FieldValue, Header, Malformed};
#[cfg(feature = "copies")]
pub use message::take_copied;
pub use message::{
    Block, BufferTree, Leaf, Message, Pool, Region, SegmentLayout, SegmentsMut, SingleBuffer,
    Unshared, count_copied,
};
pub use stackwright_macros::Header;
