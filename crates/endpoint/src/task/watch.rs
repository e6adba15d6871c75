//! Running the stack in whichever task awaits, and waking the others.

use std::io;
use std::mem;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};

use stackwright_contract::Handle;
use tokio::task::coop;

use crate::error::Error;
use crate::flavor::{Flavor, Lock, Sharing};
use crate::shared::{Shared, StackAny};
use crate::task::alarm::Alarm;
use crate::task::readers::{Readers, ReadySet};

/// How many batches of the stack are run before other tasks have their turn.
const BATCHES_MOST: usize = 8;

/// The stack of an endpoint, and what its tasks wait for.
///
/// A task enters the alarm, looks for what it waits for, runs the stack and collects whom to wake
/// under one lock: nothing is told between its last look and its waiting. Wakers are called, and
/// dropped, when the lock is free: the last one of a task may drop handles of this endpoint.
pub(super) struct Watch<S: StackAny, F: Flavor> {
    pub(super) shared: Arc<F::Lock<Shared<S>>>,
    /// They wake the alarm, and so the tasks that wait.
    pub(super) readers: Arc<Readers>,
    seen: F::Lock<ReadySet>,
    pub(super) alarm: Arc<Alarm>,
    /// The alarm was rung since the stack was looked after.
    rung: AtomicBool,
    /// Where several threads may run the stack: one does, and rings when it leaves if another came
    /// in vain meanwhile.
    runs: AtomicBool,
    missed: AtomicBool,
}

/// The stack, while its lock is held.
type Guard<'a, S, F> = <<F as Sharing>::Lock<Shared<S>> as Lock<Shared<S>>>::Guard<'a>;

/// What is to be done when the lock is free.
#[derive(Default)]
struct News {
    woken: Vec<Handle>,
    rings: bool,
    /// The waker of a task that does not wait any more.
    _gone: Option<Waker>,
}

impl<S: StackAny, F: Flavor> Watch<S, F> {
    pub(super) fn new(shared: Arc<F::Lock<Shared<S>>>) -> io::Result<Self> {
        let alarm = Arc::new(Alarm::default());
        let registry = shared.lock().registry();
        let readers = Readers::new(Arc::clone(&registry), Arc::clone(&alarm))?;
        registry.watch_by(&(Arc::clone(&readers) as _));
        let seen = Lock::new(ReadySet::default());
        let [rung, runs, missed] = [(); 3].map(|()| AtomicBool::new(false));
        Ok(Watch { shared, readers, seen, alarm, rung, runs, missed })
    }

    /// Runs the stack until `look` finds something about `name`, one poll at a time. A caller that
    /// does not poll again [leaves](Self::leave).
    pub(super) fn poll<T>(
        &self,
        place: &mut WaitSlot,
        name: Handle,
        cx: &mut Context<'_>,
        look: impl FnMut(&mut Shared<S>) -> Option<T>,
    ) -> Poll<Result<T, Error>> {
        self.poll_then(place, name, cx, look, |_, found| found)
    }

