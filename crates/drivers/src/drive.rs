//! The driver loop: readiness in, everything said in the batch out.

use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use mio::{Events, Poll, Token};
use stackwright_contract::{Context, Instant, Outlet, Protocol, RequestTo, hand_down};

use crate::clock::Clock;
use crate::coalescing::{Coalescing, SLEEP};
use crate::readiness::{Lanes, Ready, lane};
use crate::registry::Registry;
use crate::timer::{TIMER, Timer};

/// Runs one stack on this thread.
pub struct Driver {
    poll: Poll,
    /// The poll's own, under one descriptor of its own, however many adapters there are.
    registry: Rc<Registry>,
    events: Events,
    cx: Context,
    clock: Clock,
    timer: Timer,
    coalescing: Coalescing,
    /// As many events came as there is room for.
    full: bool,
    spin: Duration,
}

/// An outlet that can say that the run is over.
pub trait Stop {
    /// Whether the driver shall return.
    fn stops(&self) -> bool;
}

impl Driver {
    /// A driver whose stack draws its randomness from `seed`.
    ///
    /// # Errors
    /// Where the operating system has no more descriptors.
    pub fn new(seed: u64) -> io::Result<Self> {
        let poll = Poll::new()?;
        Ok(Driver {
            registry: Rc::new(poll.registry().try_clone()?.into()),
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

    /// Sets for how long it polls before it sleeps: at most the time that it takes to be woken,
    /// some 50 µs, and only where the peer has a processor of its own. It halves the time of an
    /// exchange of short messages, and makes bulk no faster. A driver that does not spin coalesces
    /// wake-ups: it sleeps for some 70 µs before a wait while bursts of datagrams arrive faster
    /// than that.
    pub fn set_spin(&mut self, spin: Duration) {
        self.spin = spin;
    }

    /// Where adapters register their descriptors.
    pub fn registry(&self) -> Rc<Registry> {
        Rc::clone(&self.registry)
    }

    /// Whether there may be more than the last look at the descriptors has shown.
    pub fn has_more(&self) -> bool {
        self.full
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The time at the [last tick](Clock::last_tick).
    pub fn last_tick(&self) -> Instant {
        self.clock.last_tick()
    }

    /// What the stack is lent.
    pub fn context(&self) -> &Context {
        &self.cx
    }

    /// Asks the stack for something, between two batches.
    pub fn request<P: Protocol>(
        &mut self,
        stack: &mut P,
        request: RequestTo<P>,
        out: &mut impl Outlet<P>,
    ) {
        self.requests(stack, [request], out);
    }

    /// Asks the stack for several things at one time, between two batches.
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

    /// Runs until `out` says stop.
    ///
    /// # Errors
    /// Where the operating system cannot wait for descriptors any more.
    pub fn run<P>(&mut self, stack: &mut P, out: &mut (impl Outlet<P> + Stop)) -> io::Result<()>
    where
        P: Protocol<Uses: Lanes>,
    {
        while !out.stops() {
            self.turn(stack, out, None)?;
        }
        Ok(())
    }

    /// One batch: waits for input, for a deadline, or for `wait_most`.
    ///
    /// # Errors
    /// Where the operating system cannot wait for descriptors any more.
    pub fn turn<P>(
        &mut self,
        stack: &mut P,
        out: &mut impl Outlet<P>,
        wait_most: Option<Duration>,
    ) -> io::Result<()>
    where
        P: Protocol<Uses: Lanes>,
    {
        // Who looks and does not wait need not know how late it is before; nor who is woken in time
        // anyway.
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

    /// One batch that waits for nothing: of what [somebody else](crate::Watcher) saw can be read,
    /// and where it `looks`, of what the descriptors show.
    ///
    /// # Errors
    /// Where the operating system cannot look at descriptors any more.
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

    /// What the last look has shown. Sockets that were `seen` have been read since.
    fn hear<P>(&mut self, stack: &mut P, out: &mut impl Outlet<P>, seen: &[Token])
    where
        P: Protocol<Uses: Lanes>,
    {
        let mut came = 0;
        for event in &self.events {
            came += 1;
            if event.token() == TIMER {
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

    /// What is due is done, without a look at the descriptors: what was just asked for leaves. Says
    /// whether nothing is due any more; else it wants a [turn](Driver::turn).
    pub fn run_due<P: Protocol>(&mut self, stack: &mut P, out: &mut impl Outlet<P>) -> bool {
        let now = self.cx.now();
        self.settle(stack, out, now);
        !is_due(stack, now)
    }

    /// The end of a batch. What a lower layer tells while it is flushed is answered with the next
    /// batch, which does not wait: so bulk does not keep input waiting.
    fn settle<P: Protocol>(&self, stack: &mut P, out: &mut impl Outlet<P>, now: Instant) {
        if is_overdue(stack, now) {
            stack.handle_timeout(&self.cx, out);
        }
        if stack.wants_flush() {
            stack.flush(&self.cx, out);
        }
    }

    /// Has the descriptors wake whoever waits for them at `deadline`, in whole milliseconds from
    /// now, or somewhat sooner. It costs a system call only where nothing wakes him before.
    pub fn wake_at(&mut self, deadline: Instant) {
        let now = self.cx.now();
        self.timer.end(&self.clock, now, deadline);
    }

    /// The same, where that is so near that another timer would cost more.
    fn wakes_at(&mut self, deadline: Instant) -> bool {
        let now = self.cx.now();
        self.timer.ends(&self.clock, now, deadline)
    }

    /// Waits for something to happen, so long at most. The time then.
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
