//! The absent alternative: for protocols that never wait for anything.

use core::marker::PhantomData;

use stackwright_contract::Instant;

use super::Expires;

/// No event manager. It costs nothing, nothing ever expires, and nothing can be scheduled: it is
/// not [`Events`], so that a protocol which wants to is told when it is compiled.
///
/// [`Events`]: super::Events
#[derive(Debug)]
pub struct Absent<T = ()>(PhantomData<fn() -> T>);

impl<T> Default for Absent<T> {
    fn default() -> Self {
        Absent(PhantomData)
    }
}

impl<T> Expires<T> for Absent<T> {
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn expire(&mut self, _: Instant) -> Option<T> {
        None
    }

    fn len(&self) -> usize {
        0
    }
}
