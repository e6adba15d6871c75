//! Network devices as [`Frames`](stackwright_contract::services::Frames) on port 0: a TUN device,
//! whose frames are IP packets, or a TAP device, whose frames are Ethernet's.
//!
//! ```text
//!   Frames::Delivered                                       Frames::Send
//!       ▴  port.rs          credit, what is held and waits     │  merge.rs  a batch becomes one
//!       │  checksum.rs      is verified where nobody has       │            super-packet again
//!       │  super_packet.rs  of TCP: stays as it is             │
//!       │  split.rs         of UDP: becomes a batch            ▼
//!       └─ device.rs        readv(2), behind the header of     └─ writev(2), first header, then
//!                           offload.rs                            payloads where they are
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | here | how a device is opened |
//! | `port.rs` | the adapter, also of [packet sockets](crate::packet) and [queues](crate::xdp) |
//! | `device.rs`, `request.rs` | devices, and the requests that have no other call |
//! | `offload.rs` | what is said before each frame |
//! | `super_packet.rs`, `split.rs` | several segments under one header, and each of them |
//! | `merge.rs` | the other way: the neighbours of a batch under one header |
//! | `checksum.rs` | the checks that all of them need |
//!
//! The kernel and this end spare each other the checks of TCP and UDP:
//! [`PathLimits::checks`](stackwright_contract::PathLimits::checks) is set. The check of a fragment
//! cannot be verified here: who puts fragments together verifies it.

mod checksum;
mod device;
mod merge;
mod offload;
mod port;
mod request;
mod split;
mod super_packet;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use stackwright_wire::{Message, Pool};

use crate::registry::Registry;

pub use device::{CLONE, Device, DeviceFeatures, FrameDevice, TunRead};
pub use offload::{LENGTH, Offload, SegmentKind};
pub use port::{DeviceKind, DevicePort};
pub(crate) use request::Inquiry;
pub use split::Checks;
pub use super_packet::{LONGEST, SuperPacket};

/// Octets of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;

/// A TUN or TAP device.
pub type Tun<M> = DevicePort<M, OfTun>;

/// The kind of [`Tun`].
#[derive(Debug)]
pub enum OfTun {}

impl DeviceKind for OfTun {
    const NAME: &'static str = "tun";
    type Device = Device;
}

/// What a device's frames are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TunKind {
    /// IP packets.
    #[default]
    Tun,
    /// Ethernet frames.
    Tap,
}

/// How a device is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunOptions {
    /// What its frames are.
    pub kind: TunKind,
    /// Whether the kernel hands over super-packets, which have checks to be completed: a router
    /// that forwards to links of a smaller MTU takes none.
    pub super_packets: bool,
    /// Whether the kernel leaves checks to this end: who hands packets to an end that verifies them
    /// itself, such as a link without [`checks`](stackwright_contract::PathLimits::checks), has the
    /// kernel complete them, and takes no super-packets.
    pub checks: bool,
}

impl Default for TunOptions {
    /// IP packets, and super-packets of them.
    fn default() -> Self {
        TunOptions { kind: TunKind::Tun, super_packets: true, checks: true }
    }
}

impl<M: Message> DevicePort<M, OfTun> {
    /// Attaches to the TUN device `name` of this network namespace, or makes it, which needs
    /// CAP_NET_ADMIN; one that was made for a user (`ip tuntap add … user …`) needs nothing.
    ///
    /// A block of `pool` should have 64 KiB, or super-packets are copied.
    ///
    /// # Errors
    /// The kernel's: `NotFound` without the driver, `PermissionDenied`, `ResourceBusy` where
    /// another program has it.
    pub fn open(
        name: &str,
        registry: &Registry,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        Self::open_with(name, TunOptions::default(), registry, lane, pool)
    }

    /// Does the same with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        name: &str,
        options: TunOptions,
        registry: &Registry,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        let device = Device::open(name, options)?;
        let link = if options.kind == TunKind::Tap { ETHERNET } else { 0 };
        DevicePort::new(device, Inquiry::about(name)?, link, registry, lane, pool)
    }
}
