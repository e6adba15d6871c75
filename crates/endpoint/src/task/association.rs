//! Messages: sending, receiving, closing.

use std::io::IoSliceMut;

use stackwright_contract::Command;
use stackwright_contract::services::{Batch, Code, MessageProperties};
use stackwright_wire::Message;

use crate::error::{Error, NotSent};
use crate::flavor::Flavor;
use crate::hold::{self, Hold, by_hold, in_one_piece};
use crate::offered::Size;
use crate::placed::Placed;
use crate::send_buffer::SendBuffer;
use crate::shared::StackAny;
use crate::task::sending::SendFuture;
use crate::task::watch::{Wait, WakeOnDrop};

/// One association of an endpoint, for messages.
///
/// Every future may be dropped at any time: a message that was not handed over was not sent, and
/// one that was not received is received by the next call. Several futures may be awaited at once.
///
/// Dropping it closes it without waiting: what was sent is delivered as long as something of the
/// endpoint is awaited.
///
/// ```
/// # use stackwright_endpoint::{Config, Endpoint, System};
/// # use stackwright_wire::BufferTree;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
/// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
/// let one = endpoint.connect(endpoint.local().unwrap()).await?;
/// one.send(b"a question").await?;
/// let other = endpoint.accept().await?;
/// let (question, _) = other.receive().await?;
/// other.send(&[&question[..], b", answered"].concat()).await?;
/// assert_eq!(one.receive().await?.0, b"a question, answered");
/// assert_eq!(one.statistics().received.octets, 20);
/// assert_eq!((one.remote(), other.remote()), (endpoint.local(), one.local()));
/// # Ok(())
/// # }
/// ```
pub struct Association<S: StackAny, F: Flavor> {
    hold: Hold<S, F>,
    watch: WakeOnDrop<S, F>,
}

impl<S: StackAny, F: Flavor> Association<S, F> {
    pub(super) fn new(hold: Hold<S, F>, watch: WakeOnDrop<S, F>) -> Self {
        Association { hold, watch }
    }

    /// Sends a message, once there is credit for it. When this returns, the message has left as far
    /// as the network allows; whether it arrives is what the stack promises. Dropped before,
    /// nothing was sent.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, Error, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// association.send(b"hello").await?;
    /// assert!(matches!(association.send(&[0; 70_000]).await, Err(Error::TooLong { longest: 65_507 })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLong`], or [`Error::Ended`] with the reason.
    pub async fn send(&self, octets: &[u8]) -> Result<(), Error> {
        self.send_with(octets, MessageProperties::default()).await
    }

    /// Sends a message with properties. One with a lifetime (in microseconds, from this call) is
    /// refused, and not sent, once it is known that it would arrive too late: by the measured rate
    /// at which what was sent before leaves, or because there was no credit within its lifetime.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use stackwright_contract::services::MessageProperties;
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// let lifetime = NonZeroU32::new(1_000_000); // a second
    /// let of_use = MessageProperties { lifetime, ..MessageProperties::default() };
    /// association.send_with(b"12.5 degrees", of_use).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Late`], and as [`send`](Association::send).
    pub async fn send_with(
        &self,
        octets: &[u8],
        properties: MessageProperties,
    ) -> Result<(), Error> {
        Ok(self.send_message(self.hold.message(octets), properties).await?)
    }

