//! Generated bases: the product line of PIX. Every protocol with associations stands on one, which already opens, listens,
//! finds the association for a message, counts references, times out and closes; its author adds what makes the protocol
//! itself.
//!
//! | feature | module | alternatives |
//! | --- | --- | --- |
//! | Map | [`map`] | chained hash, chained hash with a one-entry cache, open addressing with a cache |
//! | EventManager | [`events`] | absent, simple, delta list, timing wheel |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod events;
pub mod map;
