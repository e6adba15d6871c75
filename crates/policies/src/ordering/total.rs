//! In order, all of it.

use alloc::collections::BTreeMap;
use alloc::vec;
use core::ops::Range;

use stackwright_transport::component;
use stackwright_transport::slots::Ordering;
use stackwright_transport::words::Unit;
use stackwright_wire::Message;

/// What a unit that waits costs beside its octets, and the octets below which these are copied: the
/// block in which a packet arrived may be much longer.
const OVERHEAD: usize = 128;
const COPIED_BELOW: usize = 512;

/// Delivers all units in the order of their numbers: what comes early waits.
///
/// What waits is bounded by the flow slot, and where octets have numbers by twice its window, so
/// that units of an octet each cost no more; without one, by what the peer sends.
///
/// Choose it for streams, and for messages that mean nothing without those before them. One lost
/// packet stops all that follow for a round trip (head-of-line blocking).
///
/// ```
/// use stackwright_policies::ordering::Total;
/// use stackwright_wire::BufferTree;
/// let total = Total::<BufferTree>::new();
/// # let _ = total;
/// ```
#[derive(Debug)]
pub struct Total<M> {
    next: u64,
    early: BTreeMap<u64, Unit<M>>,
    held: usize,
}

impl<M> Total<M> {
    /// Creates the policy, before anything has arrived.
    pub const fn new() -> Self {
        Total { next: 0, early: BTreeMap::new(), held: 0 }
    }
}

impl<M> Default for Total<M> {
    fn default() -> Self {
        Total::new()
    }
}

impl<M: Message> Ordering<M> for Total<M> {
    #[inline]
    fn arrive(&mut self, mut unit: Unit<M>) -> Option<Unit<M>> {
        if unit.span.start == self.next {
            self.next = unit.span.end;
            return Some(unit);
        }
        if unit.body.len() < COPIED_BELOW {
            let mut octets = vec![0; unit.body.len()];
            unit.body.copy_to(&mut octets);
            unit.body = M::with_headroom(0, &octets);
        }
        self.held += unit.body.len() + OVERHEAD;
        self.early.insert(unit.span.start, unit);
        None
    }

    #[inline]
    fn takes_next(&mut self, span: &Range<u64>) -> bool {
        let is_next = self.early.is_empty() && span.start == self.next;
        if is_next {
            self.next = span.end;
        }
        is_next
    }

    #[inline]
    fn next(&mut self) -> Option<Unit<M>> {
        let first = self.early.first_entry()?;
        if *first.key() != self.next {
            return None;
        }
        let unit = first.remove();
        self.next = unit.span.end;
        self.held -= unit.body.len() + OVERHEAD;
        Some(unit)
    }

    #[inline]
    fn held(&self) -> usize {
        self.held
    }

    fn early(&self) -> usize {
        self.held - OVERHEAD * self.early.len()
    }

    fn begin(&mut self, first: u64) {
        self.next = first;
    }
}

component! {
    <M> Total<M>: "total ordering", "lets what comes early wait",
    needs: Property::REPEATS, gives: Property::TOTAL,
    // Both leave gaps for which everything would wait for ever.
    shuns: Property::EXPIRES.and(Property::FORGIVES),
}
