//! A stack with the driver below it and the mailbox above it: what an endpoint and its associations
//! share.

use std::io::{self, IoSliceMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Token;
use stackwright_contract::ask::{KeepsLifetimes, NothingBelow, PathStatistics, ask};
use stackwright_contract::services::{
    AssociationRequest, Credit, Datagrams, Ended, MessageProperties, Streams, Transfer,
};
use stackwright_contract::{Handle, Protocol};
use stackwright_drivers::{Driver, Lanes};
use stackwright_wire::Message;

use crate::error::Error;
use crate::events;
use crate::flavor::{Flavor, Lock};
use crate::link::{Link, Received, State};
use crate::mailbox::Mailbox;
use crate::offered::{Offered, OfferedProperties, Outbound, Size};
use crate::placed::Placed;
use crate::system::System;

/// A stack that an endpoint can run: it provides datagrams or streams over descriptors. Every such
/// protocol implements it.
///
/// ```
/// use stackwright_drivers::{tcp::Tcp, udp::Udp};
/// use stackwright_endpoint::StackAny;
/// use stackwright_wire::BufferTree;
/// fn fits<S: StackAny<Message = BufferTree>>() {}
/// fits::<Tcp<BufferTree>>();
/// fits::<Udp<BufferTree>>();
/// ```
pub trait StackAny: Protocol<Provides: Offered<Message = Self::Message>, Uses: Lanes> {
    /// The type of its messages.
    type Message: Message;
}

impl<M: Message, P: Protocol<Provides: Offered<Message = M>, Uses: Lanes>> StackAny for P {
    type Message = M;
}

/// A stack that provides datagrams, for [`Association`](crate::blocking::Association)s.
///
/// ```
/// use stackwright_drivers::udp::Udp;
/// use stackwright_endpoint::{Error, Stack, blocking::Association};
/// use stackwright_wire::BufferTree;
/// /// Gives back what comes, over whatever stack.
/// fn echo<S: Stack>(association: &Association<S>) -> Result<(), Error> {
///     let (message, properties) = association.receive_message()?;
///     Ok(association.send_message(message, properties)?)
/// }
/// let _over_udp = echo::<Udp<BufferTree>>;
/// ```
pub trait Stack: StackAny<Provides = Datagrams<<Self as StackAny>::Message>> {}

impl<S: StackAny<Provides = Datagrams<<S as StackAny>::Message>>> Stack for S {}

/// A stack that provides streams.
///
/// ```
/// use stackwright_drivers::tcp::Tcp;
/// use stackwright_endpoint::StreamStack;
/// use stackwright_wire::BufferTree;
/// fn fits<S: StreamStack>() {}
/// fits::<Tcp<BufferTree>>();
/// ```
pub trait StreamStack: StackAny<Provides = Streams<<Self as StackAny>::Message>> {}

impl<S: StackAny<Provides = Streams<<S as StackAny>::Message>>> StreamStack for S {}

/// How long the stack may be left alone by an application that finds all that it asks for, or a
/// tick of the system longer: its peers wait for answers.
const ALONE_MOST: Duration = Duration::from_millis(1);

/// Memory for this many words to the stack is kept while there are none.
const ASKS_KEPT: usize = 64;

pub(crate) struct Shared<S: StackAny> {
    driver: Driver,
    pub(crate) stack: S,
    pub(crate) mailbox: Mailbox<S::Provides>,
    /// When the descriptors were last looked at, in the stack's time.
    turned: stackwright_contract::Instant,
    /// Octets that were handed over since then, and whether these are enough for a turn.
    unturned: usize,
    turns: bool,
}

/// Octets that leave together: a message behind as many leaves with them.
pub(crate) const TOGETHER: usize = 64 << 10;

/// How many octets of a stream are taken at once: what is written at once is copied at once.
const WRITE_MOST: usize = 64 << 10;

/// Octets after which arrivals are looked for: several system calls full of packets, of which only
/// the last is not full.
const TURNED_MOST: usize = 256 << 10;

/// The same, of messages that are handed over together: each time fills a system call, and the
/// fewer are on their way, the more likely memory that is used again is still in the processor's
/// cache.
const TURNED_MOST_TOGETHER: usize = 128 << 10;

/// The configuration of an endpoint.
///
/// ```
/// use stackwright_endpoint::Config;
/// let config = Config { arrivals_most: 1, ..Config::default() };
/// assert_eq!(config.credit.octets, 1 << 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Credit that each association gives its peer: how much is held for an application that does
    /// not receive it, before the peer has to wait. It bounds the longest message that the
    /// association receives, which the peer is told: one that is longer is refused there. At least
    /// 1 octet and 1 message; streams count octets only.
    pub credit: Credit,
    /// The most associations that wait to be accepted (the backlog). A peer that arrives beyond
    /// them is not answered and asks again, over ARTP after a second. Each may hold its credit of
    /// messages that nobody has accepted yet: `arrivals_most * credit.octets` bounds their memory,
    /// 256 MiB by default.
    pub arrivals_most: usize,
    /// How long the blocking calls poll before they sleep. Where each end has a processor of its
    /// own, 50 µs at both halved the time of an exchange of short messages (0.44 over UDP, 0.50
    /// over ARTP) and took 0.7 to 0.8 of the processor time, because a polling receiver need not be
    /// woken. It does not speed up bulk, and is wrong where both ends share a processor.
    ///
    /// An endpoint that does not poll, and receives datagrams faster than it can be woken for each
    /// burst, lets arrivals gather for some 70 µs (wake-up coalescing): other events of this
    /// endpoint are seen as much later. It is not done while the peer waits for answers, nor where
    /// the socket buffers less than 1 MiB (`net.core.rmem_max`).
    pub spin: Duration,
    /// Whether other endpoints may listen at the same address, on UDP (`SO_REUSEPORT`): one per
    /// core, each with a thread and a stack of its own. All of them set it, and belong to one user.
    /// The kernel assigns an association to an endpoint by the addresses and ports of both ends,
    /// until an endpoint begins or ceases to listen: then an association may be assigned to another
    /// endpoint, which does not know it, and ends. So bind all of them before a peer is told the
    /// address, and drop them together.
    ///
    /// ```
    /// use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_wire::BufferTree;
    /// let config = Config { shared_port: true, ..Config::default() };
    /// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    /// let first = Endpoint::bind(here, config, System::udp::<BufferTree>)?;
    /// let place = first.local().unwrap();
    /// let second = std::thread::spawn(move || {
    ///     let second = Endpoint::bind(place, config, System::udp::<BufferTree>)?;
    ///     assert_eq!(second.local(), Some(place));
    ///     Ok::<_, stackwright_endpoint::Error>(())
    /// });
    /// second.join().unwrap()?;
    /// let other = Config::default();
    /// let third = Endpoint::bind(place, other, System::udp::<BufferTree>);
    /// assert!(third.is_err(), "it does not share");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub shared_port: bool,
}

