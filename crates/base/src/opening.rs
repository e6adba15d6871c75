//! The feature Opening: whether this side opens associations, and whether peers do.
//!
//! A passive opening creates an *enable object* (thesis §4.1.2): identical listeners are counted,
//! and closing the last one removes it.

use crate::features;
use crate::map::{ChainedHash, Key, Keyed, Map, MapKind};

/// An alternative of the feature.
pub trait Alternative {
    /// The same alternative as a value.
    const SELECTED: features::Opening;
    /// The store of the enable objects.
    type Enabled<K: Key, E>: Enabled<K, E>;
}

/// Enable objects by their passive key.
pub trait Enabled<K, E> {
    /// Creates an empty store; see [`Map::new`] for the seed.
    fn new(seed: u64) -> Self;
    /// Returns the enable object of `key`, which counts one more; `fresh` creates it. `None` if
    /// nothing arrives.
    fn enable(&mut self, key: K, fresh: impl FnOnce() -> E) -> Option<&mut E>;
    /// Counts one less on the enable object; returns it if that was the last one.
    fn disable(&mut self, key: &K) -> Option<E>;
    /// Removes the enable object, however many count on it.
    fn disable_all(&mut self, key: &K) -> Option<E>;
    /// Returns the enable object of `key`.
    fn get_mut(&mut self, key: &K) -> Option<&mut E>;
}

/// Nothing is opened, nothing arrives: only the interface exists.
pub struct Absent;

impl Alternative for Absent {
    const SELECTED: features::Opening = features::Opening::Absent;
    type Enabled<K: Key, E> = Nobody;
}

/// Associations are opened by this side.
pub struct Active;

impl Alternative for Active {
    const SELECTED: features::Opening = features::Opening::Active;
    type Enabled<K: Key, E> = Nobody;
}

/// Associations are opened by this side, and by peers.
pub struct ActivePassive;

impl Alternative for ActivePassive {
    const SELECTED: features::Opening = features::Opening::ActivePassive;
    // A peer chooses the key with which it asks: the hash is a keyed one.
    type Enabled<K: Key, E> = PassiveMap<<ChainedHash<Keyed> as MapKind>::Of<K, (E, usize)>>;
}

/// The store where there is never a listener.
pub struct Nobody;

impl<K, E> Enabled<K, E> for Nobody {
    fn new(_seed: u64) -> Self {
        Nobody
    }
    fn enable(&mut self, _key: K, _fresh: impl FnOnce() -> E) -> Option<&mut E> {
        None
    }
    fn disable(&mut self, _key: &K) -> Option<E> {
        None
    }
    fn disable_all(&mut self, _key: &K) -> Option<E> {
        None
    }
    fn get_mut(&mut self, _key: &K) -> Option<&mut E> {
        None
    }
}

/// The enable objects, each with its count.
pub struct PassiveMap<M>(M);

impl<M: Map<K, (E, usize)>, K: Key, E> Enabled<K, E> for PassiveMap<M> {
    fn new(seed: u64) -> Self {
        PassiveMap(M::new(seed))
    }

    fn enable(&mut self, key: K, fresh: impl FnOnce() -> E) -> Option<&mut E> {
        if self.0.lookup(&key).is_none() {
            self.0.install(key.clone(), (fresh(), 0));
        }
        let (enabled, count) = self.0.lookup_mut(&key)?;
        *count += 1;
        Some(enabled)
    }

    fn disable(&mut self, key: &K) -> Option<E> {
        let (_, count) = self.0.lookup_mut(key)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        self.disable_all(key)
    }

    fn disable_all(&mut self, key: &K) -> Option<E> {
        self.0.erase(key).map(|(enabled, _)| enabled)
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut E> {
        self.0.lookup_mut(key).map(|(enabled, _)| enabled)
    }
}
