//! Octets: reading, writing, finishing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use stackwright_contract::Command;
use stackwright_contract::services::{Code, MessageProperties};
use stackwright_wire::Message;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Error;
use crate::flavor::Flavor;
use crate::hold::{self, Hold, by_hold};
use crate::send_buffer::SendBuffer;
use crate::shared::{Shared, StackAny};
use crate::task::sending::SendFuture;
use crate::task::watch::{Wait, WaitSlot, WakeOnDrop};

/// One association of an endpoint, for octets in order.
///
/// It implements `AsyncRead` and `AsyncWrite`. `shutdown` finishes the own half: what was written
/// arrives; [`close`](Stream::close) waits for that. Dropped without a shutdown it is aborted: the
/// peer sees a reset, never an end. Dropped after one, what was written still arrives, as long as
/// something of the endpoint is awaited; but a peer that still sends sees a reset.
///
/// ```
/// use stackwright_endpoint::{Config, Endpoint, System};
/// use stackwright_wire::BufferTree;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
/// let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
/// let here = endpoint.local().unwrap();
/// let (mut one, mut other) =
///     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
/// one.write_all(b"a line\n").await?;
/// one.shutdown().await?;
/// let mut all = String::new();
/// other.read_to_string(&mut all).await?;
/// assert_eq!(all, "a line\n");
/// assert_eq!(one.statistics().sent.octets, 7);
/// assert_eq!((one.remote(), other.remote()), (Some(here), one.local()));
/// tokio::try_join!(one.close(), other.close())?;
/// # Ok(())
/// # }
/// ```
pub struct Stream<S: StackAny, F: Flavor> {
    hold: Hold<S, F>,
    watch: WakeOnDrop<S, F>,
    /// What was delivered and is read in part.
    rest: Option<S::Message>,
    reads: WaitSlot,
    writes: WaitSlot,
}

impl<S: StackAny, F: Flavor> Stream<S, F> {
    pub(super) fn new(hold: Hold<S, F>, watch: WakeOnDrop<S, F>) -> Self {
        Stream { hold, watch, rest: None, reads: WaitSlot::default(), writes: WaitSlot::default() }
    }

    /// Writes the contents of a [reserved](Self::reserve) buffer at once, without a copy, once
    /// there is credit for all of it. The future owns the buffer until the stack takes it, and
    /// returns it on failure.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # use tokio::io::AsyncReadExt;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, mut other) =
    /// #     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// use std::io::Write;
    /// let mut buffer = one.reserve(100, 1);
    /// writeln!(buffer, "{} degrees", 12.5)?;
    /// one.commit(buffer).await?;
    /// # let mut line = [0; 13];
    /// # other.read_exact(&mut line).await?;
    /// assert_eq!(&line, b"12.5 degrees\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLong`] if there is never credit for as much, or [`Error::Ended`] with the
    /// reason; with the buffer.
    pub fn commit(
        &self,
        buffer: SendBuffer<S::Message>,
    ) -> SendFuture<'_, S, F, SendBuffer<S::Message>> {
        SendFuture::new(&self.hold, &self.watch, buffer, MessageProperties::default())
    }

    /// Writes no more, and goes on reading: what was written arrives, and then the peer reads the
    /// end. It is what `shutdown` does.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, mut other) =
    /// #     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// let mut one = one;
    /// one.write_all(b"a question").await?;
    /// one.finish()?;
    /// let mut question = String::new();
    /// other.read_to_string(&mut question).await?;
    /// other.write_all(b"an answer").await?;
    /// let mut answer = [0; 9];
    /// one.read_exact(&mut answer).await?;
    /// assert_eq!(&answer, b"an answer");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::System`] where the operating system cannot be asked.
    pub fn finish(&self) -> Result<(), Error> {
        self.watch.with(|shared| {
            shared.mailbox.finish(self.hold.name);
            shared.turn(Some(Duration::ZERO))
        })
    }

    /// Ends both directions in good order, and waits for that: what was written arrives, and what
    /// the peer still sends is discarded until it finishes too. One that does not is given up by
    /// the stack: by TCP after a minute. Dropped before, the future leaves that to the stack.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here: std::net::SocketAddr = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, other) =
    /// #     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// tokio::try_join!(one.close(), other.close())?;
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
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, mut other) =
    /// #     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// use tokio::io::AsyncReadExt;
    /// one.abort(7);
    /// assert!(other.read_u8().await.is_err(), "TCP says the reset, and no code");
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
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, _other) =
    /// #     tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
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

    by_hold!();
}

/// Nothing in it is pinned.
impl<S: StackAny, F: Flavor> Unpin for Stream<S, F> {}

impl<S: StackAny, F: Flavor> AsyncRead for Stream<S, F> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Stream { hold, watch, rest, reads, .. } = self.get_mut();
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut message = match rest.take() {
            Some(message) => message,
            None => match ready!(watch.poll(reads, hold.name, cx, |shared| shared.take(hold.name)))
                .flatten()
            {
                Ok((message, _)) => message,
                Err(error) if error.is_finished() => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error.into())),
            },
        };
        let octets = message.len().min(into.remaining());
        let now = message.split_to(octets);
        now.each(|octets| into.put_slice(octets));
        *rest = Some(message).filter(|message| !message.is_empty());
        Poll::Ready(Ok(()))
    }
}

impl<S: StackAny, F: Flavor> AsyncWrite for Stream<S, F> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Stream { hold, watch, writes, .. } = self.get_mut();
        if octets.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let takes = |shared: &mut Shared<S>| shared.takes_some(hold.name, octets.len());
        let sends = |shared: &mut Shared<S>, taken: Result<usize, Error>| {
            let taken = taken?;
            let message = hold::message::<S::Message>(&octets[..taken]);
            shared.send(hold.name, message, MessageProperties::default(), None, || None);
            Ok(taken)
        };
        let taken = ready!(watch.poll_then(writes, hold.name, cx, takes, sends)).flatten()?;
        Poll::Ready(Ok(taken))
    }

    /// All that was written is the stack's.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.finish().map_err(io::Error::from))
    }
}

impl<S: StackAny, F: Flavor> Drop for Stream<S, F> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.reads, self.hold.name);
        self.watch.leave(&mut self.writes, self.hold.name);
    }
}
