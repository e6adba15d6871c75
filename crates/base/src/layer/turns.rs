//! Which association has its turn next.

use alloc::collections::VecDeque;

use stackwright_contract::Handle;

use super::Hooks;

/// Associations in the order of their turns: the most urgent first, and those that are as urgent in
/// the order in which they came.
#[derive(Default)]
pub(super) struct Turns(VecDeque<(u8, Handle)>);

impl Turns {
    /// Adds an association.
    #[inline]
    pub(super) fn push<H: Hooks>(&mut self, name: Handle, association: &H::Association) {
        if !H::SORTS {
            return self.0.push_back((0, name));
        }
        let urgency = H::urgency(association);
        let place = self.0.partition_point(|(other, _)| *other <= urgency);
        self.0.insert(place, (urgency, name));
    }

    /// Takes the association whose turn it is.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Handle> {
        self.0.pop_front().map(|(_, name)| name)
    }

    /// Takes an association out.
    pub(super) fn remove(&mut self, name: Handle) {
        self.0.retain(|(_, other)| *other != name);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
