//! In order, and what is late is dropped.

use stackwright_transport::component;
use stackwright_transport::slots::Ordering;
use stackwright_transport::words::Unit;
use stackwright_wire::Message;

/// Delivers units as they arrive, in the order of their numbers: a gap is forgiven as soon as it
/// shows, and what comes late is a duplicate (XTP's NOERR).
///
/// Choose it where only the newest counts: positions, voice.
///
/// ```
/// use stackwright_policies::ordering::Sequenced;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(Sequenced::FACTS.gives.has(Property::FORGIVES));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequenced {
    /// No number below is waited for.
    next: u64,
}

impl<M: Message> Ordering<M> for Sequenced {
    #[inline]
    fn arrive(&mut self, unit: Unit<M>) -> Option<Unit<M>> {
        self.next = unit.span.end;
        Some(unit)
    }

    fn forgives(&self) -> Option<u64> {
        Some(self.next)
    }

    fn begin(&mut self, first: u64) {
        self.next = first;
    }
}

component! { Sequenced: "sequenced ordering", "drops what is late", gives: Property::FORGIVES }
