//! Ethernet frames of an interface that the kernel uses, too: AF_PACKET (packet(7)), as
//! [`Frames`](stackwright_contract::services::Frames) on port 0.
//!
//! | file | what |
//! | --- | --- |
//! | here | how an interface is opened |
//! | `socket.rs` | its socket |
//!
//! The rest is as for [TUN devices](crate::tun): super-packets and checks, too. What this computer
//! sends itself is not heard; what is for other stations is, so that a stack above may be a station
//! with an address of its own (on Wi-Fi, whose access points take no other, with the
//! [interface's](address)). The kernel hears all frames as well, and answers those for its own
//! addresses: a stack above needs an IP address that the kernel does not have.

mod socket;

use std::io;
use std::sync::Arc;

use stackwright_wire::{Message, Pool};

use crate::registry::Registry;
use crate::tun::{Device, DeviceKind, DevicePort, ETHERNET, Inquiry};

/// An interface.
pub type PacketSocket<M> = DevicePort<M, OfPacket>;

/// The kind of [`PacketSocket`].
#[derive(Debug)]
pub enum OfPacket {}

impl DeviceKind for OfPacket {
    const NAME: &'static str = "packet";
    type Device = Device;
}

impl<M: Message> DevicePort<M, OfPacket> {
    /// Opens `interface` of this network namespace, which needs CAP_NET_RAW.
    ///
    /// A block of `pool` should have 64 KiB, or super-packets are copied.
    ///
    /// # Errors
    /// The kernel's: `PermissionDenied`, or no such device; `Unsupported` where it is not Ethernet.
    pub fn open(
        interface: &str,
        registry: &Registry,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        let inquiry = Inquiry::about(interface)?;
        inquiry.hardware_address()?;
        let device = Device::of_socket(socket::open(interface)?);
        DevicePort::new(device, inquiry, ETHERNET, registry, lane, pool)
    }
}

/// Returns the hardware address of an Ethernet interface.
///
/// # Errors
/// The kernel's, where there is no such interface; `Unsupported` where it is not Ethernet.
pub fn address(interface: &str) -> io::Result<[u8; 6]> {
    Inquiry::about(interface)?.hardware_address()
}
