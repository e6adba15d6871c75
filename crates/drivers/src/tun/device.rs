//! A TUN or TAP device: frames of the kernel as reads, frames for the kernel as writes.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::offload::{self, Offload};
use super::{TunOptions, request};

/// The device file that makes them.
pub const CLONE: &str = "/dev/net/tun";

/// What speaks of frames with the header of `offload.rs`: a device, or a packet socket. A device
/// that was made by it is gone when this is dropped.
#[derive(Debug)]
pub struct Device {
    descriptor: OwnedFd,
    /// Whether the kernel knows super-packets of UDP.
    pub(super) datagrams: bool,
}

impl Device {
    /// Attaches to a device in the network namespace of the calling thread, or makes it there.
    ///
    /// # Errors
    /// The kernel's, where it refuses.
    pub fn open(name: &str, options: TunOptions) -> io::Result<Device> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(CLONE, flags, Mode::empty())?;
        request::attach(&file, name, options.kind)?;
        // The kernel leaves no segments to who does not complete their checks.
        let segments = options.super_packets && options.checks;
        // Kernels before 6.2 do not know those of UDP.
        let datagrams = segments && request::offload(&file, true, true, true).is_ok();
        if !datagrams {
            request::offload(&file, options.checks, segments, false)?;
        }
        Ok(Device { descriptor: file, datagrams })
    }

    /// Takes a socket that puts the same header before each frame.
    pub(crate) fn of_socket(descriptor: OwnedFd) -> Self {
        Device { descriptor, datagrams: true }
    }

    /// Reads the next frame, if there is one now, into `into` and, as far as that is too short,
    /// into `rest`.
    ///
    /// # Errors
    /// The kernel's, where the device is gone.
    pub fn read(&self, into: &mut [u8], rest: &mut [u8]) -> io::Result<TunRead> {
        let mut header = [0; offload::LENGTH];
        let mut parts =
            [IoSliceMut::new(&mut header), IoSliceMut::new(into), IoSliceMut::new(rest)];
        match rustix::io::readv(&self.descriptor, &mut parts) {
            Ok(octets) if octets >= offload::LENGTH => Ok(match Offload::decode(header) {
                Some(offload) => TunRead::Frame(offload, octets - offload::LENGTH),
                None => TunRead::Unknown,
            }),
            Ok(_) => Ok(TunRead::Unknown),
            Err(Errno::AGAIN | Errno::INTR) => Ok(TunRead::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a frame that lies in pieces, behind the header of the device.
    ///
    /// # Errors
    /// The kernel's: it does not take a frame where the device is down, or where the frame makes no
    /// sense to it.
    pub fn write(&self, pieces: &[IoSlice<'_>]) -> Result<(), Errno> {
        rustix::io::writev(&self.descriptor, pieces).map(drop)
    }
}

/// What a [`DevicePort`](super::DevicePort) reads frames from, and writes them to.
pub trait FrameDevice: AsFd {
    /// Reads the next frame, as [`Device::read`] does.
    ///
    /// # Errors
    /// The kernel's, where the device is gone.
    fn read(&mut self, into: &mut [u8], rest: &mut [u8]) -> io::Result<TunRead>;

    /// Writes a frame that lies in pieces, behind the header of [`Offload`].
    ///
    /// # Errors
    /// The kernel's: it does not take the frame.
    fn write(&mut self, pieces: &[IoSlice<'_>]) -> Result<(), Errno>;

    /// Returns what it does with frames.
    fn features(&self) -> DeviceFeatures;
}

/// What a device does with frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceFeatures {
    /// It completes checks.
    pub checks: bool,
    /// It takes super-packets of TCP.
    pub segments: bool,
    /// It takes those of UDP.
    pub datagrams: bool,
    /// The longest frame, in octets.
    pub longest: usize,
}

impl FrameDevice for Device {
    fn read(&mut self, into: &mut [u8], rest: &mut [u8]) -> io::Result<TunRead> {
        Device::read(self, into, rest)
    }

    fn write(&mut self, pieces: &[IoSlice<'_>]) -> Result<(), Errno> {
        Device::write(self, pieces)
    }

    fn features(&self) -> DeviceFeatures {
        let (datagrams, longest) = (self.datagrams, usize::MAX);
        DeviceFeatures { checks: true, segments: true, datagrams, longest }
    }
}

/// What a read found.
#[derive(Debug)]
pub enum TunRead {
    /// A frame of so many octets.
    Frame(Offload, usize),
    /// A frame with which something is to be done that nobody offered to do.
    Unknown,
    /// None now.
    Nothing,
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
