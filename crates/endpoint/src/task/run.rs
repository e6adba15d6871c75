//! Running a stack while its application does something else.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use crate::error::Error;
use crate::flavor::Flavor;
use crate::shared::StackAny;
use crate::task::alarm::Alarm;
use crate::task::watch::{WaitSlot, Watch};

/// Runs the stack of an endpoint until the endpoint and all its associations are dropped: what
/// [`Endpoint::run`](crate::Endpoint::run) gives.
///
/// ```
/// # use stackwright_endpoint::{Config, Endpoint, Run, System};
/// # use stackwright_drivers::udp::Udp;
/// # use stackwright_wire::BufferTree;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let endpoint = Endpoint::new(Config::default(), System::udp::<BufferTree>)?;
/// let run: Run<Udp<BufferTree>> = endpoint.run();
/// drop(endpoint);
/// run.await?; // there is nothing left to be run
/// # Ok(())
/// # }
/// ```
#[must_use = "a future does nothing until it is awaited"]
pub struct Run<S: StackAny, F: Flavor> {
    watch: Weak<Watch<S, F>>,
    alarm: Arc<Alarm>,
    place: WaitSlot,
}

impl<S: StackAny, F: Flavor> Run<S, F> {
    pub(super) fn new(watch: &Arc<Watch<S, F>>) -> Self {
        Run {
            watch: Arc::downgrade(watch),
            alarm: Arc::clone(&watch.alarm),
            place: WaitSlot::default(),
        }
    }
}

impl<S: StackAny, F: Flavor> Future for Run<S, F> {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Run { watch, alarm, place } = self.get_mut();
        let Some(watch) = watch.upgrade() else { return Poll::Ready(Ok(())) };
        let slot = *place.slot.get_or_insert_with(|| alarm.enter(cx.waker()));
        alarm.appoint(slot);
        let ran = watch.run(slot);
        alarm.stay(slot, cx.waker());
        match ran {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<S: StackAny, F: Flavor> Drop for Run<S, F> {
    fn drop(&mut self) {
        if let Some(slot) = self.place.slot {
            drop(self.alarm.leave(slot));
            // It may have been woken already, and no other was.
            self.alarm.ring();
        }
    }
}
