//! A TUN device: packets of the kernel as reads, packets for the kernel as writes.

mod request;

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::offload::{self, Offload};

/// The device file that makes them.
pub(super) const CLONE: &str = "/dev/net/tun";

/// A device, in the network namespace in which it was made. It is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Tun(OwnedFd);

impl Tun {
    /// Makes a device in the network namespace of the calling thread; it takes super-packets of TCP
    /// and, where the kernel can, of UDP.
    ///
    /// # Errors
    ///
    /// The kernel's, where it refuses.
    pub(super) fn make(name: &str) -> io::Result<Tun> {
        let file = rustix::fs::open(
            CLONE,
            OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        request::name(&file, name)?;
        // Kernels before 6.2 do not know those of UDP.
        request::offload(&file, true).or_else(|_| request::offload(&file, false))?;
        Ok(Tun(file))
    }

    /// The next packet, if there is one now; it lies in `into` then.
    ///
    /// # Errors
    ///
    /// The kernel's, where the device is gone.
    pub(super) fn read(&self, into: &mut [u8]) -> io::Result<Arrived> {
        let mut header = [0; offload::LENGTH];
        let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(into)];
        match rustix::io::readv(&self.0, &mut parts) {
            Ok(octets) if octets >= offload::LENGTH => Ok(match Offload::decode(header) {
                Some(offload) => Arrived::Packet(offload, octets - offload::LENGTH),
                None => Arrived::Unknown,
            }),
            Ok(_) => Ok(Arrived::Unknown),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Arrived::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a packet that lies in two pieces, the first with the device's header. Tells whether
    /// the kernel took it: it does not where the device is down or the packet makes no sense to it.
    pub(super) fn write(&self, head: &[u8], rest: &[u8]) -> bool {
        rustix::io::writev(&self.0, &[IoSlice::new(head), IoSlice::new(rest)]).is_ok()
    }
}

/// What a read found.
pub(super) enum Arrived {
    /// A packet of so many octets.
    Packet(Offload, usize),
    /// A packet with which something is to be done that nobody offered to do.
    Unknown,
    /// None now.
    Nothing,
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
