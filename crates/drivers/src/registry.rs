//! The registry, where adapters register their descriptors.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::{Rc, Weak};

use mio::net::UdpSocket;
use mio::unix::SourceFd;
use mio::{Interest, Token};

use crate::coalescing::Traffic;

/// The descriptors of one [`Driver`](crate::Driver): all of them under one of its own, which is
/// readable when one of them is ready.
pub struct Registry {
    registry: mio::Registry,
    /// Weak, because the watcher owns a share of this registry.
    watcher: OnceCell<Weak<dyn Watcher>>,
    traffic: Cell<Traffic>,
}

/// Reports to the driver, in place of its own descriptor, that a socket can be read: a runtime that
/// waits for descriptors anyway. A datagram then causes one wake-up less, and is found by one poll
/// instead of two.
pub trait Watcher {
    /// Watches `socket` until the returned value is dropped. When something arrives, its token is
    /// passed to [`Driver::turn_seen`](crate::Driver::turn_seen).
    ///
    /// # Errors
    /// If the operating system refuses to.
    fn watch(&self, socket: Rc<UdpSocket>, token: Token) -> io::Result<Box<dyn Any>>;
}

/// A socket's registration with a watcher, if any, which lasts until it is dropped: before the
/// socket is.
#[derive(Default)]
pub(crate) struct Watched(Option<Box<dyn Any>>);

impl Registry {
    /// Lets `watcher` watch sockets for datagrams: those that are registered later, as long as the
    /// watcher is alive. There is one at most.
    pub fn watch_by(&self, watcher: &Rc<dyn Watcher>) {
        let is_first = self.watcher.set(Rc::downgrade(watcher)).is_ok();
        debug_assert!(is_first, "a stack runs in one runtime");
    }

    /// Adds octets that were read at once, from a socket that holds what arrives before the next
    /// read.
    pub(crate) fn on_received(&self, octets: usize) {
        let traffic = self.traffic.get();
        self.traffic.set(Traffic { received: traffic.received.saturating_add(octets), ..traffic });
    }

    /// Adds octets that were sent.
    pub(crate) fn on_sent(&self, octets: usize) {
        let traffic = self.traffic.get();
        self.traffic.set(Traffic { sent: traffic.sent.saturating_add(octets), ..traffic });
    }

    /// Takes what was added since the last call.
    pub(crate) fn take_traffic(&self) -> Traffic {
        self.traffic.take()
    }

    /// Registers a socket for datagrams, which is to be told when something arrives.
    pub(crate) fn register_socket(
        &self,
        socket: &Rc<UdpSocket>,
        token: Token,
    ) -> io::Result<Watched> {
        if let Some(watcher) = self.watcher.get().and_then(Weak::upgrade) {
            return Ok(Watched(Some(watcher.watch(Rc::clone(socket), token)?)));
        }
        self.registry.register(&mut SourceFd(&socket.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Watched(None))
    }

    /// Registers a socket for writability too, or ends that.
    pub(crate) fn hear_of_room(
        &self,
        socket: &UdpSocket,
        watched: &Watched,
        token: Token,
        wants: bool,
    ) -> io::Result<()> {
        let descriptor = socket.as_raw_fd();
        let mut source = SourceFd(&descriptor);
        match (wants, watched) {
            (true, Watched(None)) => self.registry.reregister(
                &mut source,
                token,
                Interest::READABLE.add(Interest::WRITABLE),
            ),
            (false, Watched(None)) => {
                self.registry.reregister(&mut source, token, Interest::READABLE)
            }
            (true, Watched(Some(_))) => {
                self.registry.register(&mut source, token, Interest::WRITABLE)
            }
            (false, Watched(Some(_))) => self.registry.deregister(&mut source),
        }
    }
}

impl From<mio::Registry> for Registry {
    fn from(registry: mio::Registry) -> Self {
        Registry { registry, watcher: OnceCell::new(), traffic: Cell::default() }
    }
}

impl Deref for Registry {
    type Target = mio::Registry;

    fn deref(&self) -> &mio::Registry {
        &self.registry
    }
}

impl AsRawFd for Registry {
    fn as_raw_fd(&self) -> RawFd {
        self.registry.as_raw_fd()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.registry.fmt(f)
    }
}
