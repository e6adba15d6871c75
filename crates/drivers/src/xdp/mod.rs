//! Ethernet frames of one queue of an interface that do not reach the kernel's protocols: AF_XDP
//! (<https://docs.kernel.org/networking/af_xdp.html>), as
//! [`Frames`](stackwright_contract::services::Frames) on port 0.
//!
//! ```text
//!   arrives:  queue ── program.rs ──► receive ring ──► read       the chunk: fill ring ──► kernel
//!   leaves:   write ──► send ring ──► kernel                      the chunk: completion ring ──►
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | here | how a queue is opened |
//! | `program.rs` | the program that has the kernel redirect the frames of a queue |
//! | `socket.rs` | its socket: chunks of memory, and the rings by which they change hands |
//! | `mapping.rs` | memory that is shared with the kernel |
//!
//! The rest is as for [packet sockets](crate::packet), but the kernel has no part in it: it hears
//! no frame of the queue, completes no checks and merges nothing. A peer whose kernel leaves checks
//! to its end of a veth has to complete them (`ethtool -K DEVICE tx off`). Frames are copied, by
//! the kernel's generic mode, which every interface has; it serves stacks without the kernel's IP, and
//! is slower than UDP of the kernel.

mod mapping;
mod program;
mod socket;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use stackwright_wire::{Message, Pool};

use crate::registry::Registry;
use crate::tun::{DeviceKind, DevicePort, ETHERNET, Inquiry};
use socket::XdpSocket;

/// How long, and how often, a queue that somebody has is waited for.
const FREED: (Duration, u32) = (Duration::from_millis(20), 50);

/// A queue of an interface.
pub type XdpQueue<M> = DevicePort<M, OfXdp>;

/// The kind of [`XdpQueue`].
#[derive(Debug)]
pub enum OfXdp {}

impl DeviceKind for OfXdp {
    const NAME: &'static str = "xdp";
    type Device = XdpSocket;
}

impl<M: Message> DevicePort<M, OfXdp> {
    /// Opens a queue of `interface` in this network namespace, which needs CAP_NET_ADMIN,
    /// CAP_NET_RAW and CAP_BPF. Until it is dropped the kernel hears no frame of that queue; an
    /// interface with several of them spreads frames over all.
    ///
    /// # Errors
    /// The kernel's: `PermissionDenied`, no such device or queue, `ResourceBusy` where another
    /// program has it, and keeps it for a second; `Unsupported` where it is not Ethernet.
    pub fn open(
        interface: &str,
        queue: u32,
        registry: &Registry,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> io::Result<Self> {
        let inquiry = Inquiry::about(interface)?;
        inquiry.hardware_address()?;
        let index = inquiry.index()?;
        let mut tries = 0;
        let socket = loop {
            match XdpSocket::open(index, queue) {
                // The kernel frees a queue a while after the program that had it has ended.
                Err(why) if why.kind() == ErrorKind::ResourceBusy && tries < FREED.1 => {
                    tries += 1;
                    thread::sleep(FREED.0);
                }
                opened => break opened?,
            }
        };
        DevicePort::new(socket, inquiry, ETHERNET, registry, lane, pool)
    }
}
