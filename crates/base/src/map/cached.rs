//! Chained hash with a cache of one entry: PIX's map (thesis §4.2).

use super::chained::{Chained, Node};
use super::hashing::{Hashing, Trusted};
use super::recent::Recent;
use super::{Key, Map};

/// A [`Chained`] map that first checks the binding that was installed or found last.
///
/// Messages come in bursts: the next is most often for the same association. Its key is then
/// compared once and not hashed.
#[derive(Debug)]
pub struct Cached<K, V, H = Trusted> {
    map: Chained<K, V, H>,
    recent: Recent,
}

impl<K: Key, V, H: Hashing> Cached<K, V, H> {
    /// Creates an empty map with a fixed number of buckets, at least one. The thesis' map has 101.
    pub fn with_buckets(seed: u64, buckets: usize) -> Self {
        Cached { map: Chained::with_buckets(seed, buckets), recent: Recent::new() }
    }

    /// Applies `told` to the binding of `key` and its place.
    #[inline]
    fn find<'a, T>(&'a self, key: &K, told: impl FnOnce(usize, &'a Node<K, V>) -> T) -> Option<T> {
        if self.recent.awake() {
            let place = self.recent.place();
            if let Some(node) = self.map.at(place)
                && node.key == *key
            {
                self.recent.hit();
                return Some(told(place, node));
            }
            return self.find_awake(key, told);
        }
        self.map.find(key, told)
    }

    /// The slow path, for the few misses while the cache is awake.
    #[cold]
    #[inline(never)]
    fn find_awake<'a, T>(
        &'a self,
        key: &K,
        told: impl FnOnce(usize, &'a Node<K, V>) -> T,
    ) -> Option<T> {
        let found = self.map.find(key, |place, node| (place, node));
        match found {
            Some((place, _)) => self.recent.missed(place),
            None => self.recent.absent(),
        }
        found.map(|(place, node)| told(place, node))
    }
}

/// Returns the map without its cache: it finds the same bindings, and neither uses nor updates the
/// cache.
impl<K, V, H> AsRef<Chained<K, V, H>> for Cached<K, V, H> {
    fn as_ref(&self) -> &Chained<K, V, H> {
        &self.map
    }
}

impl<K: Key, V, H: Hashing> Map<K, V> for Cached<K, V, H> {
    fn new(seed: u64) -> Self {
        Cached { map: Chained::new(seed), recent: Recent::new() }
    }

    fn install(&mut self, key: K, value: V) -> Option<V> {
        let (place, before) = self.map.put(key, value);
        self.recent.set(place);
        before
    }

    fn erase(&mut self, key: &K) -> Option<V> {
        let (place, value) = self.map.take(key)?;
        // The last binding is now where the erased one was.
        self.recent.moved(self.map.len(), place);
        Some(value)
    }

    #[inline]
    fn lookup(&self, key: &K) -> Option<&V> {
        self.find(key, |_, node| &node.value)
    }

    #[inline]
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.find(key, |place, _| place)?;
        self.map.at_mut(place).map(|node| &mut node.value)
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.map.iter()
    }

    fn len(&self) -> usize {
        self.map.len()
    }
}
