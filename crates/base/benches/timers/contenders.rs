//! Who takes part: our event managers, and what one would use without them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::cancellable::{
    CancellableTimerEntry, QuadWheelWithOverflow,
};
use hierarchical_hash_wheel_timer::wheels::quad_wheel::{
    PruneDecision, QuadWheelWithOverflow as PlainWheel,
};
use stackwright_base::events::Events;
use stackwright_contract::Instant;

use crate::STEP;

/// Timers, in the shape that all contenders are brought into. Times are nanoseconds.
pub(crate) trait Timers: Default {
    type Ticket: Copy;

    fn insert(&mut self, now: u64, deadline: u64, what: u64) -> Self::Ticket;

    /// Gives what was cancelled. A contender that cannot cancel gives `None`, and is not asked any
    /// more.
    fn cancel(&mut self, ticket: Self::Ticket) -> Option<u64>;

    /// Time has moved on by a step, to `now`: the sum of all that has expired.
    fn step(&mut self, now: u64) -> u64;
}

/// Any of our event managers.
#[derive(Default)]
pub(crate) struct Ours<E>(E);

impl<E: Events<u64>> Timers for Ours<E> {
    type Ticket = E::Ticket;

    fn insert(&mut self, _: u64, deadline: u64, what: u64) -> E::Ticket {
        self.0.schedule(Instant::from_nanoseconds(deadline), what)
    }

    fn cancel(&mut self, ticket: E::Ticket) -> Option<u64> {
        self.0.cancel(ticket)
    }

    fn step(&mut self, now: u64) -> u64 {
        let now = Instant::from_nanoseconds(now);
        let mut sum = 0_u64;
        while let Some(what) = self.0.expire(now) {
            sum = sum.wrapping_add(what);
        }
        sum
    }
}

/// The standard library's heap. It cannot take an entry out of its middle, so a table tells which
/// entries still count.
#[derive(Default)]
pub(crate) struct Heap {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// The sequence number of who has this place, and what it is.
    table: Vec<(u64, u64)>,
    free: Vec<u32>,
    sequence: u64,
}

impl Timers for Heap {
    /// Place and sequence number.
    type Ticket = (u32, u64);

    fn insert(&mut self, _: u64, deadline: u64, what: u64) -> (u32, u64) {
        self.sequence += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.table.push((0, 0));
            self.table.len() as u32 - 1
        });
        self.table[place as usize] = (self.sequence, what);
        self.heap.push(Reverse((deadline, self.sequence, place)));
        (place, self.sequence)
    }

    fn cancel(&mut self, (place, sequence): (u32, u64)) -> Option<u64> {
        let entry = &mut self.table[place as usize];
        if entry.0 != sequence {
            return None;
        }
        entry.0 = 0;
        self.free.push(place);
        Some(entry.1)
    }

    fn step(&mut self, now: u64) -> u64 {
        let mut sum = 0_u64;
        while let Some(&Reverse((deadline, sequence, place))) = self.heap.peek()
            && deadline <= now
        {
            self.heap.pop();
            sum = sum.wrapping_add(self.cancel((place, sequence)).unwrap_or(0));
        }
        sum
    }
}

/// The standard library's ordered map.
#[derive(Default)]
pub(crate) struct Tree {
    map: BTreeMap<(u64, u64), u64>,
    sequence: u64,
}

impl Timers for Tree {
    /// Deadline and sequence number.
    type Ticket = (u64, u64);

    fn insert(&mut self, _: u64, deadline: u64, what: u64) -> (u64, u64) {
        self.sequence += 1;
        self.map.insert((deadline, self.sequence), what);
        (deadline, self.sequence)
    }

    fn cancel(&mut self, ticket: (u64, u64)) -> Option<u64> {
        self.map.remove(&ticket)
    }

    fn step(&mut self, now: u64) -> u64 {
        let mut sum = 0_u64;
        while let Some(entry) = self.map.first_entry()
            && entry.key().0 <= now
        {
            sum = sum.wrapping_add(entry.remove());
        }
        sum
    }
}

/// What the cancellable wheel keeps of a timer.
#[derive(Debug)]
struct Timer {
    id: u64,
    what: u64,
}

impl CancellableTimerEntry for Timer {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }
}

/// How many steps there are until `deadline`.
fn delay(now: u64, deadline: u64) -> Duration {
    Duration::from_millis((deadline - now).div_ceil(STEP))
}

/// The cancellable wheel of `hierarchical_hash_wheel_timer`. It gives nothing back that is
/// cancelled.
#[derive(Default)]
pub(crate) struct HashWheel {
    wheel: QuadWheelWithOverflow<Timer>,
    id: u64,
}

impl Timers for HashWheel {
    type Ticket = u64;

    fn insert(&mut self, now: u64, deadline: u64, what: u64) -> u64 {
        self.id += 1;
        let timer = Rc::new(Timer { id: self.id, what });
        self.wheel
            .insert_ref_with_delay(timer, delay(now, deadline))
            .expect("the delay is at least one step");
        self.id
    }

    fn cancel(&mut self, id: u64) -> Option<u64> {
        self.wheel.cancel(&id).ok().map(|()| 0)
    }

    fn step(&mut self, _: u64) -> u64 {
        self.wheel.tick().iter().fold(0, |sum, timer| sum.wrapping_add(timer.what))
    }
}

/// The same crate's plain wheel, which cannot cancel.
pub(crate) struct Plain(PlainWheel<u64>);

impl Default for Plain {
    fn default() -> Self {
        Plain(PlainWheel::new(|_| PruneDecision::Keep))
    }
}

impl Timers for Plain {
    type Ticket = ();

    fn insert(&mut self, now: u64, deadline: u64, what: u64) {
        self.0
            .insert_with_delay(what, delay(now, deadline))
            .expect("the delay is at least one step");
    }

    fn cancel(&mut self, (): ()) -> Option<u64> {
        None
    }

    fn step(&mut self, _: u64) -> u64 {
        self.0.tick().into_iter().fold(0, u64::wrapping_add)
    }
}
