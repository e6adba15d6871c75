//! Octets: reading, writing, finishing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use stackwright_contract::services::MessageProperties;
use stackwright_wire::Message;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Error;
use crate::hold::{self, Hold, by_hold};
use crate::offered::Size;
use crate::send_buffer::SendBuffer;
use crate::shared::Ground;
use crate::task::sending::Sending;
use crate::task::watch::{Place, Teller, Wait};

/// How many octets one write takes at most: what is written at once is copied at once.
const WRITE_MOST: usize = 64 << 10;

/// One association of an endpoint, for octets in order.
///
/// It reads and writes as any stream of tokio does. `shutdown` says that no more is written, and what was written arrives;
/// [`close`](Stream::close) waits for that. Dropped without a shutdown it is aborted: the peer sees a reset, never an end. Dropped
/// after one it still arrives, as long as something of the endpoint is awaited; but if the peer still sends, he sees a reset.
///
/// ```
/// use stackwright_endpoint::{Config, Endpoint, System};
/// use stackwright_wire::BufferTree;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let here = "127.0.0.1:0".parse()?;
/// let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
/// let here = endpoint.local().unwrap();
/// let (mut one, mut other) = tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
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
pub struct Stream<S: Ground> {
    hold: Hold<S>,
    watch: Teller<S>,
    /// What was delivered and is read in part.
    rest: Option<S::Message>,
    reads: Place,
    writes: Place,
}

impl<S: Ground> Stream<S> {
    pub(super) fn new(hold: Hold<S>, watch: Teller<S>) -> Self {
        Stream { hold, watch, rest: None, reads: Place::default(), writes: Place::default() }
    }

    /// Writes what is in a [reserved](Self::reserve) buffer, all at once, without a copy, once
    /// there is room for all of it. The future has the buffer until the stack takes it, and gives
    /// it back.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # use tokio::io::AsyncReadExt;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, mut other) = tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
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
    /// [`Error::TooLong`] where there is never room for as much, or [`Error::Ended`] with the
    /// reason; with the buffer.
    pub fn commit(&self, buffer: SendBuffer<S::Message>) -> Sending<'_, S, SendBuffer<S::Message>> {
        Sending::new(&self.hold, &self.watch, buffer, MessageProperties::default())
    }

    /// Writes no more, and waits until it is over: until the peer has all that was written, and has
    /// finished, too. What he still sends is read and forgotten. Dropped before, it is as if the
    /// stream was dropped after a shutdown.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::BufferTree;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let here = "127.0.0.1:0".parse()?;
    /// # let endpoint = Endpoint::bind(here, Config::default(), System::tcp::<BufferTree>).await?;
    /// # let here = endpoint.local().unwrap();
    /// # let (one, other) = tokio::try_join!(endpoint.connect_stream(here), endpoint.accept_stream())?;
    /// tokio::try_join!(one.close(), other.close())?;
    /// assert_eq!(endpoint.totals().associations, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ended`] where it ended in another way.
    pub async fn close(self) -> Result<(), Error> {
        self.hold.finish();
        let name = self.hold.name;
        Wait::new(&self.watch, name, |shared| {
            while let Some(Ok(_unread)) = shared.take(name) {}
            shared.closed(name)
        })
        .await?
    }

    by_hold!();
}

/// Nothing in it is pinned.
impl<S: Ground> Unpin for Stream<S> {}

impl<S: Ground> AsyncRead for Stream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Stream { hold, watch, rest, reads, .. } = self.get_mut();
        if into.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut message = match rest.take() {
            Some(message) => message,
            None => match ready!(watch.poll(reads, hold.name, cx, |shared| shared.take(hold.name))).flatten()
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

impl<S: Ground> AsyncWrite for Stream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let Stream { hold, watch, writes, .. } = self.get_mut();
        let most = octets.len().min(WRITE_MOST);
        if most == 0 {
            return Poll::Ready(Ok(0));
        }
        let taken = ready!(watch.poll(writes, hold.name, cx, |shared| {
            let credit = shared.desk.link(hold.name)?.credit.octets;
            let octets = most.min(credit.max(1));
            Some(shared.takes(hold.name, Size::one(octets), None)?.map(|()| octets))
        }));
        let taken = taken.flatten()?;
        {
            let shared = &mut *watch.shared.borrow_mut();
            let waits = shared.hand_over(
                hold.name,
                hold::message::<S::Message>(&octets[..taken]),
                MessageProperties::default(),
                None,
            );
            // It was taken: what goes wrong from here on is heard by the next call.
            let _ = shared.let_leave(waits, || None);
        }
        watch.tell();
        Poll::Ready(Ok(taken))
    }

    /// All that was written is the stack's.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.hold.finish();
        let turned = self.watch.shared.borrow_mut().turn(Some(Duration::ZERO));
        self.watch.tell();
        Poll::Ready(turned.map_err(io::Error::from))
    }
}

impl<S: Ground> Drop for Stream<S> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.reads, self.hold.name);
        self.watch.leave(&mut self.writes, self.hold.name);
    }
}
