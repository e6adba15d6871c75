//! The alternative for any number of events: a hierarchical timing wheel.

mod due;
mod occupied;
mod slots;

use stackwright_contract::Instant;

use self::due::Due;
use self::occupied::Occupied;
use self::slots::{Least, Slots};
use super::slab::{NOWHERE, Slab};
use super::{Events, Expires, Ticket};

/// The binary logarithm of a tick in nanoseconds: a tick is about a millisecond. Events of one tick
/// are sorted when it is reached.
const TICK: u32 = 20;
/// The binary logarithm of the slots of a level. A slot is as long as the whole level below.
const BITS: u32 = 8;
const WIDTH: usize = 1 << BITS;
/// The number of levels that reach to the end of time; the last one has few slots.
const LEVELS: usize = ((64 - TICK).div_ceil(BITS)) as usize;

/// The note about an event that is no longer in a slot, but about to fire.
const DUE: u32 = NOWHERE;

/// A hierarchical timing wheel (Varghese and Lauck, scheme 7), with cancellation, and exact: events
/// fire in the order of their deadlines, to the nanosecond.
///
/// Every operation takes constant time, amortised: an event moves down at most once per level, of
/// which a timeout below a minute passes mostly one, and the events of one tick are sorted. Empty
/// slots cost nothing, however long they last.
///
/// A heap beside it holds what is scheduled for a tick that was reached already: the past, the
/// present millisecond, and the time before many far events when the first one of them was
/// cancelled while nothing nearer was scheduled.
#[derive(Debug)]
pub struct TimingWheel<T = ()> {
    /// The events. Each note is the position in a slot, or `DUE`.
    slab: Slab<u32, T>,
    slots: Slots,
    /// The slots that are not empty.
    occupied: Occupied,
    /// The tick that was reached. Anything in a slot comes later, in the level of the highest digit
    /// in which its tick differs from this one.
    reached: u64,
    due: Due,
    next: Option<u64>,
    /// The last `now` that was given while nothing was scheduled.
    now: u64,
}

impl<T> Default for TimingWheel<T> {
    fn default() -> Self {
        TimingWheel {
            slab: Slab::default(),
            slots: Slots::new(LEVELS * WIDTH),
            occupied: Occupied::default(),
            reached: 0,
            due: Due::default(),
            next: None,
            now: 0,
        }
    }
}

impl<T> Expires<T> for TimingWheel<T> {
    fn next_deadline(&self) -> Option<Instant> {
        self.next.map(Instant::from_nanoseconds)
    }

    #[inline]
    fn expire(&mut self, now: Instant) -> Option<T> {
        let Some(next) = self.next else {
            self.now = now.nanoseconds();
            return None;
        };
        if next > now.nanoseconds() { None } else { self.fire() }
    }

    fn len(&self) -> usize {
        self.slab.len()
    }
}

impl<T> Events<T> for TimingWheel<T> {
    type Ticket = Ticket;

    fn schedule(&mut self, at: Instant, what: T) -> Ticket {
        let at = at.nanoseconds();
        match self.next {
            Some(next) => self.next = Some(next.min(at)),
            None => {
                // The wheel is empty, so it may stand anywhere, and best at the current time.
                self.reached = self.now.min(at) >> TICK;
                self.next = Some(at);
            }
        }
        let ticket = self.slab.insert(DUE, what);
        if at >> TICK <= self.reached {
            self.due.insert(at, ticket);
        } else {
            self.put(at, ticket.index);
        }
        ticket
    }

    fn cancel(&mut self, ticket: Ticket) -> Option<T> {
        let spot = *self.slab.note(ticket)?;
        let what = self.slab.remove(ticket.index);
        if spot == DUE {
            self.due.cancelled(|ticket| self.slab.note(ticket).is_some());
            self.find_next();
        } else {
            let (deadline, emptied) = self.slots.remove(spot);
            if let Some(slot) = emptied {
                self.occupied.clear(slot);
            }
            if Some(deadline) == self.next {
                self.find_next();
            }
        }
        what
    }
}

impl<T> TimingWheel<T> {
    /// Puts an event, whose tick is yet to come, into its slot.
    #[inline]
    fn put(&mut self, at: u64, place: u32) {
        let tick = at >> TICK;
        let level = (tick ^ self.reached).ilog2() / BITS;
        let slot = level as usize * WIDTH + (tick >> (level * BITS)) as usize % WIDTH;
        self.occupied.set(slot);
        *self.slab.at_mut(place) = self.slots.push(slot, at, place);
    }

    /// Advances the wheel to the beginning of its first slot, and moves the entries of that slot
    /// down. Entries stay in order. Anything scheduled from now on for the same deadlines goes to
    /// the same slots, and so comes after them.
    fn open(&mut self, slot: usize) {
        self.occupied.clear(slot);
        let (level, digit) = (slot / WIDTH, (slot % WIDTH) as u64);
        let shift = level as u32 * BITS;
        self.reached = (((self.reached >> shift) & !(WIDTH as u64 - 1)) | digit) << shift;
        while let Some(block) = self.slots.take(slot) {
            for (deadline, place) in block.entries() {
                if deadline >> TICK == self.reached {
                    *self.slab.at_mut(place) = DUE;
                    self.due.collect(deadline, self.slab.ticket(place));
                } else {
                    self.put(deadline, place);
                }
            }
        }
        self.due.sort();
    }

    /// Removes and returns the next event, which has to exist. It is apart from `expire`, which is
    /// called far more often than an event fires.
    #[inline(never)]
    fn fire(&mut self) -> Option<T> {
        let entry = loop {
            match self.due.pop() {
                Some(entry) => break entry,
                None => self.open(self.occupied.first()?),
            }
        };
        let what = self.slab.remove(entry.ticket.index);
        self.find_next();
        what
    }

    /// Determines the next event after the last one has fired or was cancelled.
    fn find_next(&mut self) {
        self.next = loop {
            if let Some(entry) = self.due.first(|ticket| self.slab.note(ticket).is_some()) {
                break Some(entry.deadline);
            }
            let Some(slot) = self.occupied.first() else { break None };
            match self.slots.least(slot) {
                Least::Is(deadline) => break Some(deadline),
                // The wheel runs ahead of time, because its lower levels are cheaper to search.
                Least::Unknown => self.open(slot),
            }
        };
    }
}
