//! Sending, receiving, closing.

use std::time::Duration;

use stackwright_contract::Command;
use stackwright_contract::services::{Batch, Code, MessageProperties};

use crate::blocking::endpoint::wait;
use crate::error::{Error, Refused};
use crate::hold::{self, Hold, by_hold, in_one_piece};
use crate::offered::Outbound;
use crate::send_buffer::SendBuffer;
use crate::shared::StackAny;

/// One association of an endpoint.
///
/// ```
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// let endpoint = Endpoint::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?, Config::default(), System::udp::<BufferTree>)?;
/// let one = endpoint.connect(endpoint.local().unwrap())?; // with itself
/// one.send(b"hello")?;
/// let other = endpoint.accept()?;
/// assert_eq!(other.receive()?.0, b"hello");
/// assert_eq!(one.statistics().sent.octets, 5);
/// assert_eq!((one.remote(), other.remote()), (endpoint.local(), one.local()));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// When it is dropped it is closed, and nobody waits for that: what was sent goes on its way as long as the endpoint is used.
pub struct Association<S: StackAny> {
    hold: Hold<S>,
    timeout: Option<Duration>,
}

impl<S: StackAny> Association<S> {
    pub(crate) fn new(hold: Hold<S>, timeout: Option<Duration>) -> Self {
        Association { hold, timeout }
    }

    /// How long its calls wait; `None`: as long as they need to.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// use std::time::Duration;
    /// let mut one = endpoint.connect(endpoint.local().unwrap())?;
    /// one.set_timeout(Some(Duration::from_millis(1)));
    /// assert!(one.receive().is_err_and(|error| error.is_not_yet()), "nobody says anything");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Sends a message. It has left, as far as the network lets it, when this returns (behind 64 KiB that have not arrived yet it
    /// may leave with those that follow, or with the next call that waits); whether it arrives, the stack promises
    /// or does not.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use stackwright_endpoint::Error;
    /// one.send(b"hello")?;
    /// assert!(matches!(one.send(&[0; 70_000]), Err(Error::TooLong)));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] where no room came in time, [`Error::TooLong`], or [`Error::Ended`] with the reason.
    pub fn send(&self, octets: &[u8]) -> Result<(), Error> {
        self.send_with(octets, MessageProperties::default())
    }

    /// Sends a message of which something is wished. One with a lifetime (in microseconds, from this call) is refused as soon
    /// as it is known that it would arrive too late: because what was sent before needs as long to leave, as far as was
    /// measured, or there was no room while it was of use. It is not sent then.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// # use stackwright_wire::BufferTree;
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// use std::num::NonZeroU32;
    /// use stackwright_contract::services::MessageProperties;
    /// let second = MessageProperties { lifetime: NonZeroU32::new(1_000_000), ..MessageProperties::default() };
    /// one.send_with(b"12.5 degrees", second)?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Late`], and as [`send`](Association::send).
    pub fn send_with(&self, octets: &[u8], properties: MessageProperties) -> Result<(), Error> {
        Ok(self.send_message(self.hold.message(octets), properties)?)
    }

    /// Sends a message where there is room for it now.
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

    /// Sends a message that is one already: its octets are not copied here. With 128 octets of headroom they need not be
    /// below, either.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_contract::services::MessageProperties;
    /// use stackwright_wire::{BufferTree, Message};
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse::<std::net::SocketAddr>()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let message = BufferTree::from_block(vec![7; 100_000].into(), 0, 100_000);
    /// let refused = one.send_message(message, MessageProperties::default()).unwrap_err();
    /// assert_eq!(refused.message.len(), 100_000, "it is given back: UDP takes no more than 65507 octets");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`send`](Association::send), with the message.
    pub fn send_message(
        &self,
        message: S::Message,
        properties: MessageProperties,
    ) -> Result<(), Refused<S::Message>> {
        self.send_within(message, properties, self.timeout)
    }

    /// Sends what was written into a [reserved](Self::reserve) buffer, once there is room for all
    /// of it. Each message arrives as if it had been sent by itself, with these properties; numbers
    /// count on from the first message's.
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
    ) -> Result<(), Refused<SendBuffer<S::Message>>> {
        self.send_within(buffer, properties, self.timeout)
    }

    fn send_within<P: Outbound<S::Message>>(
        &self,
        message: P,
        properties: MessageProperties,
        timeout: Option<Duration>,
    ) -> Result<(), Refused<P>> {
        let Hold { shared, name } = &self.hold;
        let (name, size, due) = (*name, message.size(), hold::due(&properties));
        let lifetime = properties.lifetime.map(|lifetime| Duration::from_micros(lifetime.get().into()));
        let until = lifetime.map_or(timeout, |lifetime| Some(timeout.unwrap_or(lifetime).min(lifetime)));
        if let Err(why) = wait(shared, until, |shared| shared.takes(name, size, due)).flatten() {
            return Err(Refused { message, why });
        }
        let shared = &mut *shared.borrow_mut();
        let waits = shared.hand_over(name, message, properties, due);
        // It was taken: what goes wrong from here on is heard by the next call.
        if shared.leaves_now(waits) {
            let _ = shared.let_leave(waits, || None);
        }
        Ok(())
    }

    /// The next message, and what came with it. What had arrived before the end is received before it.
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

    /// A message that has arrived.
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

    /// The next message as the stack has it: its octets are not copied here.
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

    /// Receives the next messages that came together, as the stack has them, and what came with each:
    /// the number is that of the first. What is done for each message is done once for all of them.
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
    pub fn receive_batch(&self) -> Result<(Batch<S::Message>, MessageProperties), Error> {
        wait(&self.hold.shared, self.timeout, |shared| shared.take_batch(self.hold.name))?
    }

    fn receive_within(&self, timeout: Option<Duration>) -> Result<(S::Message, MessageProperties), Error> {
        wait(&self.hold.shared, timeout, |shared| shared.take(self.hold.name))?
    }

    /// Closes it, and waits until the stack says that it is over: until what was sent has arrived, where the stack promises
    /// that. What has arrived here and was not received is lost.
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
    /// [`Error::Ended`] where it ended in another way; [`Error::NotYet`] where that takes longer than its timeout.
    pub fn close(self) -> Result<(), Error> {
        self.hold.close();
        wait(&self.hold.shared, self.timeout, |shared| shared.closed(self.hold.name))?
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

    /// Gives the layers below a command, and waits for the answer. Commands are answered in the order
    /// in which they were given.
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
    /// assert!(matches!(refused, Err(Error::Command(CommandError::Unknown))), "UDP knows no commands");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Command`] where it was not done, [`Error::Ended`] where the association ended before the
    /// answer, [`Error::NotYet`] where that did not come in time: it is thrown away then.
    pub fn control(&self, command: Command) -> Result<u32, Error> {
        let commanded = self.hold.control(command)?;
        wait(&self.hold.shared, self.timeout, |shared| shared.commanded(self.hold.name, commanded.number))?
    }

    /// Whether it is over, and all that arrived was received.
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
