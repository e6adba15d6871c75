//! Maps from keys to values: the x-Kernel's and PIX's map managers, and ours.

mod cached;
mod chained;
mod hashing;
mod open;
mod recent;

use core::hash::Hash;
use core::marker::PhantomData;

use crate::features;

pub use cached::Cached;
pub use chained::Chained;
pub use hashing::{Hashing, Keyed, Trusted};
pub use open::Open;

/// A key of a map: octets of a header, or a name.
pub trait Key: Clone + Eq + Hash {}

impl<K: Clone + Eq + Hash> Key for K {}

/// A map's operations, with PIX's names (thesis §4.2).
pub trait Map<K: Key, V> {
    /// Creates an empty map. The key of its hash, if it is a keyed one, is derived from `seed`.
    fn new(seed: u64) -> Self;

    /// Binds `key` to `value`; returns the value that it was bound to before.
    fn install(&mut self, key: K, value: V) -> Option<V>;

    /// Removes the binding of `key`.
    fn erase(&mut self, key: &K) -> Option<V>;

    /// Returns the value that `key` is bound to.
    fn lookup(&self, key: &K) -> Option<&V>;

    /// Returns the value that `key` is bound to, to be changed.
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V>;

    /// Returns a copy of the value that `key` is bound to: all that a demultiplexer needs.
    fn resolve(&self, key: &K) -> Option<V>
    where
        V: Copy,
    {
        self.lookup(key).copied()
    }

    /// Returns all bindings, in unspecified order.
    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a;

    /// Returns the number of bindings.
    fn len(&self) -> usize;

    /// Returns whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An alternative of the feature Map: the kind of a map, for any key and value.
///
/// Each takes the hashing as a parameter. It is a [`Keyed`] one unless only this side or trusted
/// peers choose the keys.
pub trait MapKind {
    /// The same alternative as a value.
    const SELECTED: features::Map;
    /// The map of this kind.
    type Of<K: Key, V>: Map<K, V>;
}

/// Chained hash, as in the x-Kernel: [`Chained`].
#[derive(Clone, Copy, Default, Debug)]
pub struct ChainedHash<H = Keyed>(PhantomData<H>);

impl<H: Hashing> MapKind for ChainedHash<H> {
    const SELECTED: features::Map = features::Map::ChainedHash;
    type Of<K: Key, V> = Chained<K, V, H>;
}

/// Chained hash with a cache of one entry, as in PIX: [`Cached`].
#[derive(Clone, Copy, Default, Debug)]
pub struct ChainedHashCached<H = Keyed>(PhantomData<H>);

impl<H: Hashing> MapKind for ChainedHashCached<H> {
    const SELECTED: features::Map = features::Map::ChainedHashCached;
    type Of<K: Key, V> = Cached<K, V, H>;
}

/// Open addressing with the same cache, which is ours: [`Open`].
#[derive(Clone, Copy, Default, Debug)]
pub struct OpenAddressing<H = Keyed>(PhantomData<H>);

impl<H: Hashing> MapKind for OpenAddressing<H> {
    const SELECTED: features::Map = features::Map::OpenAddressing;
    type Of<K: Key, V> = Open<K, V, H>;
}
