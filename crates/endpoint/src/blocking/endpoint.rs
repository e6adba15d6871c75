//! Listening, connecting, accepting, waiting.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use stackwright_contract::{Handle, Participant};

use crate::blocking::association::Association;
use crate::error::Error;
use crate::host::{Host, Totals};
use crate::shared::{Config, Shared, Stack, StackAny};
use crate::system::System;

/// A stack with its driver, and the associations on it.
///
/// It belongs to one thread. When it is dropped with all its associations, what was not sent yet is
/// lost: close those that matter before.
///
/// ```
/// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// # use stackwright_wire::BufferTree;
/// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
/// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
/// # let one = endpoint.connect(endpoint.local().unwrap())?;
/// one.send(b"hello")?;
/// assert_eq!(endpoint.accept()?.receive()?.0, b"hello");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Endpoint<S: StackAny> {
    host: Host<S>,
    timeout: Option<Duration>,
}

impl<S: Stack> Endpoint<S> {
    /// Creates an endpoint on the stack that `make` returns. It can connect, and does not listen.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.local(), None);
    /// # Ok::<_, stackwright_endpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    pub fn new(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        Ok(Endpoint { host: Host::new(config, make)?, timeout: None })
    }

    /// Creates an endpoint that listens at `local`; port 0 asks for any port. It can connect, too.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    /// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// assert_ne!(endpoint.local().unwrap().port(), 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the address is taken, or is none of this host.
    pub fn bind(
        local: impl Into<Participant>,
        config: Config,
        make: impl FnOnce(&System) -> S,
    ) -> Result<Self, Error> {
        let mut endpoint = Self::new(config, make)?;
        let listener = endpoint.host.listen(local.into());
        let place = wait(&endpoint.host.shared, None, |shared| shared.mailbox.local(listener))?;
        endpoint.host.local = place?.internet();
        Ok(endpoint)
    }

    /// Returns the Internet address at which it listens.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// assert!(endpoint.local().unwrap().ip().is_loopback());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn local(&self) -> Option<SocketAddr> {
        self.host.local
    }

    /// Sets how long calls of the endpoint, and of associations that it returns from now on, wait;
    /// `None`: without limit.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    /// let mut endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// endpoint.set_timeout(Some(Duration::from_millis(1)));
    /// assert!(endpoint.accept().is_err_and(|error| error.is_not_yet()), "nothing arrives");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Opens an association with `remote`: an Internet address, or any participant that the stack
    /// knows how to reach.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// let one = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?)?;
    /// assert_eq!(one.remote(), Some("127.0.0.1:9".parse()?));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] if there is no answer, or a refusal; [`Error::NotYet`] if the timeout is
    /// over: the attempt is given up then.
    pub fn connect(&self, remote: impl Into<Participant>) -> Result<Association<S>, Error> {
        let association = self.open(remote);
        association.opened()?;
        Ok(association)
    }

    /// Begins to open an association with `remote`, and does not wait: one thread opens many at the
    /// same time so. What is called on it waits until it is open; [`wait`](Endpoint::wait) and
    /// [`take_changed`](Endpoint::take_changed) tell when that is.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// let ports = [7, 9].map(|port| std::net::SocketAddr::from(([127, 0, 0, 1], port)));
    /// let both = ports.map(|remote| endpoint.open(remote));
    /// for association in both {
    ///     association.send(b"is there somebody?")?;
    /// }
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(&self, remote: impl Into<Participant>) -> Association<S> {
        Association::new(self.host.open(remote.into()), self.timeout)
    }

    /// Accepts the next association that arrives.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"over UDP, an arrival is a datagram")?;
    /// assert_eq!(endpoint.accept()?.remote(), one.local());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] if none arrives in time; [`Error::Ended`] if the endpoint does not listen.
    pub fn accept(&self) -> Result<Association<S>, Error> {
        self.accept_within(self.timeout)
    }

    /// Accepts an association that has arrived already.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// assert!(endpoint.try_accept().is_err_and(|error| error.is_not_yet()));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`accept`](Endpoint::accept).
    pub fn try_accept(&self) -> Result<Association<S>, Error> {
        self.accept_within(Some(Duration::ZERO))
    }

    /// Returns how many associations have arrived and were not accepted, as far as the stack has
    /// told. Unlike [`try_accept`](Endpoint::try_accept), it never runs the stack, so it costs
    /// nothing after each [`wait`](Endpoint::wait).
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"over UDP, an arrival is a datagram")?;
    /// while endpoint.arrived() == 0 {
    ///     endpoint.wait(None)?;
    /// }
    /// assert!(endpoint.try_accept().is_ok());
    /// assert_eq!(endpoint.arrived(), 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn arrived(&self) -> usize {
        self.host.shared.borrow().mailbox.arrivals()
    }

    fn accept_within(&self, timeout: Option<Duration>) -> Result<Association<S>, Error> {
        let listener = self.host.listener()?;
        let name = wait(&self.host.shared, timeout, |shared| shared.mailbox.arrival(listener))??;
        Ok(Association::new(self.host.hold(name), self.timeout))
    }

    /// Waits until something has happened on any association, or `at_most` is over; the stack runs
    /// meanwhile. Returns whether something has: then `try_receive` and `try_accept` find it, or
    /// there is more credit, or an association has ended.
    ///
    /// One thread serves many associations so:
    ///
    /// ```no_run
    /// # use stackwright_endpoint::{Error, Stack, blocking::{Association, Endpoint}};
    /// # fn serve<S: Stack>(endpoint: Endpoint<S>) -> Result<(), Error> {
    /// let mut guests = Vec::new();
    /// loop {
    ///     endpoint.wait(None)?;
    ///     guests.extend(endpoint.try_accept());
    ///     guests.retain(|guest: &Association<S>| {
    ///         while let Ok((question, properties)) = guest.try_receive() {
    ///             let _ = guest.send_with(&question, properties);
    ///         }
    ///         !guest.has_ended()
    ///     });
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the operating system cannot wait any more.
    pub fn wait(&self, at_most: Option<Duration>) -> Result<bool, Error> {
        let shared = &mut *self.host.shared.borrow_mut();
        let until = at_most.map(|most| Instant::now() + most);
        // What is asked may be answered at once, and nothing would end a wait for it.
        shared.ask();
        loop {
            if std::mem::take(&mut shared.mailbox.told) {
                return Ok(true);
            }
            if shared.turn_until(until)? {
                return Ok(std::mem::take(&mut shared.mailbox.told));
            }
        }
    }

    /// Returns the [name](Association::name) of an association on which something has happened
    /// since it was last returned, as far as the stack has told: messages came, there is more
    /// credit, or it has ended. The first call begins with all of them. It never runs the stack.
    ///
    /// A thread that serves many associations looks only at those, whose number does not matter:
    ///
    /// ```no_run
    /// # use std::collections::HashMap;
    /// # use stackwright_endpoint::{Error, Stack, blocking::Endpoint};
    /// # fn serve<S: Stack>(endpoint: Endpoint<S>) -> Result<(), Error> {
    /// let mut guests = HashMap::new();
    /// loop {
    ///     endpoint.wait(None)?;
    ///     while endpoint.arrived() > 0 {
    ///         let guest = endpoint.try_accept()?;
    ///         guests.insert(guest.name(), guest);
    ///     }
    ///     while let Some(name) = endpoint.take_changed() {
    ///         let Some(guest) = guests.get(&name) else { continue };
    ///         while let Ok((question, properties)) = guest.try_receive() {
    ///             let _ = guest.send_with(&question, properties);
    ///         }
    ///         if guest.has_ended() {
    ///             guests.remove(&name);
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    pub fn take_changed(&self) -> Option<Handle> {
        self.host.shared.borrow_mut().mailbox.take_changed()
    }

    /// Prepares a wait elsewhere, for an application with an event loop of its own: the endpoint's
    /// descriptor is readable once the stack has something to do, timers included. Then
    /// [`wait`](Endpoint::wait) with no time does it. Whatever else was called since asks for
    /// `arm` again before the next wait: it costs a system call only where an earlier event is to
    /// be set. Returns whether the stack has something to do already.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// use std::os::fd::AsRawFd;
    /// let _to_be_polled = endpoint.as_raw_fd();
    /// while endpoint.arm() {
    ///     endpoint.wait(Some(std::time::Duration::ZERO))?;
    /// }
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn arm(&self) -> bool {
        self.host.shared.borrow_mut().arm()
    }

    /// Returns how many packets and words the stack has dropped, because of faults of the network
    /// and of peers.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.dropped(), 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn dropped(&self) -> u64 {
        self.host.shared.borrow().dropped()
    }

    /// Returns how many associations it has, and how much the stack has dropped.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn totals(&self) -> Totals {
        self.host.totals()
    }

    /// Lends the stack, to be inspected.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_contract::Protocol;
    /// use stackwright_wire::BufferTree;
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert!(!endpoint.look(|udp| udp.wants_flush()), "it has nothing to do");
    /// # Ok::<_, stackwright_endpoint::Error>(())
    /// ```
    pub fn look<T>(&self, look: impl FnOnce(&S) -> T) -> T {
        look(&self.host.shared.borrow().stack)
    }
}

/// The descriptor that [`arm`](Endpoint::arm) prepares. It stays the endpoint's: it is only waited
/// for.
impl<S: StackAny> AsRawFd for Endpoint<S> {
    fn as_raw_fd(&self) -> RawFd {
        self.host.shared.borrow().registry().as_raw_fd()
    }
}

/// Runs the stack until `look` finds something, or timeout is over.
#[inline]
pub(crate) fn wait<S: StackAny, T>(
    shared: &RefCell<Shared<S>>,
    timeout: Option<Duration>,
    mut look: impl FnMut(&mut Shared<S>) -> Option<T>,
) -> Result<T, Error> {
    let shared = &mut *shared.borrow_mut();
    if shared.is_stale() {
        shared.turn(Some(Duration::ZERO))?;
    }
    // What is asked for meanwhile is asked with the next batch.
    if let Some(found) = look(shared) {
        return Ok(found);
    }
    let until = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        shared.ask();
        if let Some(found) = look(shared) {
            return Ok(found);
        }
        if shared.turn_until(until)? {
            return look(shared).ok_or(Error::NotYet);
        }
    }
}
