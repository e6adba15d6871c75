//! What the runtime watches for the stack: the driver's descriptor, and sockets for datagrams, each
//! by itself.

use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use mio::Token;
use mio::net::UdpSocket;
use stackwright_contract::{Handle, Names};
use stackwright_drivers::{Registry, Watcher};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime;

use crate::task::alarm::Alarm;

const NO_RUNTIME: &str = "an awaited endpoint is made within a runtime of tokio \
    (`#[tokio::main]`, or `Runtime::enter`); without one there are blocking endpoints";

/// Descriptors that are watched, and what they have told.
pub(super) struct Readers {
    runtime: runtime::Handle,
    known: Known,
    told: Arc<Told>,
}

type Known = Arc<Mutex<Names<Reader>>>;

struct Reader {
    descriptor: AsyncFd<Descriptor>,
    /// It marks this reader as one to be asked what can be read.
    reads: Waker,
    /// The same, where the network has reported an error. The runtime tells that once: it never
    /// takes it back. It suffices, because a layer that was told once that a peer
    /// cannot be reached has judged it.
    fails: Waker,
}

enum Descriptor {
    Driver(Arc<Registry>),
    Socket(Arc<UdpSocket>, Token),
}

/// Readers to be asked: the runtime tells nothing more of them until they were. It may tell from
/// another thread.
struct Told {
    marks: Mutex<Vec<Mark>>,
    /// Whether there are some: without any, the lock is not taken.
    some: AtomicBool,
    alarm: Arc<Alarm>,
}

#[derive(Clone, Copy)]
struct Mark {
    reader: Handle,
    fails: bool,
}

/// The source of a mark.
struct Marker {
    mark: Mark,
    told: Arc<Told>,
}

/// What can be read: sockets, by their tokens, and whether there is something else to look for.
#[derive(Default)]
pub(super) struct ReadySet {
    pub(super) sockets: Vec<Token>,
    pub(super) looks: bool,
    /// Readers to be asked now: those that had something the last time once more.
    asked: Vec<Mark>,
}

impl Readers {
    /// Watches the driver's descriptor. It wakes the alarm, and so the tasks that wait.
    pub(super) fn new(driver: Arc<Registry>, alarm: Arc<Alarm>) -> io::Result<Arc<Self>> {
        let runtime = runtime::Handle::try_current().map_err(|_| io::Error::other(NO_RUNTIME))?;
        let told = Arc::new(Told { marks: Mutex::default(), some: AtomicBool::new(false), alarm });
        let readers = Arc::new(Readers { runtime, known: Known::default(), told });
        readers.add(Descriptor::Driver(driver))?;
        Ok(readers)
    }

    fn add(&self, descriptor: Descriptor) -> io::Result<Handle> {
        let _runtime = self.runtime.enter();
        let [reads, fails] = [Waker::noop(); 2].map(Waker::clone);
        let reader = Reader { descriptor: registered(descriptor)?, reads, fails };
        let known = &mut *locked(&self.known);
        let name = known.name(reader);
        if let Some(reader) = known.get_mut(name) {
            let waker = |fails| {
                let mark = Mark { reader: name, fails };
                Waker::from(Arc::new(Marker { mark, told: Arc::clone(&self.told) }))
            };
            (reader.reads, reader.fails) = (waker(false), waker(true));
            // The runtime tells something when it was asked for the first time.
            reader.reads.wake_by_ref();
            reader.fails.wake_by_ref();
        }
        Ok(name)
    }

    /// Asks those that have told something, and has the others tell.
    pub(super) fn look(&self, seen: &mut ReadySet) -> io::Result<()> {
        self.told.move_to(&mut seen.asked);
        if seen.asked.is_empty() {
            return Ok(());
        }
        let known = locked(&self.known);
        let mut failed = Ok(());
        seen.asked.retain(|mark| {
            let Some(reader) = known.get(mark.reader) else { return false };
            let Poll::Ready(polled) = reader.poll(mark.fails) else { return false };
            match (polled, reader.descriptor.get_ref()) {
                (Err(error), _) => failed = Err(error),
                (Ok(()), Descriptor::Driver(_)) => seen.looks = true,
                (Ok(()), Descriptor::Socket(_, token)) => seen.sockets.push(*token),
            }
            !mark.fails
        });
        failed
    }

