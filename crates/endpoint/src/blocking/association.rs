//! Messages: sending, receiving, closing.

use std::io::IoSliceMut;
use std::time::Duration;

use stackwright_contract::services::{Batch, Code, MessageProperties};
use stackwright_contract::{Command, Handle};

use crate::blocking::endpoint::wait;
use crate::error::{Error, NotSent};
use crate::hold::{self, Hold, by_hold, in_one_piece};
use crate::offered::Outbound;
use crate::placed::Placed;
use crate::send_buffer::SendBuffer;
use crate::shared::{Shared, StackAny};

/// One association of an endpoint.
///
/// ```
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
/// let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
/// let one = endpoint.connect(endpoint.local().unwrap())?; // with itself
/// one.send(b"hello")?;
/// let other = endpoint.accept()?;
/// assert_eq!(other.receive()?.0, b"hello");
/// assert_eq!(one.statistics().sent.octets, 5);
/// assert_eq!((one.remote(), other.remote()), (endpoint.local(), one.local()));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// Dropping it closes it without waiting: what was sent is delivered as long as the endpoint is
/// used.
pub struct Association<S: StackAny> {
    hold: Hold<S>,
    timeout: Option<Duration>,
}

impl<S: StackAny> Association<S> {
    pub(crate) fn new(hold: Hold<S>, timeout: Option<Duration>) -> Self {
        Association { hold, timeout }
    }

    /// Returns its name, which no other association of its endpoint has at the same time: the one
    /// that [`Endpoint::take_changed`](super::Endpoint::take_changed) returns.
    pub fn name(&self) -> Handle {
        self.hold.name
    }

    /// Sets how long its calls wait; `None`: without limit.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// use std::time::Duration;
    /// let mut one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.set_timeout(Some(Duration::from_millis(1)));
    /// assert!(one.receive().is_err_and(|error| error.is_not_yet()), "nothing was sent");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Sends a message. When this returns, the message has left as far as the network allows;
    /// behind 64 KiB that are still on their way it may leave with those that follow, or with the
    /// next call that waits. Whether it arrives is what the stack promises.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use stackwright_endpoint::Error;
    /// one.send(b"hello")?;
    /// assert!(matches!(one.send(&[0; 70_000]), Err(Error::TooLong { longest: 65_507 })));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] if there was no credit in time, [`Error::TooLong`], or [`Error::Ended`]
    /// with the reason.
    pub fn send(&self, octets: &[u8]) -> Result<(), Error> {
        self.send_with(octets, MessageProperties::default())
    }

    /// Sends a message with properties. One with a lifetime (in microseconds, from this call) is
    /// refused, and not sent, once it is known that it would arrive too late: by the measured rate
    /// at which what was sent before leaves, or because there was no credit within its lifetime.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use std::num::NonZeroU32;
    /// use stackwright_contract::services::MessageProperties;
    /// let lifetime = NonZeroU32::new(1_000_000); // a second
    /// let of_use = MessageProperties { lifetime, ..MessageProperties::default() };
    /// one.send_with(b"12.5 degrees", of_use)?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Late`], and as [`send`](Association::send).
    pub fn send_with(&self, octets: &[u8], properties: MessageProperties) -> Result<(), Error> {
        Ok(self.send_message(self.hold.message(octets), properties)?)
    }

    /// Sends as many octets as there is credit for, at least one and at most 64 KiB, and returns
    /// their number: for stacks whose messages are pieces of a stream, wherever it is cut.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert_eq!(one.send_some(b"a piece")?, 7);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`send`](Association::send).
    pub fn send_some(&self, octets: &[u8]) -> Result<usize, Error> {
        if octets.is_empty() {
            return Ok(0);
        }
        let Hold { shared, name } = &self.hold;
        let takes = |shared: &mut Shared<S>| shared.takes_some(*name, octets.len());
        let taken = wait(shared, self.timeout, takes).flatten()?;
        self.try_send(&octets[..taken], MessageProperties::default())?;
        Ok(taken)
    }

    /// Sends a message if there is credit for it now.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use stackwright_contract::services::MessageProperties;
    /// one.try_send(b"now or never", MessageProperties::default())?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`send`](Association::send).
    pub fn try_send(&self, octets: &[u8], properties: MessageProperties) -> Result<(), Error> {
        let message = self.hold.message(octets);
        Ok(self.send_within(message, properties, Some(Duration::ZERO))?)
    }

