//! Chained hash, as in the x-Kernel: buckets, each of which begins a chain of bindings.

use alloc::vec;
use alloc::vec::Vec;

use super::hashing::{Hashing, Trusted};
use super::{Key, Map};

/// The end of a chain.
const END: u32 = u32::MAX;

/// One binding. All of them are in one vector without holes; a chain links them by place.
#[derive(Debug)]
pub(super) struct Node<K, V> {
    pub(super) key: K,
    pub(super) value: V,
    /// The hash, so that growing hashes no key again, and a chain compares no long key in vain.
    hash: u32,
    next: u32,
}

/// A map of chains through buckets.
///
/// By default it has as many buckets as bindings, within a factor of two, so that chains stay
/// short. With [`with_buckets`](Chained::with_buckets) the number is fixed, as in the x-Kernel, and
/// chains grow.
#[derive(Debug)]
pub struct Chained<K, V, H = Trusted> {
    /// The first place of each chain.
    heads: Vec<u32>,
    nodes: Vec<Node<K, V>>,
    grows: bool,
    hashing: H,
}

impl<K: Key, V, H: Hashing> Chained<K, V, H> {
    /// Creates an empty map with a fixed number of buckets, at least one. The thesis' map has 101.
    pub fn with_buckets(seed: u64, buckets: usize) -> Self {
        Chained { heads: vec![END; buckets.max(1)], grows: false, ..Self::new(seed) }
    }

    #[inline]
    fn hash(&self, key: &K) -> u32 {
        self.hashing.hash(key) as u32
    }

    /// Returns the bucket of a hash: the same fraction of all buckets as the hash is of 2^32. This
    /// takes no remainder, and works for any number of buckets.
    #[inline]
    fn bucket(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.heads.len() as u64) >> 32) as usize
    }

    /// Returns the binding at `place`, if there is such a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Option<&Node<K, V>> {
        self.nodes.get(place)
    }

    #[inline]
    pub(super) fn at_mut(&mut self, place: usize) -> Option<&mut Node<K, V>> {
        self.nodes.get_mut(place)
    }

    /// Applies `told` to the binding of `key` and its place.
    ///
    /// It is called inside the loop: applied to the loop's result, the same condition would be
    /// tested and branched on once more, and a processor has limited branch history to predict
    /// where a chain ends.
    #[inline]
    pub(super) fn find<'a, T>(
        &'a self,
        key: &K,
        told: impl FnOnce(usize, &'a Node<K, V>) -> T,
    ) -> Option<T> {
        self.find_hashed(key, self.hash(key), told)
    }

    #[inline]
    fn find_hashed<'a, T>(
        &'a self,
        key: &K,
        hash: u32,
        told: impl FnOnce(usize, &'a Node<K, V>) -> T,
    ) -> Option<T> {
        let mut place = *self.heads.get(self.bucket(hash))?;
        // No node is at END, which ends the loop.
        while let Some(node) = self.nodes.get(place as usize) {
            if node.hash == hash && node.key == *key {
                return Some(told(place as usize, node));
            }
            place = node.next;
        }
        None
    }

    /// Installs a binding; also returns its place.
    pub(super) fn put(&mut self, key: K, value: V) -> (usize, Option<V>) {
        let hash = self.hash(&key);
        if let Some(place) = self.find_hashed(&key, hash, |place, _| place) {
            return (place, Some(core::mem::replace(&mut self.nodes[place].value, value)));
        }
        if self.grows && self.nodes.len() == self.heads.len() {
            self.grow();
        }
        let place = self.nodes.len();
        self.nodes.push(Node { key, value, hash, next: END });
        self.link(place);
        (place, None)
    }

    /// Erases a binding; also returns its place, which the last binding has now.
    pub(super) fn take(&mut self, key: &K) -> Option<(usize, V)> {
        let (place, hash, next) = self.find(key, |place, node| (place, node.hash, node.next))?;
        *self.link_to(hash, place) = next;
        let last = self.nodes.len() - 1;
        if place != last {
            *self.link_to(self.nodes[last].hash, last) = place as u32;
        }
        Some((place, self.nodes.swap_remove(place).value))
    }

    /// Makes the node at `place`, which is in no chain, the first of its chain.
    fn link(&mut self, place: usize) {
        let bucket = self.bucket(self.nodes[place].hash);
        let name = u32::try_from(place).ok().filter(|name| *name != END);
        let name = name.expect("fewer than 2^32 bindings");
        self.nodes[place].next = core::mem::replace(&mut self.heads[bucket], name);
    }

    /// Returns the link to the node at `place`, of this hash: in a bucket, or in another node.
    fn link_to(&mut self, hash: u32, place: usize) -> &mut u32 {
        let bucket = self.bucket(hash);
        let mut before = None;
        let mut at = self.heads[bucket] as usize;
        while at != place {
            before = Some(at);
            at = self.nodes[at].next as usize;
        }
        match before {
            Some(node) => &mut self.nodes[node].next,
            None => &mut self.heads[bucket],
        }
    }

    fn grow(&mut self) {
        let buckets = (2 * self.heads.len()).max(8);
        self.heads.clear();
        self.heads.resize(buckets, END);
        for place in 0..self.nodes.len() {
            self.link(place);
        }
    }
}

impl<K: Key, V, H: Hashing> Map<K, V> for Chained<K, V, H> {
    fn new(seed: u64) -> Self {
        Chained { heads: Vec::new(), nodes: Vec::new(), grows: true, hashing: H::new(seed) }
    }

    fn install(&mut self, key: K, value: V) -> Option<V> {
        self.put(key, value).1
    }

    fn erase(&mut self, key: &K) -> Option<V> {
        self.take(key).map(|(_, value)| value)
    }

    #[inline]
    fn lookup(&self, key: &K) -> Option<&V> {
        self.find(key, |_, node| &node.value)
    }

    #[inline]
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.find(key, |place, _| place)?;
        self.at_mut(place).map(|node| &mut node.value)
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.nodes.iter().map(|node| (&node.key, &node.value))
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }
}