    /// Sends a message without copying it here; with 128 octets of headroom, no layer below has to
    /// copy it either. The future owns the message until the stack takes it, and returns it on
    /// failure.
    ///
    /// ```
    /// use stackwright_contract::services::MessageProperties;
    /// use stackwright_wire::{BufferTree, Message};
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// let message = BufferTree::from_block(vec![7; 100_000].into(), 0, 100_000);
    /// let sending = association.send_message(message, MessageProperties::default());
    /// let refused = sending.await.unwrap_err();
    /// assert_eq!(refused.message.len(), 100_000, "it is returned: UDP takes 65507 octets");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`send_with`](Association::send_with), with the message.
    pub fn send_message(
        &self,
        message: S::Message,
        properties: MessageProperties,
    ) -> SendFuture<'_, S, F> {
        SendFuture::new(&self.hold, &self.watch, message, properties)
    }

    /// Sends what was written into a [reserved](Self::reserve) buffer, once there is credit for all
    /// of it. Each message arrives as if it had been sent by itself, with these properties; numbers
    /// count up from the first message's. The future owns the buffer until the stack takes it, and
    /// returns it on failure.
    ///
    /// ```
    /// # use stackwright_wire::BufferTree;
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// use std::io::Write;
    /// use stackwright_contract::services::MessageProperties;
    /// let mut buffer = one.reserve(3, 2);
    /// buffer.write_all(b"onetwo")?;
    /// one.commit(buffer, MessageProperties::default()).await?;
    /// # let other = endpoint.accept().await?;
    /// assert_eq!(other.receive().await?.0, b"one");
    /// assert_eq!(other.receive().await?.0, b"two");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`send_with`](Association::send_with), with the buffer.
    pub fn commit(
        &self,
        buffer: SendBuffer<S::Message>,
        properties: MessageProperties,
    ) -> SendFuture<'_, S, F, SendBuffer<S::Message>> {
        SendFuture::new(&self.hold, &self.watch, buffer, properties)
    }

    /// Sends a message if there is credit for it now.
    ///
    /// ```
    /// use stackwright_contract::services::MessageProperties;
    /// use stackwright_wire::{BufferTree, Message};
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// let message = BufferTree::with_headroom(128, b"now or never");
    /// association.try_send_message(message, MessageProperties::default())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] where there is none, and as [`send_message`](Association::send_message).
    pub fn try_send_message(
        &self,
        message: S::Message,
        properties: MessageProperties,
    ) -> Result<(), NotSent<S::Message>> {
        let (name, due) = (self.hold.name, hold::due(&properties));
        self.watch.with(|shared| {
            let credit = shared.takes(name, Size::one(message.len()), due);
            if let Err(why) = credit.unwrap_or(Err(Error::NotYet)) {
                return Err(NotSent { message, why });
            }
            shared.send(name, message, properties, due, || self.watch.readers.only());
            Ok(())
        })
    }

    /// Receives the next message and its properties. Messages that arrived before the end are
    /// received before the end is told.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.send(b"hello").await?;
    /// # let other = endpoint.accept().await?;
    /// let (octets, properties) = other.receive().await?;
    /// assert_eq!((&octets[..], properties.lifetime), (&b"hello"[..], None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] with the reason.
    pub async fn receive(&self) -> Result<(Vec<u8>, MessageProperties), Error> {
        self.receive_message().await.map(in_one_piece)
    }

    /// Receives the next message as the stack has it, without copying it here.
    ///
    /// ```
    /// use stackwright_wire::{BufferTree, Message};
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.send(b"hello").await?;
    /// # let other = endpoint.accept().await?;
    /// let (message, _) = other.receive_message().await?;
    /// assert_eq!(message.len(), 5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub async fn receive_message(&self) -> Result<(S::Message, MessageProperties), Error> {
        let name = self.hold.name;
        Wait::new(&self.watch, name, |shared| shared.take(name)).await?
    }

    /// Receives the next messages that came together, as the stack has them, and their properties:
    /// the number is that of the first. Work per message is done once for all of them.
    ///
    /// ```
    /// use stackwright_wire::BufferTree;
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.send(b"hello").await?;
    /// # let other = endpoint.accept().await?;
    /// let (messages, _) = other.receive_batch().await?;
    /// assert_eq!((messages.count(), messages.octets()), (1, 5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub async fn receive_batch(&self) -> Result<(Batch<S::Message>, MessageProperties), Error> {
        let name = self.hold.name;
        Wait::new(&self.watch, name, |shared| shared.take_batch(name)).await?
    }

    /// Receives octets of the next message into areas of the application's, such as a header and a
    /// place in a picture, one after the other: they are copied once, from the packet to their
    /// place. Where the areas hold less than the message, the next call goes on with it.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.send(b"hello").await?;
    /// # let other = endpoint.accept().await?;
    /// use std::io::IoSliceMut;
    /// let (mut kind, mut rest) = ([0; 1], [0; 3]);
    /// let mut areas = [IoSliceMut::new(&mut kind), IoSliceMut::new(&mut rest)];
    /// let placed = other.receive_into(&mut areas).await?;
    /// assert_eq!((placed.octets, placed.whole), (4, false));
    /// assert_eq!((&kind, &rest), (b"h", b"ell"));
    /// assert!(other.receive_into(&mut [IoSliceMut::new(&mut rest)]).await?.whole);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub async fn receive_into(&self, areas: &mut [IoSliceMut<'_>]) -> Result<Placed, Error> {
        let name = self.hold.name;
        Wait::new(&self.watch, name, |shared| shared.take_into(name, areas)).await?
    }

    /// Receives a message that has arrived already.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// assert!(association.try_receive().is_err_and(|error| error.is_not_yet()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotYet`] where there is none, or [`Error::Ended`] with the reason.
    pub fn try_receive(&self) -> Result<(Vec<u8>, MessageProperties), Error> {
        let taken = self.watch.with(|shared| {
            let taken = shared.take(self.hold.name);
            shared.ask();
            taken
        });
        taken.unwrap_or(Err(Error::NotYet)).map(in_one_piece)
    }

    /// Closes it, and waits until it has ended: until what was sent has arrived, where the stack
    /// promises that. What was not received is discarded. Dropped before, the future leaves the
    /// rest to the stack.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// association.close().await?;
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where it ended in another way.
    pub async fn close(self) -> Result<(), Error> {
        self.hold.close();
        let name = self.hold.name;
        Wait::new(&self.watch, name, |shared| shared.closed(name)).await?
    }

    /// Ends it at once, and tells the peer a code that both applications know, where a layer below
    /// can say one: the peer's calls fail with
    /// [`Ended::Reset`](stackwright_contract::services::Ended). What was not sent yet is lost.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// one.abort(7);
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn abort(self, code: Code) {
        self.hold.abort(code);
    }

    /// Gives the layers below a command, and waits for the answer. Commands are answered in the
    /// order in which they were given. Dropped before its first poll, the future has given none;
    /// dropped later, the command is done, and its answer thrown away.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::udp::<BufferTree>).await?;
    /// # let one = endpoint.connect(endpoint.local().unwrap()).await?;
    /// use stackwright_contract::{Command, CommandError};
    /// use stackwright_endpoint::Error;
    /// let refused = one.control(Command::Renegotiate).await;
    /// assert!(matches!(refused, Err(Error::Command(CommandError::Unknown))), "no layer knows it");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Command`] where it was not done, or [`Error::Ended`] where it ended before the
    /// answer.
    pub async fn control(&self, command: Command) -> Result<u32, Error> {
        let name = self.hold.name;
        let commanded = self.hold.control(command)?;
        Wait::new(&self.watch, name, |shared| shared.commanded(name, commanded.number)).await?
    }

    /// Returns whether it has ended, and everything that arrived was received.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// assert!(!association.has_ended());
    /// # Ok(())
    /// # }
    /// ```
    pub fn has_ended(&self) -> bool {
        self.hold.has_ended()
    }

    by_hold!();
}
