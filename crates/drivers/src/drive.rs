//! The driver loop: waits for readiness, and flushes all output of a batch together.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mio::{Events, Poll, Token};
use stackwright_contract::{Context, Instant, Outlet, Protocol, RequestTo, hand_down};

use crate::clock::Clock;
use crate::coalescing::{Coalescing, SLEEP};
use crate::readiness::{Lanes, Ready, lane};
use crate::registry::Registry;
use crate::timer::{Timer, WAKER};
use crate::waker::Waker;

/// Runs one stack on this thread.
pub struct Driver {
    poll: Poll,
    /// The adapters' descriptors, under one of the poll's, however many there are.
    registry: Arc<Registry>,
    events: Events,
    cx: Context,
    clock: Clock,
    timer: Timer,
    coalescing: Coalescing,
    /// Whether the last look filled the buffer of events.
    full: bool,
    spin: Duration,
}

/// An outlet that can end the run.
pub trait Stop {
    /// Whether the driver is to return.
    fn stops(&self) -> bool;
}

impl Driver {
    /// Makes a driver whose stack draws its randomness from `seed`.
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    pub fn new(seed: u64) -> io::Result<Self> {
        let poll = Poll::new()?;
        Ok(Driver {
            registry: Arc::new(poll.registry().try_clone()?.into()),
            timer: Timer::new(poll.registry())?,
            poll,
            events: Events::with_capacity(256),
            cx: Context::new(seed),
            clock: Clock::start(),
            coalescing: Coalescing::default(),
            full: false,
            spin: Duration::ZERO,
        })
    }

