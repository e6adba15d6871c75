//! Listening, connecting, accepting, waiting.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stackwright_contract::Protocol;
use stackwright_contract::services::{Datagrams, Ended, Room};
use stackwright_drivers::{Driver, Lanes};
use stackwright_wire::Message;

use crate::blocking::association::Association;
use crate::desk::{Desk, Named, State};
use crate::error::Error;
use crate::system::System;

/// A stack that an endpoint can stand on: it provides datagrams over descriptors. Every such protocol is one.
pub trait Stack: Protocol<Provides = Datagrams<Self::Message>, Uses: Lanes> {
    /// What its messages are.
    type Message: Message;
}

impl<M: Message, P: Protocol<Provides = Datagrams<M>, Uses: Lanes>> Stack for P {
    type Message = M;
}

/// What can be chosen of an endpoint.
///
/// ```
/// use stackwright_endpoint::Config;
/// let config = Config { arrivals_most: 1, ..Config::default() };
/// assert_eq!(config.longest, 65_507, "what UDP takes");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// How much of each association is kept for an application that does not receive it: the peer waits then. A message that
    /// is longer than this is never received.
    pub room: Room,
    /// How many who have arrived wait to be accepted; nobody arrives beyond them.
    pub arrivals_most: usize,
    /// The longest message that the stack takes, in octets. It takes no more than it has room for, either.
    pub longest: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config { room: Room { octets: 1 << 20, messages: 1024 }, arrivals_most: 16, longest: 65_507 }
    }
}

/// A stack with the driver below it, and the associations on it.
///
/// It is one thread's. When it is dropped with all its associations, what was not sent yet is lost: close those that matter
/// before.
pub struct Endpoint<S: Stack> {
    shared: Rc<RefCell<Shared<S>>>,
    local: Option<SocketAddr>,
    patience: Option<Duration>,
}

/// What an endpoint and its associations share.
pub(crate) struct Shared<S: Stack> {
    driver: Driver,
    stack: S,
    pub(crate) desk: Desk<S::Message>,
    pub(crate) longest: usize,
    turned: Instant,
}