impl Default for Config {
    fn default() -> Self {
        let credit = Credit { octets: 1 << 20, messages: 1024 };
        Config { credit, arrivals_most: 256, spin: Duration::ZERO, shared_port: false }
    }
}

/// Nothing runs the stack any more: each peer is told that it is over, as far as that leaves at
/// once.
impl<S: StackAny> Drop for Shared<S> {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.mailbox.has_links() {
            return;
        }
        // What is done ends in good order, and what is not is aborted. An error of the system is
        // nobody's any more.
        let _ = self.turn(Some(Duration::ZERO));
        self.mailbox.abort_all();
        let _ = self.turn(Some(Duration::ZERO));
    }
}

impl<S: StackAny> Shared<S> {
    pub(crate) fn new<F: Flavor>(
        config: Config,
        make: impl FnOnce(&System) -> S,
    ) -> io::Result<Arc<F::Lock<Self>>> {
        let (mut driver, mut system) = System::with_driver()?;
        system.shared_port = config.shared_port;
        driver.set_spin(config.spin);
        let stack = make(&system);
        let mailbox = Mailbox::new(config.credit, config.arrivals_most);
        let turned = driver.context().now();
        Ok(Arc::new(Lock::new(Shared {
            driver,
            stack,
            mailbox,
            turned,
            unturned: 0,
            turns: false,
        })))
    }

    /// One batch, which begins with what is to be asked.
    pub(crate) fn turn(&mut self, wait_most: Option<Duration>) -> Result<(), Error> {
        self.ask();
        self.driver.turn(&mut self.stack, &mut self.mailbox, wait_most)?;
        self.ask();
        (self.turned, self.unturned, self.turns) = (self.driver.context().now(), 0, false);
        if !self.mailbox.logged.is_empty() {
            self.log_paths();
        }
        Ok(())
    }

    /// One batch, which waits until then at most. Returns whether that time is over.
    pub(crate) fn turn_until(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        self.turn(left)?;
        Ok(left == Some(Duration::ZERO))
    }

    /// Writes what is known of the paths of associations that are logged.
    #[cold]
    fn log_paths(&mut self) {
        for at in 0..self.mailbox.logged.len() {
            self.log_path(self.mailbox.logged[at], false);
        }
    }

    /// Writes what is known of a path that is logged; where it is not the `last` time, only if it
    /// is due.
    pub(crate) fn log_path(&mut self, name: Handle, last: bool) {
        if let Some(Link { qlog: Some(qlog), .. }) = self.mailbox.link(name)
            && (qlog.is_due() || last)
            && let Some(report) = ask(&self.stack, name, PathStatistics, &NothingBelow)
        {
            qlog.path(report);
        }
    }

