//! Event managers: what shall happen, and when. All of them keep one contract, and the same script gives the same firings.

use stackwright_contract::Instant;

/// An event manager's operations.
///
/// Events fire in the order of their deadlines, those of one deadline in the order in which they were scheduled.
pub trait Events<T>: Default {
    /// Names a scheduled event: it goes stale when the event fires or is cancelled, and is recognised then.
    type Ticket: Copy + Eq + core::fmt::Debug;

    /// `what` shall happen at `at`, which may have passed already.
    fn schedule(&mut self, at: Instant, what: T) -> Self::Ticket;

    /// It shall not happen. Gives what was scheduled; `None` where it has fired, or was cancelled before.
    fn cancel(&mut self, ticket: Self::Ticket) -> Option<T>;

    /// When the next event fires. In constant time, and exact.
    fn next_deadline(&self) -> Option<Instant>;

    /// Takes the next event whose deadline is not later than `now`; `None` where there is none (any more).
    fn expire(&mut self, now: Instant) -> Option<T>;

    /// How many events are scheduled.
    fn len(&self) -> usize;

    /// Whether none is.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An alternative of the feature EventManager that can schedule: the kind, before it is known what happens.
pub trait Kind {
    /// The event manager of this kind.
    type Of<T>: Events<T>;
}