    /// Sends a message without copying it here; with 128 octets of headroom, no layer below has to
    /// copy it either.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_contract::services::MessageProperties;
    /// use stackwright_wire::{BufferTree, Message};
    /// # let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let message = BufferTree::from_block(vec![7; 100_000].into(), 0, 100_000);
    /// let refused = one.send_message(message, MessageProperties::default()).unwrap_err();
    /// assert_eq!(refused.message.len(), 100_000, "it is returned: UDP takes 65507 octets");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`send`](Association::send), with the message.
    pub fn send_message(
        &self,
        message: S::Message,
        properties: MessageProperties,
    ) -> Result<(), NotSent<S::Message>> {
        self.send_within(message, properties, self.timeout)
    }

    /// Sends what was written into a [reserved](Self::reserve) buffer, once there is credit for all
    /// of it. Each message arrives as if it had been sent by itself, with these properties; numbers
    /// count up from the first message's.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use std::io::Write;
    /// use stackwright_contract::services::MessageProperties;
    /// let mut buffer = one.reserve(3, 2);
    /// buffer.write_all(b"onetwo")?;
    /// one.commit(buffer, MessageProperties::default())?;
    /// # let other = endpoint.accept()?;
    /// assert_eq!(other.receive()?.0, b"one");
    /// assert_eq!(other.receive()?.0, b"two");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`send_with`](Association::send_with), with the buffer.
    pub fn commit(
        &self,
        buffer: SendBuffer<S::Message>,
        properties: MessageProperties,
    ) -> Result<(), NotSent<SendBuffer<S::Message>>> {
        self.send_within(buffer, properties, self.timeout)
    }

    fn send_within<P: Outbound<S::Message>>(
        &self,
        message: P,
        properties: MessageProperties,
        timeout: Option<Duration>,
    ) -> Result<(), NotSent<P>> {
        let Hold { shared, name } = &self.hold;
        let (name, size, due) = (*name, message.size(), hold::due(&properties));
        let lifetime =
            properties.lifetime.map(|lifetime| Duration::from_micros(lifetime.get().into()));
        let until =
            lifetime.map_or(timeout, |lifetime| Some(timeout.unwrap_or(lifetime).min(lifetime)));
        if let Err(why) = wait(shared, until, |shared| shared.takes(name, size, due)).flatten() {
            return Err(NotSent { message, why });
        }
        let shared = &mut *shared.borrow_mut();
        let waits = shared.hand_over(name, message, properties, due);
        // It was taken: what goes wrong from here on is heard by the next call.
        if shared.leaves_now(waits) {
            let _ = shared.let_leave(waits, || None);
        }
        Ok(())
    }

    /// Receives the next message and its properties. Messages that arrived before the end are
    /// received before the end is told.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// let (octets, properties) = other.receive()?;
    /// assert_eq!((&octets[..], properties.lifetime), (&b"hello"[..], None));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] where nothing came in time, or [`Error::Ended`] with the reason.
    pub fn receive(&self) -> Result<(Vec<u8>, MessageProperties), Error> {
        self.receive_message().map(in_one_piece)
    }

