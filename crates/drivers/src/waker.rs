//! What ends a driver's wait from another thread.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mio::Interest;
use mio::unix::SourceFd;
use rustix::event::{EventfdFlags, eventfd};

use crate::registry::Registry;
use crate::timer::WAKER;

/// Ends the wait of a [turn](crate::Driver::turn), or the next one if there is none now. It may be
/// shared by threads.
#[derive(Debug)]
pub struct Waker {
    descriptor: OwnedFd,
}

impl Waker {
    /// Makes one for the driver of `registry`.
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    pub fn new(registry: &Registry) -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        registry.register(&mut SourceFd(&descriptor.as_raw_fd()), WAKER, Interest::READABLE)?;
        Ok(Waker { descriptor })
    }

    /// Wakes the driver up.
    ///
    /// # Errors
    /// If the operating system refuses to.
    pub fn wake(&self) -> io::Result<()> {
        // Each one is an event of its own (epoll(7), EPOLLET); the count is not read.
        rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}