    /// Returns the socket, where there is only one: a caller that cannot wait for the runtime looks
    /// at it itself.
    pub(super) fn only(&self) -> Option<Token> {
        let known = locked(&self.known);
        if known.len() != 2 {
            return None;
        }
        known.iter().find_map(|(_, reader)| match reader.descriptor.get_ref() {
            Descriptor::Socket(_, token) => Some(*token),
            Descriptor::Driver(_) => None,
        })
    }
}

impl Reader {
    /// Whether there is something to read, or the network has reported an error: if one comes
    /// alone, that is told to writers.
    fn poll(&self, fails: bool) -> Poll<io::Result<()>> {
        let polled = if fails {
            self.descriptor.poll_write_ready(&mut Context::from_waker(&self.fails))
        } else {
            self.descriptor.poll_read_ready(&mut Context::from_waker(&self.reads))
        };
        // What comes from now on is told again: what has come is read to its end.
        polled.map_ok(|mut guard| guard.clear_ready())
    }
}

impl Told {
    fn mark(&self, mark: Mark) {
        let mut marks = locked(&self.marks);
        marks.push(mark);
        self.some.store(true, Ordering::Release);
    }

    #[inline]
    fn move_to(&self, asked: &mut Vec<Mark>) {
        if self.some.load(Ordering::Acquire) {
            let mut marks = locked(&self.marks);
            asked.append(&mut marks);
            self.some.store(false, Ordering::Relaxed);
        }
    }
}

impl Wake for Marker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.told.mark(self.mark);
        self.told.alarm.ring();
    }
}

/// Nothing behind these locks is ever half done.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket that is watched.
struct Watched {
    known: Known,
    name: Handle,
}

impl Watcher for Readers {
    fn watch(
        &self,
        socket: Arc<UdpSocket>,
        token: Token,
    ) -> io::Result<Box<dyn Any + Send + Sync>> {
        let name = self.add(Descriptor::Socket(socket, token))?;
        Ok(Box::new(Watched { known: Arc::clone(&self.known), name }))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let gone = locked(&self.known).forget(self.name);
        drop(gone);
    }
}

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Descriptor::Driver(registry) => registry.as_raw_fd(),
            Descriptor::Socket(socket, _) => socket.as_raw_fd(),
        }
    }
}

/// Both have a share of what owns the descriptor, and always say the same one: all that tokio asks
/// for. It asks for it by an `unsafe` call since 1.54, which this crate has none of.
#[expect(deprecated, reason = "sound for these, and the other one is unsafe")]
fn registered(descriptor: Descriptor) -> io::Result<AsyncFd<Descriptor>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use stackwright_drivers::udp::Udp;
    use stackwright_wire::BufferTree;
    use tokio::runtime::Builder;

    use crate::Endpoint;
    use crate::{Config, System};

    use super::*;

    #[test]
    fn an_endpoint_that_is_dropped_leaves_no_descriptor_behind() {
        Builder::new_current_thread().enable_io().build().unwrap().block_on(async {
            let here: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
            let endpoint: Endpoint<Udp<BufferTree>> =
                Endpoint::bind(here, Config::default(), System::udp).await.unwrap();
            let association = endpoint.connect(endpoint.local().unwrap()).await.unwrap();
            association.send(b"hello").await.unwrap();
            let known = Arc::downgrade(&endpoint.watch.readers.known);
            assert_eq!(
                known.upgrade().map(|known| locked(&known).len()),
                Some(3),
                "the driver's, and two sockets"
            );
            drop(association);
            drop(endpoint);
            assert!(known.upgrade().is_none());
        });
    }
}
