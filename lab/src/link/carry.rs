//! The loop that carries packets from one device to the other: one thread, which waits for packets
//! and for the next arrival.

use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::setpriority_process;
use rustix::thread::set_current_timer_slack;
use stackwright_contract::{Duration, Instant, earliest};
use stackwright_results::Problem;
use stackwright_simulator::Profile;

use super::clock::Clock;
use super::counts::Report;
use super::direction::Direction;
use super::ends::End;
use super::medium::Medium;

/// After something was written, so long is gathered what comes next, so that a fast link is not
/// woken for each of its packets. A packet on an idle link is in time.
const GATHER: Duration = Duration::from_micros(100);

/// Before all that have no priority of their own.
const PRIORITY: i32 = -20;

/// A link that runs.
#[derive(Debug)]
pub(super) struct Carrier {
    ends: [End; 2],
    /// Forward and back.
    directions: [Direction; 2],
    medium: Medium,
    clock: Clock,
    /// Nothing is written before.
    gathering: Instant,
}

impl Carrier {
    /// What `profile` says between `ends`; its chances follow from `seed`.
    pub(super) fn new(ends: [End; 2], profile: Profile, seed: u64) -> Carrier {
        // A precise timer, since the kernel's usual 50 µs of leeway are as much as some links take;
        // and a processor before those who use the link, as a wire would not wait for them. Without
        // either it works as well, only less precisely.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let _ = setpriority_process(None, PRIORITY);
        let directions = [Direction::new(0), Direction::new(1)];
        let medium = Medium::new(profile, seed);
        Carrier { ends, directions, medium, clock: Clock::start(), gathering: Instant::START }
    }

    /// The time since it is up.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Carries what there is, then waits until there is more, `until` comes or `wakes` has
    /// something to read. Tells whether it has.
    ///
    /// # Errors
    ///
    /// Where a device is gone.
    pub(super) fn turn(&mut self, until: Instant, wakes: BorrowedFd) -> Result<bool, Problem> {
        let Carrier { ends: [a, b], directions, medium, clock, gathering } = self;
        medium.turn(clock.now(), directions);
        let mut more = false;
        for (direction, end) in directions.iter_mut().zip([&*a, &*b]) {
            let read =
                direction.receive(&end.device, || clock.now(), |way, sent| medium.offer(way, sent));
            more |= read.map_err(|error| {
                Problem::new(format!("a device of the link disappeared: {error}"))
            })?;
        }
        let now = clock.now();
        medium.turn(now, directions);
        if now >= *gathering {
            let [forward, back] = &mut *directions;
            if forward.deliver(now, &b.device) | back.deliver(now, &a.device) {
                *gathering = now + GATHER;
            }
        }

        let [forward, back] = &*directions;
        let arrival = earliest(forward.next(), back.next()).map(|arrival| arrival.max(*gathering));
        let arrival = earliest(arrival, medium.next());
        let next = if more { now } else { earliest(arrival, Some(until)).unwrap_or(until) };
        let wait = next.since(clock.now());
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let mut watched = [
            PollFd::new(&a.device, PollFlags::IN),
            PollFd::new(&b.device, PollFlags::IN),
            PollFd::from_borrowed_fd(wakes, PollFlags::IN),
        ];
        match poll(&mut watched, Some(&wait)) {
            Ok(_) | Err(Errno::INTR) => Ok(!watched[2].revents().is_empty()),
            Err(error) => Err(Problem::new(format!("waiting for packets failed: {error}"))),
        }
    }

    /// What is known so far, forward and back.
    pub(super) fn report(&self) -> [Report; 2] {
        [0, 1].map(|way| self.medium.report(way, &self.directions[way]))
    }

    /// The same at the end, with what the kernel dropped.
    pub(super) fn last_report(&self) -> [Report; 2] {
        let [forward, back] = self.report();
        let [a, b] = &self.ends;
        [Report { missed: a.missed(), ..forward }, Report { missed: b.missed(), ..back }]
    }
}
