//! The outside world: the only I/O of the project.
//!
//! Everything here is non-blocking descriptors with readiness. An adapter is itself a protocol: it
//! provides a service and uses [`Readiness`], so that it composes like any other; [`Driver`] is the
//! loop that turns what the operating system reports into indications.
#![deny(unsafe_code)]

#[cfg(feature = "air")]
pub mod air;
mod clock;
mod coalescing;
mod drive;
pub mod files;
mod flow;
mod granted;
pub mod ip;
pub mod ipc;
pub mod line;
pub mod packet;
pub mod pipe;
pub mod programs;
mod readiness;
mod registry;
mod splice;
pub mod tcp;
mod timer;
pub mod tun;
pub mod udp;
pub mod unix;
mod unopened;
mod waker;
pub mod xdp;

pub use clock::Clock;
pub use drive::{Driver, Stop};
pub use granted::GrantClient;
pub use readiness::{Lanes, Readiness, Ready, lane, token};
pub use registry::{Registry, Watcher};
pub use waker::Waker;