    /// Returns whether what was just handed over leaves now, and not with what follows it: it does
    /// where little is before it. `waits` octets of its association are on their way then.
    pub(crate) fn leaves_now(&self, waits: usize) -> bool {
        waits < TOGETHER || self.turns
    }

    /// Lets what was just handed over leave. Where little is before it, arrivals are not looked
    /// for: a caller that waits for an answer does that next. `seen` names a socket that the driver
    /// does not look at itself.
    pub(crate) fn let_leave(
        &mut self,
        waits: usize,
        seen: impl FnOnce() -> Option<Token>,
    ) -> Result<(), Error> {
        if waits >= TOGETHER || self.turns {
            return self.turn_seen(seen().as_slice(), true);
        }
        self.ask();
        if !self.driver.run_due(&mut self.stack, &mut self.mailbox) {
            // Something did not leave at once.
            return self.turn_seen(seen().as_slice(), true);
        }
        self.ask();
        Ok(())
    }

    /// Asks the stack for what is to be asked, until it is silent.
    #[inline]
    pub(crate) fn ask(&mut self) {
        if !self.mailbox.asks.is_empty() {
            self.ask_for_all();
        }
    }

    #[inline]
    fn ask_for_all(&mut self) {
        while !self.mailbox.asks.is_empty() {
            let mut asks = std::mem::take(&mut self.mailbox.asks);
            self.driver.requests(&mut self.stack, asks.drain(..), &mut self.mailbox);
            // Its memory is kept for the next ones, where it is not much.
            if self.mailbox.asks.is_empty() && asks.capacity() <= ASKS_KEPT {
                self.mailbox.asks = asks;
            }
        }
    }

