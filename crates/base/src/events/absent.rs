//! The absent alternative: for protocols that never wait.

use core::marker::PhantomData;

use stackwright_contract::Instant;

use super::Expires;

/// An event manager that schedules nothing. It costs nothing and nothing ever expires. It does not
/// implement [`Events`], so a protocol that schedules does not compile on it.
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
