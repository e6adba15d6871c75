//! Event managers: events and their deadlines. All of them keep one contract, and the same script
//! gives the same firings.
//!
//! | alternative | schedule | cancel, expire | suits |
//! | --- | --- | --- | --- |
//! | [`Absent`] | – | – | protocols that never wait |
//! | [`Simple`] | as long as there are later events | constant | a few, the new one mostly last |
//! | [`DeltaList`] | as long as there are earlier events | constant | a few, the new one mostly first |
//! | [`TimingWheel`] | constant | constant, amortised | any number |

mod absent;
mod alternative;
mod delta_list;
mod list;
mod simple;
mod slab;
mod timing_wheel;

use stackwright_contract::Instant;

pub use absent::Absent;
pub use alternative::{Alternative, Few, Never, Pending, Store};
pub use delta_list::DeltaList;
pub use simple::Simple;
pub use slab::Ticket;
pub use timing_wheel::TimingWheel;

/// The operations of every alternative, the absent one included: a base without an event manager is
/// written like any other.
pub trait Expires<T>: Default {
    /// Returns when the next event fires: in constant time, and exact.
    fn next_deadline(&self) -> Option<Instant>;

    /// Removes and returns the next event whose deadline is not later than `now`, if there is one.
    fn expire(&mut self, now: Instant) -> Option<T>;

    /// Returns the number of scheduled events.
    fn len(&self) -> usize;

    /// Returns whether no event is scheduled.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An event manager's operations.
///
/// Events fire in the order of their deadlines, those of one deadline in the order in which they
/// were scheduled.
#[diagnostic::on_unimplemented(
    message = "the base has no event manager: select `events: Simple`, `DeltaList` or `TimingWheel`",
    label = "nothing can be scheduled here"
)]
pub trait Events<T>: Expires<T> {
    /// The name of a scheduled event. It goes stale when the event fires or is cancelled, and is
    /// then recognised as stale.
    type Ticket: Copy + Eq + core::fmt::Debug;

    /// Schedules `what` at `at`, which may have passed already.
    fn schedule(&mut self, at: Instant, what: T) -> Self::Ticket;

    /// Cancels an event and returns it; `None` if it has fired or was cancelled before.
    fn cancel(&mut self, ticket: Self::Ticket) -> Option<T>;
}