/// How long the stack may be left alone by an application that finds all that it asks for: its peers wait for answers.
const ALONE_MOST: Duration = Duration::from_millis(1);

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
        let (driver, system) = System::with_driver()?;
        let stack = make(&system);
        let desk = Desk::new(config.room, config.arrivals_most);
        let shared = Shared { driver, stack, desk, longest: config.longest, turned: Instant::now() };
        Ok(Endpoint { shared: Rc::new(RefCell::new(shared)), local: None, patience: None })
    }

    /// The same, which listens at `local`; at port 0, anywhere.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// assert_ne!(endpoint.local().unwrap().port(), 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where that address is taken, or there is none such here.
    pub fn bind(local: SocketAddr, config: Config, make: impl FnOnce(&System) -> S) -> Result<Self, Error> {
        let mut endpoint = Self::new(config, make)?;
        let listener = endpoint.shared.borrow_mut().desk.listen(local.into());
        let place = wait(&endpoint.shared, None, |shared| match shared.desk.names.get(listener) {
            Some(Named::Listener(Ok(None))) => None,
            Some(Named::Listener(Ok(Some(place)))) => Some(Ok(*place)),
            Some(Named::Listener(Err(why))) => Some(Err(*why)),
            _ => Some(Err(Ended::Unlistened)),
        })?;
        endpoint.local = place?.internet();
        Ok(endpoint)
    }

    /// Where it listens.
    pub fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// How long calls wait, of the endpoint and of associations that it gives from now on; `None`: as long as they need to.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let mut endpoint =
    ///     Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// endpoint.set_patience(Some(Duration::from_millis(1)));
    /// assert!(endpoint.accept().is_err_and(|error| error.is_not_yet()), "nobody comes");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// An association with who listens at `remote`, once it is open.
    ///
    /// # Errors
    /// [`Error::Ended`] where nobody answers, or it is refused; [`Error::NotYet`] where patience is over: it is given up then.
    pub fn connect(&self, remote: SocketAddr) -> Result<Association<S>, Error> {
        let name = self.shared.borrow_mut().desk.open(remote.into());
        let association = Association::new(Rc::clone(&self.shared), name, self.patience);
        wait(&self.shared, self.patience, |shared| match shared.desk.link(name)?.state {
            State::Opening => None,
            State::Ended(why) => Some(Err(why)),
            State::Open | State::Closing => Some(Ok(())),
        })??;
        Ok(association)
    }

    /// The next who arrives.
    ///
    /// # Errors
    /// [`Error::NotYet`] where nobody comes in time; [`Error::Ended`] where the endpoint does not listen.
    pub fn accept(&self) -> Result<Association<S>, Error> {
        self.accept_within(self.patience)
    }

    /// Who has arrived.
    ///
    /// # Errors
    /// As [`accept`](Endpoint::accept).
    pub fn try_accept(&self) -> Result<Association<S>, Error> {
        self.accept_within(Some(Duration::ZERO))
    }

    fn accept_within(&self, patience: Option<Duration>) -> Result<Association<S>, Error> {
        if self.local.is_none() {
            return Err(Ended::Unlistened.into());
        }
        let name = wait(&self.shared, patience, |shared| {
            let name = shared.desk.arrived.pop_front()?;
            shared.desk.await_arrivals();
            Some(name)
        })?;
        Ok(Association::new(Rc::clone(&self.shared), name, self.patience))
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
    ///         while let Ok((question, quality)) = guest.try_receive() {
    ///             let _ = guest.send_with(&question, quality);
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
        let shared = &mut *self.shared.borrow_mut();
        let until = at_most.map(|most| Instant::now() + most);
        loop {
            if std::mem::take(&mut shared.desk.told) {
                return Ok(true);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            shared.turn(left)?;
            if left == Some(Duration::ZERO) {
                return Ok(std::mem::take(&mut shared.desk.told));
            }
        }
    }

    /// How many packets and words the stack has dropped: faults of the network and of peers.
    pub fn dropped(&self) -> u64 {
        self.shared.borrow().driver.context().dropped_count()
    }

    /// Lends the stack, to be looked at.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_contract::Protocol;
    /// use stackwright_wire::BufferTree;
    /// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// assert_eq!(endpoint.look(|udp| udp.next_deadline()), None, "it has nothing to do");
    /// # Ok::<_, stackwright_endpoint::Error>(())
    /// ```
    pub fn look<T>(&self, look: impl FnOnce(&S) -> T) -> T {
        look(&self.shared.borrow().stack)
    }
}

impl<S: Stack> Shared<S> {
    /// One batch, which begins with what is to be asked.
    pub(crate) fn turn(&mut self, wait_most: Option<Duration>) -> Result<(), Error> {
        self.ask();
        self.driver.turn(&mut self.stack, &mut self.desk, wait_most)?;
        self.ask();
        self.turned = Instant::now();
        Ok(())
    }

    /// Asks the stack for what is to be asked, until it is silent.
    pub(crate) fn ask(&mut self) {
        while !self.desk.asks.is_empty() {
            for request in std::mem::take(&mut self.desk.asks) {
                self.driver.request(&mut self.stack, request, &mut self.desk);
            }
        }
    }
}

/// Runs the stack until `look` finds something, or patience is over.
pub(crate) fn wait<S: Stack, T>(
    shared: &RefCell<Shared<S>>,
    patience: Option<Duration>,
    mut look: impl FnMut(&mut Shared<S>) -> Option<T>,
) -> Result<T, Error> {
    let shared = &mut *shared.borrow_mut();
    let now = Instant::now();
    let until = patience.map(|patience| now + patience);
    if now.duration_since(shared.turned) >= ALONE_MOST {
        shared.turn(Some(Duration::ZERO))?;
    }
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
