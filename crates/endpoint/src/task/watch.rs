//! Running the stack in whichever task awaits, and waking the others.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use mio::Registry;
use stackwright_contract::{Handle, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime;
use tokio::task::coop;
use tokio::time::{self, Sleep};

use crate::error::Error;
use crate::shared::{Ground, Shared};
use crate::task::alarm::Alarm;

/// How many batches of the stack are run before other tasks have their turn.
const BATCHES_MOST: usize = 8;
/// No timer is set for longer: it is set again then.
const SLEEP_MOST: Duration = Duration::from_secs(3600);

/// The stack of an endpoint, and what its tasks wait for.
pub(super) struct Watch<S: Ground> {
    pub(super) shared: Rc<RefCell<Shared<S>>>,
    /// It is readable when there is something for the stack. Like the timer it wakes the alarm, and so whoever waits.
    descriptor: AsyncFd<Rc<Registry>>,
    sleep: RefCell<Pin<Box<Sleep>>>,
    /// For when the timer is set.
    armed: Cell<Option<Instant>>,
    pub(super) alarm: Arc<Alarm>,
    waker: Waker,
    /// The alarm was rung since the stack was looked after.
    rung: Cell<bool>,
}

impl<S: Ground> Watch<S> {
    pub(super) fn new(shared: Rc<RefCell<Shared<S>>>) -> io::Result<Self> {
        runtime::Handle::try_current().map_err(io::Error::other)?;
        let alarm = Arc::new(Alarm::default());
        let descriptor = registered(shared.borrow().descriptor())?;
        Ok(Watch {
            shared,
            descriptor,
            sleep: RefCell::new(Box::pin(time::sleep(Duration::ZERO))),
            armed: Cell::new(None),
            waker: Arc::clone(&alarm).into(),
            alarm,
            rung: Cell::new(false),
        })
    }

    /// Runs the stack until `look` finds something about `name`, one poll at a time. Who does not poll it again leaves.
    pub(super) fn poll<T>(
        &self,
        place: &mut Place,
        name: Handle,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Shared<S>) -> Option<T>,
    ) -> Poll<Result<T, Error>> {
        let progress = ready!(coop::poll_proceed(cx));
        let mut find = || {
            let shared = &mut *self.shared.borrow_mut();
            shared.ask();
            let found = look(shared);
            shared.ask();
            found
        };
        let at_once = if self.shared.borrow().is_stale() { None } else { find() };
        let (found, tended) = match at_once {
            Some(found) => (Some(found), Ok(())),
            None => {
                // First of all: what is told from here on shall reach us, on whatever thread the runtime waits.
                let slot = self.alarm.enter(&mut place.slot, cx.waker());
                self.shared.borrow_mut().desk.await_on(name, slot);
                let tended = self.tend();
                (find(), tended)
            }
        };
        match (found, tended) {
            (Some(found), _) => {
                progress.made_progress();
                self.leave(place, name);
                self.tell(None);
                Poll::Ready(Ok(found))
            }
            (None, Err(error)) => {
                self.leave(place, name);
                self.alarm.ring();
                Poll::Ready(Err(error))
            }
            (None, Ok(())) => {
                self.tell(place.slot);
                Poll::Pending
            }
        }
    }

    /// Who waited at `place` does not any more.
    pub(super) fn leave(&self, place: &mut Place, name: Handle) {
        if let Some(slot) = place.slot.take() {
            self.shared.borrow_mut().desk.leave(name, slot);
            self.alarm.leave(slot);
        }
    }

    /// Runs the stack as long as it has something to do, and sets the timer.
    pub(super) fn tend(&self) -> Result<(), Error> {
        self.rung.set(false);
        let cx = &mut Context::from_waker(&self.waker);
        for _batch in 0..BATCHES_MOST {
            let input = match self.descriptor.poll_read_ready(cx) {
                Poll::Ready(guard) => Some(guard?),
                Poll::Pending => None,
            };
            if input.is_none() && !self.is_due(cx) {
                return Ok(());
            }
            self.shared.borrow_mut().turn(Some(Duration::ZERO))?;
            // What comes from now on is told again.
            if let Some(mut guard) = input
                && !self.shared.borrow().has_more()
            {
                guard.clear_ready();
            }
        }
        self.alarm.ring();
        Ok(())
    }

    /// Whether the stack wants to be called now; else the timer is set.
    fn is_due(&self, cx: &mut Context<'_>) -> bool {
        let Some((deadline, left)) = self.shared.borrow().next_deadline() else {
            self.armed.set(None);
            return false;
        };
        if left.is_zero() {
            return true;
        }
        if self.shared.borrow_mut().wakes_at(deadline) {
            self.armed.set(Some(deadline));
            return false;
        }
        let mut sleep = self.sleep.borrow_mut();
        if self.armed.replace(Some(deadline)) != Some(deadline) {
            sleep.as_mut().reset(time::Instant::now() + left.min(SLEEP_MOST));
        }
        let over = sleep.as_mut().poll(cx).is_ready();
        if over {
            self.armed.set(None);
        }
        over
    }

    /// Wakes those to whom something was told, but for `me`; and somebody to look after the stack, where it has something to do
    /// earlier than the timer is set for.
    pub(super) fn tell(&self, me: Option<Handle>) {
        let (mut woken, deadline) = {
            let shared = &mut *self.shared.borrow_mut();
            // The descriptor wakes us for what is near, also where the batch that was just run heard its timer in the place of us.
            let deadline = shared.next_deadline().filter(|(deadline, _)| !shared.wakes_at(*deadline));
            (mem::take(&mut shared.desk.woken), deadline)
        };
        woken.retain(|slot| Some(*slot) != me);
        self.alarm.wake(&woken);
        let earlier = deadline.is_some_and(|(deadline, left)| {
            // Not where it lies in the past: that was heard, maybe by a batch that woke nobody.
            let is_set = |armed: Instant| armed <= deadline && deadline.since(armed) < left;
            left.is_zero() || !self.armed.get().is_some_and(is_set)
        });
        if earlier && !self.rung.replace(true) {
            self.alarm.ring();
        }
        // Its memory is of use again, unless a task that was woken said something meanwhile.
        let shared = &mut *self.shared.borrow_mut();
        if shared.desk.woken.is_empty() {
            woken.clear();
            shared.desk.woken = woken;
        }
    }
}

