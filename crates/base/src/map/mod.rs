//! Maps from keys to what they stand for: the x-Kernel's and PIX's map managers, and ours.

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

/// What a map is asked with. Octets of a header are one, and so is a name.
pub trait Key: Clone + Eq + Hash {}

impl<K: Clone + Eq + Hash> Key for K {}

/// A map's operations, with PIX's names (thesis §4.2).
pub trait Map<K: Key, V> {
    /// An empty map. What its hash depends on, where it is a keyed one, follows from `seed`.
    fn new(seed: u64) -> Self;

    /// Binds `key` to `value`; gives what it was bound to before, which is suppressed.
    fn install(&mut self, key: K, value: V) -> Option<V>;

    /// Takes the binding of `key` away.
    fn erase(&mut self, key: &K) -> Option<V>;

    /// What `key` is bound to.
    fn lookup(&self, key: &K) -> Option<&V>;

    /// What `key` is bound to, to be changed.
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V>;

    /// What `key` is bound to, as a value: all that a demultiplexer wants.
    fn resolve(&self, key: &K) -> Option<V>
    where
        V: Copy,
    {
        self.lookup(key).copied()
    }

    /// All bindings, in no order that means anything.
    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a;

    /// How many bindings there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An alternative of the feature Map: the kind, before it is known what is mapped.
///
/// Each takes the hashing as a parameter. It is a [`Keyed`] one unless it is said that nobody else
/// chooses the keys.
pub trait MapKind {
    /// The same as a value.
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
