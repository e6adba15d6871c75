//! JIS, an image server: a JPEG as pieces that arrive in any order.
//!
//! | file | what |
//! | --- | --- |
//! | `jpeg/` | a baseline JPEG split into pieces, and joined again, without loss |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod jpeg;
