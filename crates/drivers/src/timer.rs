//! A timer that stays set from one wait to the next.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use stackwright_contract::Instant;

use crate::clock::Clock;

/// The timer's token among the descriptors. No adapter can have it: it is the last one of the last
/// lane.
pub(crate) const TIMER: Token = Token(usize::MAX);

/// The token of what ends waits from another thread, the one before.
pub(crate) const WAKER: Token = Token(usize::MAX - 1);

/// The kernel wakes up this often anyway; a wait that ends later costs it nothing.
const NEAR: Duration = Duration::from_millis(10);

/// The longest wait.
const FAR: Duration = Duration::from_secs(3600);

/// The resolution of waits: one ends less than this after its deadline.
const EXACT: Duration = Duration::from_millis(1);

/// Ends waits that would be short. The timeout of a wait itself is set and cancelled with each of
/// them; if it is before the kernel's own next event, both program the processor's timer, which
/// takes microseconds on a virtual machine. This one is set once, and waits that end by themselves
/// before do not touch it.
#[derive(Debug)]
pub(crate) struct Timer {
    descriptor: OwnedFd,
    at: Option<Instant>,
}

impl Timer {
    /// Makes a timer that is not set, and ends waits for what is registered here.
    pub(crate) fn new(registry: &Registry) -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&descriptor.as_raw_fd()), TIMER, Interest::READABLE)?;
        Ok(Timer { descriptor, at: None })
    }

    /// Whether it is set, and ends a wait by `deadline`, or later by less than the resolution of
    /// waits. If its time has passed and its event was not read, a wait ends at once.
    pub(crate) fn ends_by(&self, deadline: Instant) -> bool {
        self.at.is_some_and(|at| at <= deadline + EXACT)
    }

    /// Returns whether its time has passed and its event was not read: a wait ends at once.
    pub(crate) fn has_passed(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// Sets it to end a wait until `deadline`, as [`end`](Timer::end) does, unless that is far.
    /// Returns whether it does.
    pub(crate) fn ends(&mut self, clock: &Clock, now: Instant, deadline: Instant) -> bool {
        let ends = now < deadline && deadline.since(now) <= NEAR;
        if ends {
            self.end(clock, now, deadline);
        }
        ends
    }

    /// Ends a wait until `deadline`, in whole milliseconds after `now` as of any wait, or somewhat
    /// sooner: a driver that wakes up too soon waits again. It may be later than `now` already.
    pub(crate) fn end(&mut self, clock: &Clock, now: Instant, deadline: Instant) {
        if self.at.is_some_and(|at| now < at && at <= deadline) {
            return; // as with most waits
        }
        let wait = deadline.since(now).min(FAR);
        let parts = wait.subsec_nanos().div_ceil(EXACT.subsec_nanos());
        let until = now + Duration::from_secs(wait.as_secs()) + EXACT * parts;
        if self.at.is_none_or(|at| at <= now || until < at) {
            self.set(clock.since_boot(until));
            self.at = Some(until);
        }
    }

    /// Records that it has ended a wait.
    pub(crate) fn ended(&mut self) {
        self.at = None;
    }

    fn set(&self, at: Duration) {
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec {
            it_interval: once,
            it_value: Timespec { tv_sec: at.as_secs() as i64, tv_nsec: at.subsec_nanos().into() },
        };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::ABSTIME, &value)
            .expect("the system sets what it has made");
    }
}

#[cfg(test)]
mod tests {
    use mio::{Events, Poll};

    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_nanoseconds(milliseconds * 1_000_000)
    }

    fn made() -> (Poll, Clock, Timer) {
        let poll = Poll::new().unwrap();
        let timer = Timer::new(poll.registry()).unwrap();
        (poll, Clock::start(), timer)
    }

    /// Returns the events that end a wait of this poll.
    fn ends(poll: &mut Poll, most: Option<Duration>) -> Vec<Token> {
        let mut events = Events::with_capacity(4);
        poll.poll(&mut events, most).unwrap();
        events.iter().map(|event| event.token()).collect()
    }

    #[test]
    fn it_is_set_once_for_many_waits_and_ends_them() {
        let (mut poll, clock, mut timer) = made();
        assert!(timer.ends(&clock, at(0), at(1)));
        assert!(
            timer.ends(&clock, Instant::from_nanoseconds(500_000), at(2)),
            "somewhat early is in time"
        );
        assert_eq!(timer.at, Some(at(1)));
        assert_eq!(ends(&mut poll, None), [TIMER]);
        timer.ended();
        assert!(ends(&mut poll, Some(Duration::ZERO)).is_empty(), "it is told once");
        assert!(timer.ends(&clock, at(2), at(3)));
        assert_eq!(ends(&mut poll, None), [TIMER], "and again when it was set again");
    }

    #[test]
    fn it_is_set_again_for_what_comes_sooner_and_not_for_what_is_far() {
        let (_poll, clock, mut timer) = made();
        assert!(!timer.ends(&clock, at(1), at(1)) && !timer.ends(&clock, at(0), at(100)));
        assert!(timer.ends(&clock, at(0), at(5)));
        assert!(timer.ends(&clock, at(0), Instant::from_nanoseconds(1000)));
        assert_eq!(timer.at, Some(at(1)), "in whole milliseconds");
        assert!(timer.ends(&clock, at(1), at(3)), "what is past is set again");
        assert_eq!(timer.at, Some(at(3)));
    }

    #[test]
    fn it_ends_a_far_wait_where_it_is_asked_to() {
        let (_poll, clock, mut timer) = made();
        timer.end(&clock, at(0), Instant::from_nanoseconds(2_300_400_000));
        assert_eq!(timer.at, Some(at(2301)), "in whole milliseconds");
        timer.end(&clock, at(1), at(9000));
        assert_eq!(timer.at, Some(at(2301)), "somewhat early is in time");
        timer.ended();
        timer.end(&clock, at(1), Instant::from_nanoseconds(u64::MAX));
        assert_eq!(timer.at, Some(at(1) + FAR));
    }

    #[test]
    fn the_shortest_wait_has_an_end() {
        let (mut poll, clock, mut timer) = made();
        assert!(timer.ends(&clock, at(0), Instant::from_nanoseconds(6)));
        assert_eq!(ends(&mut poll, Some(Duration::from_secs(10))), [TIMER]);
    }

    #[test]
    fn who_looked_at_the_clock_long_ago_does_not_wait_for_what_has_passed() {
        let (mut poll, clock, mut timer) = made();
        while clock.now() < at(20) {}
        assert!(timer.ends(&clock, at(0), at(10)));
        assert_eq!(ends(&mut poll, Some(Duration::ZERO)), [TIMER]);
    }
}