    /// The same, and does `then` with what was found, before anything else can happen.
    pub(super) fn poll_then<T, U>(
        &self,
        place: &mut WaitSlot,
        name: Handle,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Shared<S>) -> Option<T>,
        then: impl FnOnce(&mut Shared<S>, T) -> U,
    ) -> Poll<Result<U, Error>> {
        let progress = ready!(coop::poll_proceed(cx));
        let mut guard = self.shared.lock();
        self.begin_run();
        let shared = &mut *guard;
        // A task that waited has not left the stack alone.
        let waited = place.slot;
        let is_stale = waited.is_none() && shared.is_stale();
        let at_once = if is_stale { None } else { look(shared) };
        let found = match at_once {
            Some(found) => Ok(Some(found)),
            None => {
                if waited.is_none() {
                    // First of all: what is told from here on shall reach us, on whatever thread
                    // the runtime waits.
                    let slot = self.alarm.enter(cx.waker());
                    shared.mailbox.await_on(name, slot);
                    place.slot = Some(slot);
                }
                // Also what was put off by a call that found everything at once.
                let asks = !shared.mailbox.asks.is_empty();
                shared.ask();
                match self.tend(shared, &mut look) {
                    // There was no batch after which it would have been looked for; or the stack
                    // has answered at once.
                    Ok(None) if is_stale || asks => Ok(look(shared)),
                    tended => tended,
                }
            }
        };
        let (polled, news) = match found {
            Ok(Some(found)) => {
                progress.made_progress();
                let done = then(shared, found);
                let gone = self.leave_within(shared, place, name);
                (Poll::Ready(Ok(done)), News { _gone: gone, ..self.news(shared) })
            }
            Err(error) => {
                let gone = self.leave_within(shared, place, name);
                let rings = News { rings: true, _gone: gone, ..News::default() };
                (Poll::Ready(Err(error)), rings)
            }
            Ok(None) => (Poll::Pending, Self::woken(shared, place.slot)),
        };
        let rings = news.rings | self.end_run();
        drop(guard);
        if polled.is_pending()
            && let Some(slot) = waited
        {
            self.alarm.stay(slot, cx.waker());
        }
        self.spread(News { rings, ..news });
        polled
    }

    /// The task at `place` does not wait any more.
    pub(super) fn leave(&self, place: &mut WaitSlot, name: Handle) {
        if place.slot.is_some() {
            let gone = self.leave_within(&mut self.shared.lock(), place, name);
            drop(gone);
        }
    }

    fn leave_within(
        &self,
        shared: &mut Shared<S>,
        place: &mut WaitSlot,
        name: Handle,
    ) -> Option<Waker> {
        let slot = place.slot.take()?;
        shared.mailbox.leave(name, slot);
        self.alarm.leave(slot)
    }

    /// Runs the stack as long as it has something to do, and sets the timer. Returns what `find`
    /// found after a batch; where no other task waits, nothing more is done then.
    pub(super) fn tend<T>(
        &self,
        shared: &mut Shared<S>,
        mut find: impl FnMut(&mut Shared<S>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        self.rung.store(false, Ordering::Relaxed);
        let mut found = None;
        for _batch in 0..BATCHES_MOST {
            match self.batch(shared) {
                Ok(true) => {}
                Err(error) if found.is_none() => return Err(error),
                Ok(false) | Err(_) => return Ok(found),
            }
            found = found.or_else(|| find(shared));
            if found.is_some() && self.alarm.len() == 1 {
                return Ok(found);
            }
        }
        self.alarm.ring();
        Ok(found)
    }

    /// One batch, where the stack has something to do; else the timer is set.
    fn batch(&self, shared: &mut Shared<S>) -> Result<bool, Error> {
        let seen = &mut *self.seen.lock();
        self.readers.look(seen)?;
        seen.looks |= shared.has_more();
        if seen.sockets.is_empty() && !seen.looks && !shared.is_due() {
            return Ok(false);
        }
        let looks = mem::take(&mut seen.looks);
        let turned = shared.turn_seen(&seen.sockets, looks);
        seen.sockets.clear();
        turned.map(|()| true)
    }

    /// Wakes the tasks to which something was told; and one that runs the stack, where it has
    /// something to do now.
    pub(super) fn tell(&self) {
        self.with(|_| ());
    }

    /// Does something with the stack, and then [tells](Self::tell).
    pub(super) fn with<T>(&self, acts: impl FnOnce(&mut Shared<S>) -> T) -> T {
        let mut guard = self.shared.lock();
        self.begin_run();
        let done = acts(&mut guard);
        let news = self.news(&mut guard);
        let rings = news.rings | self.end_run();
        drop(guard);
        self.spread(News { rings, ..news });
        done
    }

    /// The task that holds the lock runs the stack.
    #[inline]
    fn begin_run(&self) {
        if F::CONCURRENT {
            self.runs.store(true, Ordering::SeqCst);
        }
    }

    /// It is done with it. Returns whether another thread came in vain meanwhile.
    #[inline]
    fn end_run(&self) -> bool {
        F::CONCURRENT && {
            self.runs.store(false, Ordering::SeqCst);
            self.missed.load(Ordering::SeqCst) && self.missed.swap(false, Ordering::SeqCst)
        }
    }

    /// Waits for the lock, unless the thread that holds it runs the stack: that rings when it
    /// leaves, so that the stack is run there, after what that thread does first.
    fn lock_unless_run(&self) -> Option<Guard<'_, S, F>> {
        if let Some(guard) = self.shared.try_lock() {
            return Some(guard);
        }
        // In this order: it says that it does not run the stack any more, and then looks.
        self.missed.store(true, Ordering::SeqCst);
        (!self.runs.load(Ordering::SeqCst)).then(|| self.shared.lock())
    }

    fn news(&self, shared: &mut Shared<S>) -> News {
        if self.alarm.is_silent() {
            // The task that was told something has left, and the next one asks and looks first.
            shared.mailbox.woken.clear();
            return News::default();
        }
        shared.ask();
        let rings = shared.is_due() && !self.rung.swap(true, Ordering::Relaxed);
        News { rings, ..Self::woken(shared, None) }
    }

    /// The tasks to which something was told, except for `me`, which just looked.
    fn woken(shared: &mut Shared<S>, me: Option<Handle>) -> News {
        let woken = &mut shared.mailbox.woken;
        woken.retain(|slot| Some(*slot) != me);
        // Where there are none, it keeps its memory.
        let woken = if woken.is_empty() { Vec::new() } else { mem::take(woken) };
        News { woken, ..News::default() }
    }

    /// Runs the stack for others: what no task waits for in particular.
    pub(super) fn run(&self, me: Handle) -> Result<(), Error> {
        let Some(mut guard) = self.lock_unless_run() else { return Ok(()) };
        self.begin_run();
        guard.ask();
        let tended = self.tend(&mut guard, |_| None::<()>);
        let news = Self::woken(&mut guard, Some(me));
        let rings = self.end_run();
        drop(guard);
        self.spread(News { rings, ..news });
        tended.map(drop)
    }

    fn spread(&self, news: News) {
        let News { mut woken, rings, _gone } = news;
        if !woken.is_empty() {
            self.alarm.wake(&woken);
            // Its memory is of use again, unless a task that was woken said something meanwhile.
            let shared = &mut *self.shared.lock();
            if shared.mailbox.woken.is_empty() {
                woken.clear();
                shared.mailbox.woken = woken;
            }
        }
        if rings {
            self.alarm.ring();
        }
    }
}

