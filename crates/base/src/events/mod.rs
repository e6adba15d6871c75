//! Event managers: what shall happen, and when. All of them keep one contract, and the same script
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

/// What every alternative can be asked, the absent one too: so a base without event manager is
/// written like any other.
pub trait Expires<T>: Default {
    /// When the next event fires. In constant time, and exact.
    fn next_deadline(&self) -> Option<Instant>;

    /// Takes the next event whose deadline is not later than `now`; `None` where there is none (any
    /// more).
    fn expire(&mut self, now: Instant) -> Option<T>;

    /// How many events are scheduled.
    fn len(&self) -> usize;

    /// Whether none is.
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
    /// Names a scheduled event: it goes stale when the event fires or is cancelled, and is
    /// recognised then.
    type Ticket: Copy + Eq + core::fmt::Debug;

    /// `what` shall happen at `at`, which may have passed already.
    fn schedule(&mut self, at: Instant, what: T) -> Self::Ticket;

    /// It shall not happen. Gives what was scheduled; `None` where it has fired, or was cancelled
    /// before.
    fn cancel(&mut self, ticket: Self::Ticket) -> Option<T>;
}
