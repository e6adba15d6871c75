//! Chained hash with a cache of one entry: PIX's map (thesis §4.2).

use super::chained::Chained;
use super::hashing::{Hashing, Trusted};
use super::recent::Recent;
use super::{Key, Map};

/// A [`Chained`] map that looks first at the binding which was installed or found last.
///
/// Messages come in runs: the next is most often for the same association. That key is then compared once and not hashed.
#[derive(Debug)]
pub struct Cached<K, V, H = Trusted> {
    map: Chained<K, V, H>,
    recent: Recent,
}

impl<K: Key, V, H: Hashing> Cached<K, V, H> {
    /// An empty map that always has so many buckets, and at least one. The thesis' map has 101.
    pub fn with_buckets(seed: u64, buckets: usize) -> Self {
        Cached { map: Chained::with_buckets(seed, buckets), recent: Recent::new() }
    }

    #[inline]
    fn find(&self, key: &K) -> Option<&V> {
        if self.recent.awake() {
            if let Some(node) = self.map.at(self.recent.place())
                && node.key == *key
            {
                self.recent.hit();
                return Some(&node.value);
            }
            return self.find_awake(key);
        }
        let (place, node) = self.map.find(key)?;
        self.recent.dreamt(place);
        Some(&node.value)
    }

    /// The long way, of the few misses before the cache sleeps. It gives what its caller gives, who need not come back to.
    #[cold]
    #[inline(never)]
    fn find_awake(&self, key: &K) -> Option<&V> {
        let Some((place, node)) = self.map.find(key) else {
            self.recent.absent();
            return None;
        };
        self.recent.missed(place);
        Some(&node.value)
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
        self.find(key)
    }

    #[inline]
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V> {
        self.find(key)?;
        self.map.at_mut(self.recent.place()).map(|node| &mut node.value)
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
