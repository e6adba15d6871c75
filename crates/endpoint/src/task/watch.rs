//! Running the stack in whichever task awaits, and waking the others.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use stackwright_contract::Handle;
use tokio::task::coop;

use crate::error::Error;
use crate::shared::{Shared, StackAny};
use crate::task::alarm::Alarm;
use crate::task::readers::{Readers, ReadySet};

/// How many batches of the stack are run before other tasks have their turn.
const BATCHES_MOST: usize = 8;

/// The stack of an endpoint, and what its tasks wait for.
pub(super) struct Watch<S: StackAny> {
    pub(super) shared: Rc<RefCell<Shared<S>>>,
    /// They wake the alarm, and so the tasks that wait.
    pub(super) readers: Rc<Readers>,
    seen: RefCell<ReadySet>,
    pub(super) alarm: Arc<Alarm>,
    /// The alarm was rung since the stack was looked after.
    rung: Cell<bool>,
}

impl<S: StackAny> Watch<S> {
    pub(super) fn new(shared: Rc<RefCell<Shared<S>>>) -> io::Result<Self> {
        let alarm = Arc::new(Alarm::default());
        let registry = shared.borrow().registry();
        let readers = Readers::new(Rc::clone(&registry), Arc::clone(&alarm))?;
        registry.watch_by(&(Rc::clone(&readers) as _));
        Ok(Watch { shared, readers, seen: RefCell::default(), alarm, rung: Cell::new(false) })
    }

    /// Runs the stack until `look` finds something about `name`, one poll at a time. A caller that
    /// does not poll again [leaves](Self::leave).
    pub(super) fn poll<T>(
        &self,
        place: &mut WaitSlot,
        name: Handle,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Shared<S>) -> Option<T>,
    ) -> Poll<Result<T, Error>> {
        let progress = ready!(coop::poll_proceed(cx));
        let mut find = || look(&mut self.shared.borrow_mut());
        // A task that waited has not left the stack alone.
        let waited = place.slot;
        let is_stale = waited.is_none() && self.shared.borrow().is_stale();
        let at_once = if is_stale { None } else { find() };
        let found = match at_once {
            Some(found) => Ok(Some(found)),
            None => {
                let asks = {
                    let shared = &mut *self.shared.borrow_mut();
                    if waited.is_none() {
                        // First of all: what is told from here on shall reach us, on whatever
                        // thread the runtime waits.
                        let slot = self.alarm.enter(cx.waker());
                        shared.mailbox.await_on(name, slot);
                        place.slot = Some(slot);
                    }
                    // Also what was put off by a call that found everything at once.
                    let asks = !shared.mailbox.asks.is_empty();
                    shared.ask();
                    asks
                };
                match self.tend(&mut find) {
                    // There was no batch after which it would have been looked for; or the stack
                    // has answered at once.
                    Ok(None) if is_stale || asks => Ok(find()),
                    tended => tended,
                }
            }
        };
        match found {
            Ok(Some(found)) => {
                progress.made_progress();
                self.leave(place, name);
                self.tell();
                Poll::Ready(Ok(found))
            }
            Err(error) => {
                self.leave(place, name);
                self.alarm.ring();
                Poll::Ready(Err(error))
            }
            Ok(None) => {
                if let Some(slot) = waited {
                    self.alarm.stay(slot, cx.waker());
                }
                self.wake(place.slot);
                Poll::Pending
            }
        }
    }

    /// The task at `place` does not wait any more.
    pub(super) fn leave(&self, place: &mut WaitSlot, name: Handle) {
        if let Some(slot) = place.slot.take() {
            self.shared.borrow_mut().mailbox.leave(name, slot);
            self.alarm.leave(slot);
        }
    }

    /// Runs the stack as long as it has something to do, and sets the timer. Returns what `find`
    /// found after a batch; where no other task waits, nothing more is done then.
    pub(super) fn tend<T>(&self, mut find: impl FnMut() -> Option<T>) -> Result<Option<T>, Error> {
        self.rung.set(false);
        let mut found = None;
        for _batch in 0..BATCHES_MOST {
            match self.batch() {
                Ok(true) => {}
                Err(error) if found.is_none() => return Err(error),
                Ok(false) | Err(_) => return Ok(found),
            }
            found = found.or_else(&mut find);
            if found.is_some() && self.alarm.len() == 1 {
                return Ok(found);
            }
        }
        self.alarm.ring();
        Ok(found)
    }

    /// One batch, where the stack has something to do; else the timer is set.
    fn batch(&self) -> Result<bool, Error> {
        let seen = &mut *self.seen.borrow_mut();
        self.readers.look(seen)?;
        seen.looks |= self.shared.borrow().has_more();
        if seen.sockets.is_empty() && !seen.looks && !self.shared.borrow_mut().is_due() {
            return Ok(false);
        }
        let looks = mem::take(&mut seen.looks);
        let turned = self.shared.borrow_mut().turn_seen(&seen.sockets, looks);
        seen.sockets.clear();
        turned.map(|()| true)
    }

    /// Wakes the tasks to which something was told; and one that runs the stack, where it has
    /// something to do now.
    pub(super) fn tell(&self) {
        if self.alarm.is_silent() {
            // The task that was told something has left, and the next one asks and looks first.
            return self.shared.borrow_mut().mailbox.woken.clear();
        }
        self.shared.borrow_mut().ask();
        self.wake(None);
        if self.shared.borrow_mut().is_due() && !self.rung.replace(true) {
            self.alarm.ring();
        }
    }

    /// Wakes the tasks to which something was told, except for `me`, which just looked.
    pub(super) fn wake(&self, me: Option<Handle>) {
        let mut woken = {
            let woken = &mut self.shared.borrow_mut().mailbox.woken;
            if woken.is_empty() {
                return; // and keeps its memory
            }
            mem::take(woken)
        };
        woken.retain(|slot| Some(*slot) != me);
        self.alarm.wake(&woken);
        // Its memory is of use again, unless a task that was woken said something meanwhile.
        let shared = &mut *self.shared.borrow_mut();
        if shared.mailbox.woken.is_empty() {
            woken.clear();
            shared.mailbox.woken = woken;
        }
    }
}

