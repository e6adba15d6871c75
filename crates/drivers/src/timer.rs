//! A timer that stays set from one wait to the next.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use stackwright_contract::Instant;

/// What the timer is called among the descriptors. No adapter's can have this name: it is the last one's of the last lane.
pub(crate) const TIMER: Token = Token(usize::MAX);

/// The kernel looks around every so often at the latest; a wait that ends later costs it nothing.
const NEAR: Duration = Duration::from_millis(10);

/// Waits are counted in these: one ends less than this after it should.
const EXACT: Duration = Duration::from_millis(1);

/// Ends waits that would be short. A bound that a wait itself has is set and taken back with each of them; where it lies before
/// what the kernel waits for anyway, both reach the processor's clock, which takes microseconds on a virtual machine. This one is
/// set once, and waits until then that end by themselves do not touch it.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    descriptor: Option<OwnedFd>,
    at: Option<Instant>,
}

impl Timer {
    /// Whether it is set, and ends a wait by `deadline` or so little later that no wait is as exact. Where its time has passed and
    /// nobody heard of it, a wait ends at once.
    pub(crate) fn ends_by(&self, deadline: Instant) -> bool {
        self.at.is_some_and(|at| at <= deadline + EXACT)
    }

    /// Whether it ends a wait that begins `now` and shall last so long, in whole milliseconds as of any wait, or somewhat less
    /// long: who is awake too soon waits again. It does not where that is far, or where the system has no timer for us.
    pub(crate) fn ends(&mut self, registry: &Registry, now: Instant, wait: Duration) -> bool {
        if wait.is_zero() || wait > NEAR {
            return false;
        }
        // Rounded up, however short: a timer that is set to nothing never ends.
        let wait = EXACT * wait.subsec_nanos().div_ceil(EXACT.subsec_nanos());
        let until = now + wait;
        if self.at.is_some_and(|at| now < at && at <= until) {
            return true;
        }
        let set = self.set(registry, wait).is_ok();
        self.at = set.then_some(until);
        set
    }

    /// It has ended a wait.
    pub(crate) fn ended(&mut self) {
        self.at = None;
    }

    fn set(&mut self, registry: &Registry, wait: Duration) -> io::Result<()> {
        let descriptor = match &self.descriptor {
            Some(descriptor) => descriptor,
            None => {
                let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
                let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
                registry.register(&mut SourceFd(&descriptor.as_raw_fd()), TIMER, Interest::READABLE)?;
                self.descriptor.insert(descriptor)
            }
        };
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec {
            it_interval: once,
            it_value: Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() },
        };
        timerfd_settime(descriptor, TimerfdTimerFlags::empty(), &value)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mio::{Events, Poll};

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn at(microseconds: u64) -> Instant {
        Instant::from_nanoseconds(microseconds * 1000)
    }

    #[test]
    fn it_is_set_once_for_many_waits_and_ends_them() {
        let mut poll = Poll::new().unwrap();
        let registry = poll.registry().try_clone().unwrap();
        let mut timer = Timer::default();
        assert!(timer.ends(&registry, at(0), MILLISECOND));
        assert!(timer.ends(&registry, at(500), MILLISECOND), "somewhat early is in time");
        assert_eq!(timer.at, Some(at(1000)));
        let mut events = Events::with_capacity(4);
        poll.poll(&mut events, None).unwrap();
        assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [TIMER]);
        timer.ended();
        poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
        assert!(events.is_empty(), "it is told once");
        assert!(timer.ends(&registry, at(2000), MILLISECOND), "and again when it was set again");
        poll.poll(&mut events, None).unwrap();
        assert!(!events.is_empty());
    }

    #[test]
    fn it_is_set_again_for_what_comes_sooner_and_not_for_what_is_far() {
        let registry = Poll::new().unwrap().registry().try_clone().unwrap();
        let mut timer = Timer::default();
        assert!(
            !timer.ends(&registry, at(0), Duration::ZERO) && !timer.ends(&registry, at(0), 100 * MILLISECOND)
        );
        assert!(timer.ends(&registry, at(0), 5 * MILLISECOND));
        assert!(timer.ends(&registry, at(0), Duration::from_micros(1)));
        assert_eq!(timer.at, Some(at(1000)), "in whole milliseconds");
        assert!(timer.ends(&registry, at(1000), 2 * MILLISECOND), "what is past is set again");
        assert_eq!(timer.at, Some(at(3000)));
    }

    #[test]
    fn the_shortest_wait_has_an_end() {
        let mut poll = Poll::new().unwrap();
        let mut timer = Timer::default();
        assert!(timer.ends(poll.registry(), at(0), Duration::from_nanos(6)));
        let mut events = Events::with_capacity(4);
        poll.poll(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert!(!events.is_empty());
    }
}
