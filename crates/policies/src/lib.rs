//! What fits the slots of a transport: a module per slot, a file per policy. Each says what it
//! does, what it needs and gives, and when to choose it. The absent choice is a policy too.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod acknowledgement;
pub mod congestion;
pub mod connection;
pub mod flow;
pub mod framing;
pub mod inquiry;
pub mod integrity;
pub mod lifetime;
pub mod ordering;
pub mod profile;
pub mod rate;
pub mod recovery;
pub mod rtt;
