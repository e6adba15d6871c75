//! Units are delivered as they arrive.

use stackwright_transport::component;
use stackwright_transport::slots::Ordering;
use stackwright_transport::words::Unit;
use stackwright_wire::Message;

/// Delivers every unit as it arrives: nothing waits for what is late.
///
/// ```
/// use stackwright_policies::ordering::Absent;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Absent::FACTS.gives.has(Property::TOTAL));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl<M: Message> Ordering<M> for Absent {
    #[inline]
    fn arrive(&mut self, unit: Unit<M>) -> Option<Unit<M>> {
        Some(unit)
    }

    #[inline]
    fn passes(&self) -> bool {
        true
    }
}

component! { Absent: "ordering absent", "delivers everything as it arrives" }
