//! The memory of events, and the recognition of stale tickets: written once for every alternative.

use alloc::vec::Vec;

/// The index of no place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The name of a scheduled event. It goes stale when the event fires or is cancelled, and is then
/// recognised as stale.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ticket {
    /// The place of the event.
    pub(super) index: u32,
    /// The number of events that had this place before.
    pub(super) generation: u32,
}

/// A place for one event.
#[derive(Debug)]
struct Place<N, T> {
    /// The number of events that had this place before.
    generation: u32,
    /// The event manager's note about the event; without meaning where there is none.
    note: N,
    /// The event; `None` where the place is free.
    what: Option<T>,
}

/// Events, each with a note of its manager. Places are reused, so that nothing is allocated in the
/// steady state.
#[derive(Debug)]
pub(super) struct Slab<N, T> {
    places: Vec<Place<N, T>>,
    free: Vec<u32>,
}

impl<N, T> Default for Slab<N, T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<N, T> Slab<N, T> {
    /// Stores `what`, and returns its ticket.
    pub(super) fn insert(&mut self, note: N, what: T) -> Ticket {
        if let Some(index) = self.free.pop() {
            let place = &mut self.places[index as usize];
            place.note = note;
            place.what = Some(what);
            return Ticket { index, generation: place.generation };
        }
        assert!(
            self.places.len() < NOWHERE as usize,
            "fewer than 2^32 - 1 events are scheduled at once"
        );
        let index = self.places.len() as u32;
        self.places.push(Place { generation: 0, note, what: Some(what) });
        Ticket { index, generation: 0 }
    }

    /// Returns the note about the event of this ticket; `None` if the ticket is stale.
    pub(super) fn note(&self, ticket: Ticket) -> Option<&N> {
        let place = self.places.get(ticket.index as usize)?;
        (place.generation == ticket.generation && place.what.is_some()).then_some(&place.note)
    }

    /// Returns the note about the event at `index`, which has to exist.
    pub(super) fn at(&self, index: u32) -> &N {
        &self.places[index as usize].note
    }

    /// Returns the note about the event at `index`, to be changed.
    pub(super) fn at_mut(&mut self, index: u32) -> &mut N {
        &mut self.places[index as usize].note
    }

    /// Returns the ticket of the event at `index`, which has to exist.
    pub(super) fn ticket(&self, index: u32) -> Ticket {
        Ticket { index, generation: self.places[index as usize].generation }
    }

    /// Removes and returns the event at `index`; its ticket is stale from now on.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let place = &mut self.places[index as usize];
        let what = place.what.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index);
        Some(what)
    }

    /// Returns the number of events.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
