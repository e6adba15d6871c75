//! Listening, connecting, accepting, waiting.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use stackwright_contract::Participant;

use crate::blocking::association::Association;
use crate::error::Error;
use crate::host::{Host, Totals};
use crate::shared::{Config, Shared, Stack, StackAny};
use crate::system::System;

/// A stack with the driver below it, and the associations on it.
///
/// It is one thread's. When it is dropped with all its associations, what was not sent yet is lost: close those that matter
/// before.
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
    /// An endpoint on the stack that `make` makes: it connects, and does not listen.
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
    /// Where the operating system has no more descriptors.
    pub fn new(config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        Ok(Endpoint { host: Host::new(config, make)?, timeout: None })
    }

    /// The same, which listens at `local`; at port 0, anywhere.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let endpoint = Endpoint::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?, Config::default(), System::udp::<BufferTree>)?;
    /// assert_ne!(endpoint.local().unwrap().port(), 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where that address is taken, or there is none such here.
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

    /// Where it listens.
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

    /// How long calls wait, of the endpoint and of associations that it gives from now on; `None`: as long as they need to.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let mut endpoint =
    ///     Endpoint::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?, Config::default(), System::udp::<BufferTree>)?;
    /// endpoint.set_timeout(Some(Duration::from_millis(1)));
    /// assert!(endpoint.accept().is_err_and(|error| error.is_not_yet()), "nobody comes");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// An association with who listens at `remote`, once it is open.
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
    /// [`Error::Ended`] where nobody answers, or it is refused; [`Error::NotYet`] where timeout is over: it is given up then.
    pub fn connect(&self, remote: impl Into<Participant>) -> Result<Association<S>, Error> {
        let hold = self.host.open(remote.into());
        wait(&hold.shared, self.timeout, |shared| shared.opened(hold.name))??;
        Ok(Association::new(hold, self.timeout))
    }

    /// The next who arrives.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"who arrives over UDP arrives with a datagram")?;
    /// assert_eq!(endpoint.accept()?.remote(), one.local());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] where nobody comes in time; [`Error::Ended`] where the endpoint does not listen.
    pub fn accept(&self) -> Result<Association<S>, Error> {
        self.accept_within(self.timeout)
    }

    /// Who has arrived.
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

    /// How many have arrived and were not accepted yet, as far as the stack has told. Nobody looks for more, as
    /// [`try_accept`](Endpoint::try_accept) does where there is nobody: it costs nothing to ask after each [`wait`](Endpoint::wait).
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"who arrives over UDP arrives with a datagram")?;
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

    /// Waits until something has come for any of its associations, or `at_most` is over; the stack runs meanwhile. Whether
    /// there was something: then `try_receive` and `try_accept` find it, or there is more room, or something ended.
    ///
    /// It is how one thread serves many:
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
    /// Where the operating system cannot wait any more.
    pub fn wait(&self, at_most: Option<Duration>) -> Result<bool, Error> {
        let shared = &mut *self.host.shared.borrow_mut();
        let until = at_most.map(|most| Instant::now() + most);
        loop {
            if std::mem::take(&mut shared.mailbox.told) {
                return Ok(true);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            shared.turn(left)?;
            if left == Some(Duration::ZERO) {
                return Ok(std::mem::take(&mut shared.mailbox.told));
            }
        }
    }

    /// How many packets and words the stack has dropped: faults of the network and of peers.
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

    /// What it has seen so far.
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

    /// Lends the stack, to be looked at.
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

/// Runs the stack until `look` finds something, or timeout is over.
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
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        shared.turn(left)?;
        if left == Some(Duration::ZERO) {
            return look(shared).ok_or(Error::NotYet);
        }
    }
}
