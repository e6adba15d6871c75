//! The registry, where adapters register their descriptors.

use std::any::Any;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use mio::net::UdpSocket;
use mio::unix::SourceFd;
use mio::{Interest, Token};

use crate::coalescing::Traffic;
use crate::granted::{GrantClient, Wanted};

/// The descriptors of one [`Driver`](crate::Driver): all of them under one of its own, which is
/// readable when one of them is ready.
pub struct Registry {
    registry: mio::Registry,
    /// Weak, because the watcher owns a share of this registry.
    watcher: OnceLock<Weak<dyn Watcher>>,
    /// One thread at a time runs the stack; so that another may run it later, these are atomic.
    received: AtomicUsize,
    sent: AtomicUsize,
    granted: OnceLock<GrantClient>,
}

/// Reports to the driver, in place of its own descriptor, that a socket can be read: a runtime that
/// waits for descriptors anyway. A datagram then causes one wake-up less, and is found by one poll
/// instead of two.
pub trait Watcher: Send + Sync {
    /// Watches `socket` until the returned value is dropped. When something arrives, its token is
    /// passed to [`Driver::turn_seen`](crate::Driver::turn_seen).
    ///
    /// # Errors
    /// If the operating system refuses to.
    fn watch(&self, socket: Arc<UdpSocket>, token: Token)
    -> io::Result<Box<dyn Any + Send + Sync>>;
}

/// A socket's registration with a watcher, if any, which lasts until it is dropped: before the
/// socket is.
#[derive(Default)]
pub(crate) struct Watched(Option<Box<dyn Any + Send + Sync>>);

impl Registry {
    /// Lets `watcher` watch sockets for datagrams: those that are registered later, as long as the
    /// watcher is alive. There is one at most.
    pub fn watch_by(&self, watcher: &Arc<dyn Watcher>) {
        let is_first = self.watcher.set(Arc::downgrade(watcher)).is_ok();
        debug_assert!(is_first, "a stack runs in one runtime");
    }

    /// Has what this program has no right to open opened by a server: sockets at low ports, raw
    /// sockets and serial lines. There is one at most.
    pub fn open_by(&self, server: GrantClient) {
        let is_first = self.granted.set(server).is_ok();
        debug_assert!(is_first, "one server is asked");
    }

    /// Returns what this program has opened itself, or a server has where that is not permitted.
    pub(crate) fn or_granted(
        &self,
        own: io::Result<OwnedFd>,
        wanted: impl FnOnce() -> Wanted,
    ) -> io::Result<OwnedFd> {
        match (own, self.granted.get()) {
            (Err(why), Some(server)) if why.kind() == ErrorKind::PermissionDenied => {
                server.open(&wanted())
            }
            (own, _) => own,
        }
    }

    /// Adds octets that were read at once, from a socket that holds what arrives before the next
    /// read.
    pub(crate) fn on_received(&self, octets: usize) {
        add(&self.received, octets);
    }

    /// Adds octets that were sent.
    pub(crate) fn on_sent(&self, octets: usize) {
        add(&self.sent, octets);
    }

    /// Takes what was added since the last call.
    pub(crate) fn take_traffic(&self) -> Traffic {
        let take = |count: &AtomicUsize| {
            let octets = count.load(Relaxed);
            count.store(0, Relaxed);
            octets
        };
        Traffic { received: take(&self.received), sent: take(&self.sent) }
    }

    /// Registers a socket for datagrams, which is to be told when something arrives.
    pub(crate) fn register_socket(
        &self,
        socket: &Arc<UdpSocket>,
        token: Token,
    ) -> io::Result<Watched> {
        if let Some(watcher) = self.watcher.get().and_then(Weak::upgrade) {
            return Ok(Watched(Some(watcher.watch(Arc::clone(socket), token)?)));
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

fn add(count: &AtomicUsize, octets: usize) {
    count.store(count.load(Relaxed).saturating_add(octets), Relaxed);
}

impl From<mio::Registry> for Registry {
    fn from(registry: mio::Registry) -> Self {
        let (watcher, granted) = (OnceLock::new(), OnceLock::new());
        Registry { registry, watcher, received: 0.into(), sent: 0.into(), granted }
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
