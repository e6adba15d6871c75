//! The alternatives as a base uses them: all four have the operation to schedule, which fails on
//! the absent one.

use alloc::vec::Vec;

use stackwright_contract::Instant;

use super::{Absent, DeltaList, Events, Expires, Simple, Ticket, TimingWheel};
use crate::features::EventManager;

/// An alternative of the feature EventManager.
pub trait Alternative {
    /// The same alternative as a value.
    const SELECTED: EventManager;
    /// The store of a base's events.
    type Store<T>: Store<T>;
    /// The timers that an association keeps.
    type Pending<K: Copy + PartialEq>: Pending<K>;
}

/// The timers of one association: at most one of each kind.
pub trait Pending<K>: Default {
    /// Records that a timer of this kind, which was not set, is set now.
    fn set(&mut self, kind: K, ticket: Ticket);
    /// Records that the timer of this kind is no longer set, and returns its ticket.
    fn take(&mut self, kind: K) -> Option<Ticket>;
    /// Removes any timer that is set, and returns its ticket.
    fn take_any(&mut self) -> Option<Ticket>;
}

/// The timers of an association, at most one of each kind. A short list is searched faster than a
/// table. An association's only timer allocates no memory.
pub struct Few<K>(Timers<K>);

enum Timers<K> {
    One(Option<(K, Ticket)>),
    /// Several timers were set at once before, and may be again.
    Several(Vec<(K, Ticket)>),
}

impl<K> Default for Few<K> {
    fn default() -> Self {
        Few(Timers::One(None))
    }
}

impl<K: PartialEq> Pending<K> for Few<K> {
    fn set(&mut self, kind: K, ticket: Ticket) {
        match &mut self.0 {
            Timers::One(one) => match one.take() {
                None => *one = Some((kind, ticket)),
                Some(other) => self.0 = Timers::Several(Vec::from([other, (kind, ticket)])),
            },
            Timers::Several(several) => several.push((kind, ticket)),
        }
    }

    fn take(&mut self, kind: K) -> Option<Ticket> {
        match &mut self.0 {
            Timers::One(one) => Some(one.take_if(|(set, _)| *set == kind)?.1),
            Timers::Several(several) => {
                let place = several.iter().position(|(set, _)| *set == kind)?;
                Some(several.swap_remove(place).1)
            }
        }
    }

    fn take_any(&mut self) -> Option<Ticket> {
        match &mut self.0 {
            Timers::One(one) => one.take(),
            Timers::Several(several) => several.pop(),
        }
        .map(|(_, ticket)| ticket)
    }
}

/// The timers without an event manager: none is ever set, and none takes memory.
#[derive(Default)]
pub struct Never;

impl<K> Pending<K> for Never {
    fn set(&mut self, _kind: K, _ticket: Ticket) {}

    fn take(&mut self, _kind: K) -> Option<Ticket> {
        None
    }

    fn take_any(&mut self) -> Option<Ticket> {
        None
    }
}

/// The store of a base's events. It is written once for all selections; the base checks its
/// [`Needs`](crate::features::Needs) before it schedules.
pub trait Store<T>: Expires<T> {
    /// See [`Events::schedule`]; `None` where nothing can be scheduled.
    fn try_schedule(&mut self, at: Instant, what: T) -> Option<Ticket>;
    /// See [`Events::cancel`].
    fn try_cancel(&mut self, ticket: Ticket) -> Option<T>;
}

macro_rules! alternatives {
    ($($alternative:ident)*) => { $(
        impl Alternative for $alternative {
            const SELECTED: EventManager = EventManager::$alternative;
            type Store<T> = $alternative<T>;
            type Pending<K: Copy + PartialEq> = Few<K>;
        }

        impl<T> Store<T> for $alternative<T> {
            #[inline]
            fn try_schedule(&mut self, at: Instant, what: T) -> Option<Ticket> {
                Some(self.schedule(at, what))
            }

            #[inline]
            fn try_cancel(&mut self, ticket: Ticket) -> Option<T> {
                self.cancel(ticket)
            }
        }
    )* };
}

alternatives! { Simple DeltaList TimingWheel }

impl Alternative for Absent {
    const SELECTED: EventManager = EventManager::Absent;
    type Store<T> = Absent<T>;
    type Pending<K: Copy + PartialEq> = Never;
}

impl<T> Store<T> for Absent<T> {
    fn try_schedule(&mut self, _at: Instant, _what: T) -> Option<Ticket> {
        None
    }

    fn try_cancel(&mut self, _ticket: Ticket) -> Option<T> {
        None
    }
}