    /// Receives a message that has arrived already.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert!(one.try_receive().is_err_and(|error| error.is_not_yet()));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub fn try_receive(&self) -> Result<(Vec<u8>, MessageProperties), Error> {
        self.receive_within(Some(Duration::ZERO)).map(in_one_piece)
    }

    /// Receives the next message as the stack has it, without copying it here.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// use stackwright_wire::Message;
    /// assert_eq!(other.receive_message()?.0.len(), 5);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub fn receive_message(&self) -> Result<(S::Message, MessageProperties), Error> {
        self.receive_within(self.timeout)
    }

    /// Receives the next messages that came together, as the stack has them, and their properties:
    /// the number is that of the first. Work per message is done once for all of them.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// let (messages, _) = other.receive_batch()?;
    /// assert_eq!((messages.count(), messages.octets()), (1, 5));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    #[inline]
    pub fn receive_batch(&self) -> Result<(Batch<S::Message>, MessageProperties), Error> {
        wait(&self.hold.shared, self.timeout, |shared| shared.take_batch(self.hold.name))?
    }

    /// Receives octets of the next message into areas of the application's, such as a header and a
    /// place in a picture, one after the other: they are copied once, from the packet to their
    /// place. Where the areas hold less than the message, the next call goes on with it.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.send(b"hello")?;
    /// # let other = endpoint.accept()?;
    /// use std::io::IoSliceMut;
    /// let (mut kind, mut rest) = ([0; 1], [0; 3]);
    /// let mut areas = [IoSliceMut::new(&mut kind), IoSliceMut::new(&mut rest)];
    /// let placed = other.receive_into(&mut areas)?;
    /// assert_eq!((placed.octets, placed.whole), (4, false));
    /// assert_eq!((&kind, &rest), (b"h", b"ell"));
    /// assert!(other.receive_into(&mut [IoSliceMut::new(&mut rest)])?.whole);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub fn receive_into(&self, areas: &mut [IoSliceMut<'_>]) -> Result<Placed, Error> {
        wait(&self.hold.shared, self.timeout, |shared| shared.take_into(self.hold.name, areas))?
    }

    fn receive_within(
        &self,
        timeout: Option<Duration>,
    ) -> Result<(S::Message, MessageProperties), Error> {
        wait(&self.hold.shared, timeout, |shared| shared.take(self.hold.name))?
    }

    /// Waits until it is open: after [`open`](super::Endpoint::open), which has only begun that.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// let one = endpoint.open(endpoint.local().unwrap());
    /// one.opened()?;
    /// assert!(one.condition().is_open);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`connect`](super::Endpoint::connect); it goes on after [`Error::NotYet`].
    pub fn opened(&self) -> Result<(), Error> {
        wait(&self.hold.shared, self.timeout, |shared| shared.opened(self.hold.name))?
    }

    /// Sends no more, and goes on receiving, where the stack has ends for both directions: what was
    /// sent arrives, and then the peer receives the end.
    ///
    /// # Errors
    /// [`Error::System`] where the operating system cannot be asked.
    pub fn finish(&self) -> Result<(), Error> {
        let shared = &mut *self.hold.shared.borrow_mut();
        shared.mailbox.finish(self.hold.name);
        shared.turn(Some(Duration::ZERO))
    }

    /// Closes it, and waits until it has ended: until what was sent has arrived, where the stack
    /// promises that. What was not received is discarded.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.close()?;
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] if it ended in another way; [`Error::NotYet`] if that takes longer than the
    /// timeout.
    pub fn close(self) -> Result<(), Error> {
        self.begin_close();
        self.closed()
    }

    /// Waits until it has ended in good order, after [`begin_close`](Self::begin_close): what
    /// [`close`](Self::close) does then.
    ///
    /// # Errors
    /// As [`close`](Self::close); closing goes on after [`Error::NotYet`].
    pub fn closed(&self) -> Result<(), Error> {
        wait(&self.hold.shared, self.timeout, |shared| shared.closed(self.hold.name))?
    }

    /// Begins to close it, without waiting: its [condition](Self::condition) tells when it has
    /// ended, and [`close`](Self::close) why. For applications that poll.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.begin_close();
    /// while one.condition().ended.is_none() {
    ///     endpoint.wait(None)?;
    /// }
    /// one.close()?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_close(&self) {
        self.hold.close();
    }

    /// Ends it at once, and tells the peer a code that both applications know, where a layer below
    /// can say one: the peer's calls fail with
    /// [`Ended::Reset`](stackwright_contract::services::Ended). What was not sent yet is lost.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.abort(7);
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(self, code: Code) {
        self.hold.abort(code);
    }

    /// Gives the layers below a command, and waits for the answer. Commands are answered in the
    /// order in which they were given.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use stackwright_contract::{Command, CommandError};
    /// use stackwright_endpoint::Error;
    /// let refused = one.control(Command::Renegotiate);
    /// assert!(matches!(refused, Err(Error::Command(CommandError::Unknown))), "UDP knows none");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Command`] where it was not done, [`Error::Ended`] where the association ended
    /// before the answer, [`Error::NotYet`] where that did not come in time: it is thrown away
    /// then.
    pub fn control(&self, command: Command) -> Result<u32, Error> {
        let commanded = self.hold.control(command)?;
        wait(&self.hold.shared, self.timeout, |shared| {
            shared.commanded(self.hold.name, commanded.number)
        })?
    }

    /// Returns whether it has ended, and everything that arrived was received.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// assert!(!one.has_ended());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_ended(&self) -> bool {
        self.hold.has_ended()
    }

    by_hold!();
}
