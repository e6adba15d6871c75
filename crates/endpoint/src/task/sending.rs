//! A message that waits for room.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use stackwright_contract::services::MessageProperties;
use tokio::time::{self, Sleep};

use crate::error::{Error, NotSent};
use crate::flavor::Flavor;
use crate::hold::{self, Hold};
use crate::offered::Outbound;
use crate::shared::{Shared, StackAny};
use crate::task::watch::{WaitSlot, Watch};

/// A message on its way into the stack: what
/// [`Association::send_message`](crate::Association::send_message) returns; or a buffer of several,
/// of [`Association::commit`](crate::Association::commit).
///
/// It owns the message until the stack takes it, all at once. A caller that does not want to wait
/// any longer [takes it back](SendFuture::into_message); nothing of it was sent then.
///
/// ```
/// use stackwright_contract::services::MessageProperties;
/// use stackwright_endpoint::{Config, Endpoint, System};
/// use stackwright_wire::{BufferTree, Message};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
/// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
/// let message = BufferTree::with_headroom(128, b"perhaps");
/// let sending = association.send_message(message, MessageProperties::default());
/// let message = sending.into_message().expect("it was not sent yet");
/// assert_eq!(message.len(), 7);
/// # Ok(())
/// # }
/// ```
#[must_use = "a future does nothing until it is awaited"]
pub struct SendFuture<'a, S: StackAny, F: Flavor, P = <S as StackAny>::Message> {
    hold: &'a Hold<S, F>,
    watch: &'a Watch<S, F>,
    message: Option<P>,
    properties: MessageProperties,
    due: Option<Instant>,
    /// Until then, once it had to wait.
    sleep: Option<Pin<Box<Sleep>>>,
    place: WaitSlot,
}

impl<'a, S: StackAny, F: Flavor, P> SendFuture<'a, S, F, P> {
    pub(super) fn new(
        hold: &'a Hold<S, F>,
        watch: &'a Watch<S, F>,
        message: P,
        properties: MessageProperties,
    ) -> Self {
        let due = hold::due(&properties);
        SendFuture {
            hold,
            watch,
            message: Some(message),
            properties,
            due,
            sleep: None,
            place: WaitSlot::default(),
        }
    }

    /// Returns the message, unless the stack has taken it.
    ///
    /// ```
    /// # use stackwright_contract::services::MessageProperties;
    /// # use stackwright_endpoint::{Config, Endpoint, System};
    /// # use stackwright_wire::{BufferTree, Message};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
    /// # let association = endpoint.connect("127.0.0.1:9".parse::<std::net::SocketAddr>()?).await?;
    /// let message = BufferTree::with_headroom(128, b"away");
    /// let mut sending = association.send_message(message, MessageProperties::default());
    /// (&mut sending).await?;
    /// assert!(sending.into_message().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_message(mut self) -> Option<P> {
        self.message.take()
    }
}

/// Nothing in it is pinned.
impl<S: StackAny, F: Flavor, P> Unpin for SendFuture<'_, S, F, P> {}

impl<S: StackAny, F: Flavor, P: Outbound<S::Message>> Future for SendFuture<'_, S, F, P> {
    type Output = Result<(), NotSent<P>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let SendFuture { hold, watch, message: kept, properties, due, sleep, place } =
            self.get_mut();
        let (name, due) = (hold.name, *due);
        // It was over before.
        let Some(size) = kept.as_ref().map(Outbound::size) else { return Poll::Pending };
        let takes = |shared: &mut Shared<S>| shared.takes(name, size, due);
        let sends = |shared: &mut Shared<S>, credit: Result<(), Error>| {
            credit?;
            if let Some(message) = kept.take() {
                shared.send(name, message, *properties, due, || watch.readers.only());
            }
            Ok(())
        };
        let sent = match watch.poll_then(place, name, cx, takes, sends) {
            Poll::Ready(sent) => sent.flatten(),
            Poll::Pending => {
                let Some(due) = due else { return Poll::Pending };
                ready!(
                    sleep
                        .get_or_insert_with(|| Box::pin(time::sleep_until(due.into())))
                        .as_mut()
                        .poll(cx)
                );
                watch.leave(place, name);
                hold.refuse_late();
                Err(Error::Late)
            }
        };
        Poll::Ready(match (sent, kept.take()) {
            (Err(why), Some(message)) => Err(NotSent { message, why }),
            _ => Ok(()),
        })
    }
}

impl<S: StackAny, F: Flavor, P> Drop for SendFuture<'_, S, F, P> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.place, self.hold.name);
    }
}
