//! The tasks that wait for the stack, so that one of them runs it when it has something to do.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use stackwright_contract::{Handle, Names};

/// Rings when the stack is to be run. It rings for all tasks that wait: which of them is polled,
/// and not just held or dropped, nothing else knows. Where one task does nothing but run the stack,
/// it rings for that alone.
///
/// The runtime may ring it from another thread; otherwise the lock is hardly ever contended.
#[derive(Default)]
pub(super) struct Alarm {
    waiting: Mutex<Waiting>,
    /// How many wait. Where it matters, it is read under the lock of the stack, under which tasks
    /// enter: this lock is not needed to know it.
    len: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    wakers: Names<Waker>,
    runner: Option<Handle>,
}

impl Waiting {
    /// Most often there is one.
    fn to_be_woken(&self) -> (Option<Waker>, Vec<Waker>) {
        if let Some(runner) = self.runner {
            return (self.wakers.get(runner).cloned(), Vec::new());
        }
        let mut wakers = self.wakers.iter().map(|(_, waker)| waker.clone());
        (wakers.next(), wakers.collect())
    }
}

impl Alarm {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in it is ever half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the task that `waker` wakes wait, under the name that is returned.
    pub(super) fn enter(&self, waker: &Waker) -> Handle {
        let wakers = &mut self.waiting().wakers;
        let slot = wakers.name(waker.clone());
        self.len.store(wakers.len(), Ordering::Relaxed);
        slot
    }

    /// The task in this slot still waits, and is woken by `waker`. If that is another than before,
    /// it is woken at once: what was told meanwhile was told to the other one.
    pub(super) fn stay(&self, slot: Handle, waker: &Waker) {
        let before = match self.waiting().wakers.get_mut(slot) {
            Some(known) if !known.will_wake(waker) => mem::replace(known, waker.clone()),
            _ => return,
        };
        drop(before);
        waker.wake_by_ref();
    }

    /// The task in this slot does nothing but run the stack.
    pub(super) fn appoint(&self, slot: Handle) {
        self.waiting().runner = Some(slot);
    }

    /// The task in this slot does not wait any more. Returns its waker: dropped, it may be the last
    /// one of the task and end it, which is not for a caller that holds a lock.
    pub(super) fn leave(&self, slot: Handle) -> Option<Waker> {
        let waiting = &mut *self.waiting();
        let gone = waiting.wakers.forget(slot);
        self.len.store(waiting.wakers.len(), Ordering::Relaxed);
        if waiting.runner == Some(slot) {
            waiting.runner = None;
        }
        gone
    }

    /// Wakes the tasks in `slots`.
    pub(super) fn wake(&self, slots: &[Handle]) {
        for slot in slots {
            let waker = self.waiting().wakers.get(*slot).cloned();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Returns whether no task waits.
    pub(super) fn is_silent(&self) -> bool {
        self.len() == 0
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(super) fn ring(&self) {
        let (first, others) = self.waiting().to_be_woken();
        first.into_iter().chain(others).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Three tasks that wait, each in its slot.
    fn three(alarm: &Alarm) -> [(Arc<Count>, Handle); 3] {
        [(); 3].map(|()| {
            let count = Arc::new(Count::default());
            let slot = alarm.enter(&Arc::clone(&count).into());
            (count, slot)
        })
    }

    fn counts(three: &[(Arc<Count>, Handle); 3]) -> [usize; 3] {
        three.each_ref().map(|(count, _)| count.0.load(Ordering::Relaxed))
    }

    #[test]
    fn it_rings_for_all_who_wait_and_not_for_those_who_left() {
        let alarm = Alarm::default();
        let three = three(&alarm);
        drop(alarm.leave(three[1].1));
        alarm.ring();
        assert_eq!(counts(&three), [1, 0, 1]);
        three.iter().for_each(|(_, slot)| drop(alarm.leave(*slot)));
        assert_eq!(alarm.len(), 0);
    }

    #[test]
    fn who_is_appointed_is_woken_alone_until_he_leaves() {
        let alarm = Alarm::default();
        let three = three(&alarm);
        alarm.appoint(three[2].1);
        alarm.ring();
        assert_eq!(counts(&three), [0, 0, 1]);
        drop(alarm.leave(three[2].1));
        alarm.ring();
        assert_eq!(counts(&three), [1, 1, 1]);
    }

    #[test]
    fn who_is_polled_by_another_task_is_woken_there() {
        let alarm = Alarm::default();
        let [before, now] = [(); 2].map(|()| Arc::new(Count::default()));
        let counts = || [&before, &now].map(|count| count.0.load(Ordering::Relaxed));
        let wakers = [&before, &now].map(|count| Arc::clone(count).into());
        let slot = alarm.enter(&wakers[0]);
        alarm.stay(slot, &wakers[0]);
        assert_eq!(counts(), [0, 0]);
        alarm.stay(slot, &wakers[1]);
        assert_eq!(
            (alarm.len(), counts()),
            (1, [0, 1]),
            "what was told meanwhile was told to the other one"
        );
        alarm.ring();
        assert_eq!(counts(), [0, 2]);
    }
}