    /// Whether it was left alone for too long, as far as the last tick tells: each call asks.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.driver.last_tick().since(self.turned) >= ALONE_MOST
    }

    /// Whether there may be something for the stack that the last batch was too small for.
    #[cfg(feature = "tokio")]
    pub(crate) fn has_more(&self) -> bool {
        self.driver.has_more()
    }

    /// Where the stack's descriptors are registered.
    pub(crate) fn registry(&self) -> Arc<stackwright_drivers::Registry> {
        self.driver.registry()
    }

    /// Runs one batch without a wait, of sockets that were seen to be readable, and where it
    /// `looks`, of everything else.
    pub(crate) fn turn_seen(&mut self, sockets: &[Token], looks: bool) -> Result<(), Error> {
        self.ask();
        self.driver.turn_seen(&mut self.stack, &mut self.mailbox, sockets, looks)?;
        self.ask();
        (self.turned, self.unturned, self.turns) = (self.driver.context().now(), 0, false);
        if !self.mailbox.logged.is_empty() {
            self.log_paths();
        }
        Ok(())
    }

    /// Whether the stack wants to be called now; else the driver's descriptor can be read when it
    /// does, or somewhat sooner.
    pub(crate) fn is_due(&mut self) -> bool {
        if self.stack.wants_flush() {
            return true;
        }
        let Some(deadline) = self.stack.next_deadline() else { return false };
        let is_due = deadline <= self.driver.context().now();
        if !is_due {
            self.driver.wake_at(deadline);
        }
        is_due
    }

    /// Makes the driver's descriptor readable when the stack wants to be called, or has told
    /// something already. Returns whether that is now.
    pub(crate) fn arm(&mut self) -> bool {
        self.ask();
        // What is due now needs no timer for later.
        let is_due = self.mailbox.told || self.is_due();
        if is_due {
            self.driver.wake_now();
        }
        is_due
    }

    /// Whether messages of that size, of use until `due`, are taken now, will never be, or have to
    /// wait.
    #[inline]
    pub(crate) fn takes(
        &mut self,
        name: Handle,
        size: Size,
        due: Option<Instant>,
    ) -> Option<Result<(), Error>> {
        let link = self.mailbox.link(name)?;
        let expires = due.is_none()
            || !link.is_open()
            || ask(&self.stack, name, KeepsLifetimes, &NothingBelow).unwrap_or(true);
        let taken = match expires {
            true => link.takes(size, <S::Provides as Transfer>::MESSAGES, due),
            false => Some(Err(Error::NeverExpires)),
        };
        if let Some(Err(why)) = &taken {
            events::refused(name, size.octets, why);
        }
        taken
    }

    /// How many of `most` octets of a stream are taken now, at least one, or that none will be.
    pub(crate) fn takes_some(&mut self, name: Handle, most: usize) -> Option<Result<usize, Error>> {
        let credit = self.mailbox.link(name)?.credit.octets;
        let octets = most.min(WRITE_MOST).min(credit.max(1));
        Some(self.takes(name, Size::one(octets), None)?.map(|()| octets))
    }

    /// Sends messages for which there is room. Gives how many octets of their association are on
    /// their way then.
    pub(crate) fn hand_over(
        &mut self,
        name: Handle,
        outbound: impl Outbound<S::Message>,
        properties: MessageProperties,
        due: Option<Instant>,
    ) -> usize {
        let Some(link) = self.mailbox.link(name) else { return 0 };
        let size = outbound.size();
        let waits = link.handed_over(size, due.is_some());
        self.unturned += size.octets;
        self.turns =
            self.unturned >= if size.messages > 1 { TURNED_MOST_TOGETHER } else { TURNED_MOST };
        // What it has waited for room is a part of its life.
        let left = due.map(|due| due.saturating_duration_since(Instant::now()).as_micros().max(1));
        let lifetime = left.and_then(|left| u32::try_from(left).ok()?.try_into().ok());
        let properties = S::Provides::said(MessageProperties { lifetime, ..properties });
        self.mailbox.asks.push(AssociationRequest::Send {
            association: name,
            batch: outbound.into(),
            properties,
        });
        waits
    }

    /// Sends messages for which there is room, and lets them leave.
    #[cfg(feature = "tokio")]
    pub(crate) fn send(
        &mut self,
        name: Handle,
        outbound: impl Outbound<S::Message>,
        properties: MessageProperties,
        due: Option<Instant>,
        seen: impl FnOnce() -> Option<Token>,
    ) {
        let waits = self.hand_over(name, outbound, properties, due);
        // It was taken: what goes wrong from here on is heard by the next call.
        let _ = self.let_leave(waits, seen);
    }

    /// The next message, or why there will be none, or that it has to be waited for.
    pub(crate) fn take(
        &mut self,
        name: Handle,
    ) -> Option<Result<(S::Message, MessageProperties), Error>> {
        self.take_from(name, Link::take_message, |(message, _)| Credit {
            octets: message.len(),
            messages: 1,
        })
    }

    /// The next messages that came together, in the same way.
    #[inline]
    pub(crate) fn take_batch(
        &mut self,
        name: Handle,
    ) -> Option<Result<Received<S::Message>, Error>> {
        self.take_from(name, Link::take_batch, |(messages, _)| messages.cost())
    }

    /// Octets of the next message, in areas of the application's, in the same way.
    pub(crate) fn take_into(
        &mut self,
        name: Handle,
        areas: &mut [IoSliceMut<'_>],
    ) -> Option<Result<Placed, Error>> {
        self.take_from(
            name,
            |link| link.take_into(areas),
            |placed| Credit { octets: placed.octets, messages: usize::from(placed.whole) },
        )
    }

    #[inline]
    fn take_from<T>(
        &mut self,
        name: Handle,
        take: impl FnOnce(&mut Link<S::Message>) -> Option<T>,
        credit: impl FnOnce(&T) -> Credit,
    ) -> Option<Result<T, Error>> {
        let link = self.mailbox.link(name)?;
        let over = link.drop_expired();
        if over != Credit::NONE && link.is_open() {
            self.mailbox.takes_more(name, over);
        }
        let link = self.mailbox.link(name)?;
        let Some(taken) = take(link) else {
            return match link.state {
                State::Ended(why) => Some(Err(why.into())),
                _ if link.finished => Some(Err(Ended::Finished.into())),
                _ => None,
            };
        };
        if link.is_open() {
            self.mailbox.takes_more(name, credit(&taken));
        }
        Some(Ok(taken))
    }

    /// Whether it is open, or why it will never be.
    pub(crate) fn opened(&mut self, name: Handle) -> Option<Result<(), Error>> {
        match self.mailbox.link(name)?.state {
            State::Opening => None,
            State::Ended(why) => Some(Err(why.into())),
            State::Open | State::Finishing | State::Closing => Some(Ok(())),
        }
    }

    /// How it ended, once it has: well, or else.
    pub(crate) fn closed(&mut self, name: Handle) -> Option<Result<(), Error>> {
        match self.mailbox.link(name)?.state {
            State::Ended(Ended::Finished) => Some(Ok(())),
            State::Ended(why) => Some(Err(why.into())),
            _ => None,
        }
    }

    /// The answer to a command, or why there will be none.
    pub(crate) fn commanded(&mut self, name: Handle, number: u64) -> Option<Result<u32, Error>> {
        let link = self.mailbox.link(name)?;
        match (link.commands.as_mut()?.take(number), link.state) {
            (Some(outcome), _) => Some(outcome.map_err(Error::from)),
            (None, State::Ended(why)) => Some(Err(why.into())),
            (None, _) => None,
        }
    }

    /// How many packets and words the stack has dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.driver.context().dropped_count()
    }
}