impl<S: Ground> Drop for Watch<S> {
    fn drop(&mut self) {
        // Who runs the stack shall notice that it is gone.
        self.alarm.ring();
    }
}

/// A registry owns its descriptor and always says the same one: all that tokio asks for. It asks for it by an `unsafe` call
/// since 1.54, which this crate has none of.
#[expect(deprecated, reason = "sound for a registry, and the other one is unsafe")]
fn registered(descriptor: Rc<Registry>) -> io::Result<AsyncFd<Rc<Registry>>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Where somebody waits.
#[derive(Default)]
pub(super) struct Place {
    pub(super) slot: Option<Handle>,
}

/// Waits until `look` finds something about `name`. Dropped, it leaves nothing behind, and somebody else runs the stack.
pub(super) struct Wait<'a, S: Ground, F> {
    watch: &'a Watch<S>,
    name: Handle,
    place: Place,
    look: F,
}

impl<'a, S: Ground, F> Wait<'a, S, F> {
    pub(super) fn new<T>(watch: &'a Watch<S>, name: Handle, look: F) -> Self
    where
        F: FnMut(&mut Shared<S>) -> Option<T>,
    {
        Wait { watch, name, place: Place::default(), look }
    }
}

impl<S: Ground, T, F: FnMut(&mut Shared<S>) -> Option<T> + Unpin> Future for Wait<'_, S, F> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Wait { watch, name, place, look } = self.get_mut();
        watch.poll(place, *name, cx, look)
    }
}

impl<S: Ground, F> Drop for Wait<'_, S, F> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.place, self.name);
    }
}

/// A share of the watch: who gives it up has told the stack something before (that an association is over, say), and others
/// may wait for what came of it. It stands after whatever says that.
pub(super) struct Teller<S: Ground>(pub(super) Rc<Watch<S>>);

impl<S: Ground> Deref for Teller<S> {
    type Target = Rc<Watch<S>>;

    fn deref(&self) -> &Rc<Watch<S>> {
        &self.0
    }
}

impl<S: Ground> Drop for Teller<S> {
    fn drop(&mut self) {
        self.0.tell(None);
    }
}