impl<S: StackAny, F: Flavor> Drop for Watch<S, F> {
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
pub(super) struct Wait<'a, S: StackAny, F: Flavor, L> {
    watch: &'a Watch<S, F>,
    name: Handle,
    place: WaitSlot,
    look: L,
}

impl<'a, S: StackAny, F: Flavor, L> Wait<'a, S, F, L> {
    pub(super) fn new<T>(watch: &'a Watch<S, F>, name: Handle, look: L) -> Self
    where
        L: FnMut(&mut Shared<S>) -> Option<T>,
    {
        Wait { watch, name, place: WaitSlot::default(), look }
    }
}

impl<S: StackAny, F: Flavor, T, L: FnMut(&mut Shared<S>) -> Option<T> + Unpin> Future
    for Wait<'_, S, F, L>
{
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Wait { watch, name, place, look } = self.get_mut();
        watch.poll(place, *name, cx, look)
    }
}

impl<S: StackAny, F: Flavor, L> Drop for Wait<'_, S, F, L> {
    fn drop(&mut self) {
        self.watch.leave(&mut self.place, self.name);
    }
}

/// A share of the watch that wakes other tasks when it is dropped: something was told to the stack
/// before (that an association has ended, say), and they may wait for what follows. It is declared
/// after the field whose drop says that.
pub(super) struct WakeOnDrop<S: StackAny, F: Flavor>(pub(super) Arc<Watch<S, F>>);

impl<S: StackAny, F: Flavor> Deref for WakeOnDrop<S, F> {
    type Target = Arc<Watch<S, F>>;

    fn deref(&self) -> &Arc<Watch<S, F>> {
        &self.0
    }
}

impl<S: StackAny, F: Flavor> Drop for WakeOnDrop<S, F> {
    fn drop(&mut self) {
        self.0.tell();
    }
}
