//! The alternatives as a base takes them: all four can be asked to schedule, and the absent one cannot do it.

use stackwright_contract::Instant;

use super::{Absent, DeltaList, Events, Expires, Simple, Ticket, TimingWheel};
use crate::features::EventManager;

/// An alternative of the feature EventManager.
pub trait Alternative {
    /// The same as a value.
    const SELECTED: EventManager;
    /// Where the events of a base are.
    type Store<T>: Store<T>;
}

/// Where the events of a base are. It is written once for all selections: whether one has events at all, the base asks its
/// [`Needs`](crate::features::Needs) before.
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
}

impl<T> Store<T> for Absent<T> {
    fn try_schedule(&mut self, _at: Instant, _what: T) -> Option<Ticket> {
        None
    }

    fn try_cancel(&mut self, _ticket: Ticket) -> Option<T> {
        None
    }
}
