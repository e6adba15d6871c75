//! A message that waits for room.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use stackwright_contract::services::MessageProperties;
use tokio::time::{self, Sleep};

use crate::error::{Error, NotSent};
use crate::hold::{self, Hold};
use crate::offered::Outbound;
use crate::shared::StackAny;
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
pub struct SendFuture<'a, S: StackAny, P = <S as StackAny>::Message> {
    hold: &'a Hold<S>,
    watch: &'a Watch<S>,
    message: Option<P>,
    properties: MessageProperties,
    due: Option<Instant>,
    /// Until then, once it had to wait.
    sleep: Option<Pin<Box<Sleep>>>,
    place: WaitSlot,
}

impl<'a, S: StackAny, P> SendFuture<'a, S, P> {
    pub(super) fn new(
        hold: &'a Hold<S>,
        watch: &'a Watch<S>,
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
impl<S: StackAny, P> Unpin for SendFuture<'_, S, P> {}

impl<S: StackAny, P: Outbound<S::Message>> Future for SendFuture<'_, S, P> {
    type Output = Result<(), NotSent<P>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let SendFuture { hold, watch, message: kept, properties, due, sleep, place } =
            self.get_mut();
        let (name, due) = (hold.name, *due);
        // It was over before.
        let Some(size) = kept.as_ref().map(Outbound::size) else { return Poll::Pending };
        let credit = match watch.poll(place, name, cx, |shared| shared.takes(name, size, due)) {
            Poll::Ready(credit) => credit.flatten(),
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
        let Some(message) = kept.take() else { return Poll::Pending };
        if let Err(why) = credit {
            return Poll::Ready(Err(NotSent { message, why }));
        }
        {
            let shared = &mut *watch.shared.borrow_mut();
            let waits = shared.hand_over(name, message, *properties, due);
            // It was taken: what goes wrong from here on is heard by the next call.
            let _ = shared.let_leave(waits, || watch.readers.only());
        }
        watch.tell();
        Poll::Ready(Ok(()))
    }
}

impl<S: StackAny, P> Drop for SendFuture<'_, S, P> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.place, self.hold.name);
    }
}