    /// Sets for how long the driver polls before it sleeps: at most the time that a wake-up takes,
    /// some 50 µs, and only if the peer has a processor of its own. It halves the time of an
    /// exchange of short messages, and makes bulk no faster. A driver that does not spin coalesces
    /// wake-ups: it sleeps for some 70 µs before a wait while bursts of datagrams arrive faster
    /// than that.
    pub fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Returns the registry, where adapters register their descriptors.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// Returns what ends a [turn](Driver::turn) from another thread.
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(&self.registry)
    }

    /// Whether more descriptors may be ready than the last look at them has shown.
    pub fn has_more(&self) -> bool {
        self.full
    }

    #[cfg(feature = "air")]
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the time now.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the time at the [last tick](Clock::last_tick).
    #[inline]
    pub fn last_tick(&self) -> Instant {
        self.clock.last_tick()
    }

    /// Returns the context that is lent to the stack.
    pub fn context(&self) -> &Context {
        &self.cx
    }

    /// Makes a request to the stack, between two batches.
    pub fn request<P: Protocol>(
        &mut self,
        stack: &mut P,
        request: RequestTo<P>,
        out: &mut impl Outlet<P>,
    ) {
        self.requests(stack, [request], out);
    }

    /// Makes several requests to the stack at one time, between two batches.
    #[inline]
    pub fn requests<P: Protocol>(
        &mut self,
        stack: &mut P,
        requests: impl IntoIterator<Item = RequestTo<P>>,
        out: &mut impl Outlet<P>,
    ) {
        self.tick();
        for request in requests {
            hand_down(stack, true, &self.cx, request, out);
        }
    }

    /// Runs until `out` stops it.
    ///
    /// # Errors
    /// If the operating system cannot wait for descriptors any more.
    pub fn run<P>(&mut self, stack: &mut P, out: &mut (impl Outlet<P> + Stop)) -> io::Result<()>
    where
        P: Protocol<Uses: Lanes>,
    {
        while !out.stops() {
            self.turn(stack, out, None)?;
        }
        Ok(())
    }

    /// Runs one batch: waits for input, for a deadline, or for `wait_most`.
    ///
    /// # Errors
    /// If the operating system cannot wait for descriptors any more.
    pub fn turn<P>(
        &mut self,
        stack: &mut P,
        out: &mut impl Outlet<P>,
        wait_most: Option<Duration>,
    ) -> io::Result<()>
    where
        P: Protocol<Uses: Lanes>,
    {
        // A poll without a wait needs no time before it; nor does a wait that an event ends in any
        // case.
        let waits = wait_most != Some(Duration::ZERO);
        let wait = match stack
            .next_deadline()
            .filter(|deadline| waits && !self.timer.ends_by(*deadline))
        {
            _ if stack.wants_flush() => Some(Duration::ZERO),
            Some(deadline) => {
                let left = deadline.since(self.tick());
                let first = wait_most.is_none_or(|most| left < most);
                if first && !self.wakes_at(deadline) { Some(left) } else { wait_most }
            }
            None => wait_most,
        };
        let now = self.wait(wait)?;
        self.hear(stack, out, &[]);
        self.settle(stack, out, now);
        Ok(())
    }

    /// Runs one batch without a wait: reads what [a watcher](crate::Watcher) saw and, if it
    /// `looks`, what the descriptors show.
    ///
    /// # Errors
    /// If the operating system cannot look at descriptors any more.
    pub fn turn_seen<P>(
        &mut self,
        stack: &mut P,
        out: &mut impl Outlet<P>,
        seen: &[Token],
        looks: bool,
    ) -> io::Result<()>
    where
        P: Protocol<Uses: Lanes>,
    {
        let now = if looks { self.wait(Some(Duration::ZERO))? } else { self.tick() };
        for token in seen {
            let (lane, name) = lane(*token);
            let ready =
                Ready { name, readable: true, ending: false, urgent: false, writable: false };
            stack.handle_indication(&self.cx, P::Uses::ready(lane, ready), out);
        }
        if looks {
            self.hear(stack, out, seen);
        }
        self.settle(stack, out, now);
        Ok(())
    }

    /// Passes the events of the last look to the stack. Sockets that were `seen` have been read
    /// since.
    fn hear<P>(&mut self, stack: &mut P, out: &mut impl Outlet<P>, seen: &[Token])
    where
        P: Protocol<Uses: Lanes>,
    {
        let mut came = 0;
        for event in &self.events {
            came += 1;
            if event.token() >= WAKER {
                // A waker that is taken for the timer makes it be set again, at worst.
                self.timer.ended();
                continue;
            }
            let (lane, name) = lane(event.token());
            let ending = event.is_read_closed() || event.is_error();
            let ready = Ready {
                name,
                readable: event.is_readable() && !seen.contains(&event.token()) || ending,
                ending,
                urgent: event.is_priority(),
                writable: event.is_writable() || event.is_error(),
            };
            stack.handle_indication(&self.cx, P::Uses::ready(lane, ready), out);
        }
        self.full = came == self.events.capacity();
    }

    /// Does what is due, without a look at the descriptors: new requests leave. Returns whether
    /// nothing is due any more; otherwise it needs a [turn](Driver::turn).
    pub fn run_due<P: Protocol>(&mut self, stack: &mut P, out: &mut impl Outlet<P>) -> bool {
        let now = self.cx.now();
        self.settle(stack, out, now);
        !is_due(stack, now)
    }

    /// Ends a batch. Indications of a lower layer during its flush are answered with the next
    /// batch, which does not wait: so bulk does not keep input waiting.
    fn settle<P: Protocol>(&self, stack: &mut P, out: &mut impl Outlet<P>, now: Instant) {
        if is_overdue(stack, now) {
            stack.handle_timeout(&self.cx, out);
        }
        if stack.wants_flush() {
            stack.flush(&self.cx, out);
        }
    }

    /// Makes the descriptors ready at `deadline`, in whole milliseconds from now, or somewhat
    /// sooner. It costs a system call only if no earlier event is set.
    pub fn wake_at(&mut self, deadline: Instant) {
        let now = self.cx.now();
        self.timer.end(&self.clock, now, deadline);
    }

    /// Makes the descriptors ready now. It costs a system call only if the timer has not done so.
    pub fn wake_now(&mut self) {
        let now = self.cx.now();
        if !self.timer.has_passed(now) {
            self.timer.end(&self.clock, now, now);
        }
    }

    /// Does the same as [`wake_at`](Driver::wake_at) if the deadline is so near that another timer
    /// would cost more.
    fn wakes_at(&mut self, deadline: Instant) -> bool {
        let now = self.cx.now();
        self.timer.ends(&self.clock, now, deadline)
    }

    /// Waits for an event, at most for `most`. Returns the time then.
    fn wait(&mut self, most: Option<Duration>) -> io::Result<Instant> {
        let look = |poll: &mut Poll, events: &mut Events, most| match poll.poll(events, most) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        };
        if most != Some(Duration::ZERO) && self.spin > Duration::ZERO {
            let spin = most.unwrap_or(self.spin).min(self.spin);
            let begin = self.tick();
            loop {
                look(&mut self.poll, &mut self.events, Some(Duration::ZERO))?;
                let now = self.tick();
                let spun = now.since(begin);
                if !self.events.is_empty() || most.is_some_and(|most| spun >= most) {
                    return Ok(now);
                }
                if spun >= spin {
                    break;
                }
            }
            look(&mut self.poll, &mut self.events, most.map(|most| most.saturating_sub(spin)))?;
        } else {
            let sleeps = most.is_none_or(|most| most > 2 * SLEEP)
                && self.coalescing.is_due(self.registry.take_traffic());
            if sleeps {
                let begin = self.tick();
                thread::sleep(SLEEP);
                self.coalescing.on_slept(self.tick().since(begin));
            }
            look(&mut self.poll, &mut self.events, most)?;
        }
        Ok(self.tick())
    }

    #[inline]
    fn tick(&self) -> Instant {
        let now = self.clock.now();
        self.cx.set_now(now);
        now
    }
}

/// Whether there is something to do without a wait.
fn is_due(stack: &impl Protocol, now: Instant) -> bool {
    stack.wants_flush() || is_overdue(stack, now)
}

fn is_overdue(stack: &impl Protocol, now: Instant) -> bool {
    stack.next_deadline().is_some_and(|deadline| deadline <= now)
}
