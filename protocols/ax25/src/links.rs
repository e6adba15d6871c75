//! The links of a station.

use alloc::vec::Vec;

use stackwright_contract::{Handle, Names};

use crate::link::{Key, Link};

/// The links of a station, in the order in which they were opened. There are so few that one is
/// found by looking at each: on the air a hundred frames take minutes.
pub(crate) struct Links<M> {
    names: Names<Link<M>>,
    order: Vec<Handle>,
}

impl<M> Default for Links<M> {
    fn default() -> Self {
        Links { names: Names::new(), order: Vec::new() }
    }
}

impl<M> Links<M> {
    pub(crate) fn name(&mut self, link: Link<M>) -> Handle {
        let name = self.names.name(link);
        self.order.push(name);
        name
    }

    pub(crate) fn get(&self, name: Handle) -> Option<&Link<M>> {
        self.names.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: Handle) -> Option<&mut Link<M>> {
        self.names.get_mut(name)
    }

    pub(crate) fn forget(&mut self, name: Handle) {
        self.names.forget(name);
        self.order.retain(|other| *other != name);
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the name of the link at this place, for walks during which links may end.
    pub(crate) fn at(&self, place: usize) -> Option<Handle> {
        self.order.get(place).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Handle, &Link<M>)> {
        self.names.iter()
    }

    /// Calls `each` with every link.
    pub(crate) fn for_each(&mut self, mut each: impl FnMut(&mut Link<M>)) {
        for name in &self.order {
            if let Some(link) = self.names.get_mut(*name) {
                each(link);
            }
        }
    }
}

impl<M: stackwright_wire::Message> Links<M> {
    /// Returns the link with these addresses. One that is over, and waits for credit above, is
    /// none.
    pub(crate) fn find(&self, key: Key) -> Option<Handle> {
        let is = |link: &Link<M>| link.key == key && !link.is_disconnected();
        self.iter().find(|(_, link)| is(link)).map(|(name, _)| name)
    }
}