impl<S: StackAny> Drop for Watch<S> {
    fn drop(&mut self) {
        // The task that runs the stack has to notice that it is gone.
        self.alarm.ring();
    }
}

/// The slot in which a task waits, if it does.
#[derive(Default)]
pub(super) struct WaitSlot {
    pub(super) slot: Option<Handle>,
}

/// Waits until `look` finds something about `name`. Dropped, it leaves nothing behind, and another
/// task runs the stack.
pub(super) struct Wait<'a, S: StackAny, F> {
    watch: &'a Watch<S>,
    name: Handle,
    place: WaitSlot,
    look: F,
}

impl<'a, S: StackAny, F> Wait<'a, S, F> {
    pub(super) fn new<T>(watch: &'a Watch<S>, name: Handle, look: F) -> Self
    where
        F: FnMut(&mut Shared<S>) -> Option<T>,
    {
        Wait { watch, name, place: WaitSlot::default(), look }
    }
}

impl<S: StackAny, T, F: FnMut(&mut Shared<S>) -> Option<T> + Unpin> Future for Wait<'_, S, F> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Wait { watch, name, place, look } = self.get_mut();
        watch.poll(place, *name, cx, look)
    }
}

impl<S: StackAny, F> Drop for Wait<'_, S, F> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.place, self.name);
    }
}

/// A share of the watch that wakes other tasks when it is dropped: something was told to the stack
/// before (that an association has ended, say), and they may wait for what follows. It is declared
/// after the field whose drop says that.
pub(super) struct WakeOnDrop<S: StackAny>(pub(super) Rc<Watch<S>>);

impl<S: StackAny> Deref for WakeOnDrop<S> {
    type Target = Rc<Watch<S>>;

    fn deref(&self) -> &Rc<Watch<S>> {
        &self.0
    }
}

impl<S: StackAny> Drop for WakeOnDrop<S> {
    fn drop(&mut self) {
        self.0.tell();
    }
}
