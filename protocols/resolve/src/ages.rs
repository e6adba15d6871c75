//! What is given up first where a table is full.

use alloc::collections::BTreeSet;

use stackwright_contract::Handle;

/// How worthy something is to be kept: whether something was ever sent to it, and when it was used.
/// So a flood of strangers drives out itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Used {
    pub(crate) sent: bool,
    pub(crate) turn: u64,
}

/// The order in which names are given up. It is put right when one is, and not at each use: a name
/// stands where it was when that was last looked at.
#[derive(Default)]
pub(crate) struct Ages(BTreeSet<(Used, Handle)>);

impl Ages {
    /// Adds a name. `live` says which names are still there: of others, there are never more than
    /// `most`.
    pub(crate) fn insert(
        &mut self,
        used: Used,
        name: Handle,
        most: usize,
        live: impl Fn(Handle) -> bool,
    ) {
        if self.0.len() >= 2 * most {
            self.0.retain(|(_, name)| live(*name));
        }
        self.0.insert((used, name));
    }

    /// Takes out the name that was used least. `used` returns when a name was used last; `None` for
    /// one that cannot be given up.
    pub(crate) fn take(&mut self, used: impl Fn(Handle) -> Option<Used>) -> Option<Handle> {
        while let Some((noted, name)) = self.0.pop_first() {
            match used(name) {
                Some(now) if now != noted => drop(self.0.insert((now, name))),
                Some(_) => return Some(name),
                None => {}
            }
        }
        None
    }
}
