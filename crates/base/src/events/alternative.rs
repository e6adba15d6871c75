//! The alternatives as a base takes them: all four can be asked to schedule, and the absent one
//! cannot do it.

use alloc::vec::Vec;

use stackwright_contract::Instant;

use super::{Absent, DeltaList, Events, Expires, Simple, Ticket, TimingWheel};
use crate::features::EventManager;

/// An alternative of the feature EventManager.
pub trait Alternative {
    /// The same as a value.
    const SELECTED: EventManager;
    /// Where the events of a base are.
    type Store<T>: Store<T>;
    /// What an association keeps of its timers.
    type Pending<K: Copy + PartialEq>: Pending<K>;
}

/// The timers of one association: at most one of each kind.
pub trait Pending<K>: Default {
    /// A timer of this kind is set, and none was.
    fn set(&mut self, kind: K, ticket: Ticket);
    /// The timer of this kind is not set any more.
    fn take(&mut self, kind: K) -> Option<Ticket>;
    /// None is.
    fn take_any(&mut self) -> Option<Ticket>;
}

/// As few as there are kinds: a list is searched sooner than a table. The only one of an
/// association asks for no memory.
pub struct Few<K>(Timers<K>);

enum Timers<K> {
    One(Option<(K, Ticket)>),
    /// There were several at once before, and may be again.
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

/// Without event manager no timer is ever set, and none takes room.
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

/// Where the events of a base are. It is written once for all selections: whether one has events at
/// all, the base asks its [`Needs`](crate::features::Needs) before.
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
