//! Open addressing: bindings in one table, each as near as possible to the slot of its hash.

use alloc::vec::Vec;

use super::hashing::{Hashing, Trusted};
use super::recent::Recent;
use super::{Key, Map};

/// Our map: open addressing by linear probing, with the cache of [`Cached`](super::Cached).
///
/// A lookup goes to one slot, compares the key there, and is done. To make further steps, which no
/// processor predicts, rare, most of the table is empty: fifteen of sixteen slots of a small one,
/// five of eight of a large one. An erased binding leaves no tombstone: bindings that it had
/// displaced move up.
#[derive(Debug)]
pub struct Open<K, V, H = Trusted> {
    /// The slots: none, or a power of two.
    slots: Vec<Option<(K, V)>>,
    bindings: usize,
    recent: Recent,
    hashing: H,
}

/// The number of slots of the largest table that is kept almost empty, for speed alone: a binding
/// takes some hundreds of octets in it. Where memory is scarce, [`Cached`](super::Cached) is the
/// map to use.
const SMALL: usize = 1 << 14;
/// The number of slots of the first table.
const LEAST: usize = 1 << 5;

/// Returns how many bindings a table of `slots` slots takes.
const fn room(slots: usize) -> usize {
    if slots <= SMALL { slots / 16 } else { slots / 8 * 3 }
}

impl<K: Key, V, H: Hashing> Open<K, V, H> {
    /// Returns the slot of a hash; any number if there are no slots. A slot's number after adding
    /// or subtracting is reduced to a slot in the same manner.
    #[inline]
    fn slot(&self, hash: usize) -> usize {
        hash & self.slots.len().wrapping_sub(1)
    }

    #[inline]
    fn hash(&self, key: &K) -> usize {
        self.hashing.hash(key) as usize
    }

    /// Returns the binding of `key` and its place. This is the fast path, and all that is copied
    /// into callers: the first slot decides.
    #[inline]
    fn find(&self, key: &K) -> Option<(usize, &(K, V))> {
        let place = self.slot(self.hash(key));
        let binding = self.slots.get(place)?.as_ref()?;
        if binding.0 == *key { Some((place, binding)) } else { self.find_beyond(key, place) }
    }

    /// Continues the lookup on the slow path: `place` has another key's binding.
    #[cold]
    #[inline(never)]
    fn find_beyond(&self, key: &K, mut place: usize) -> Option<(usize, &(K, V))> {
        // There is always an empty slot.
        loop {
            place = self.slot(place + 1);
            let binding = self.slots[place].as_ref()?;
            if binding.0 == *key {
                return Some((place, binding));
            }
        }
    }

    /// Looks first where the last binding was found.
    #[inline]
    fn find_recent(&self, key: &K) -> Option<(usize, &(K, V))> {
        if self.recent.awake() {
            let place = self.recent.place();
            if let Some(Some(binding)) = self.slots.get(place)
                && binding.0 == *key
            {
                self.recent.hit();
                return Some((place, binding));
            }
            return self.find_awake(key);
        }
        self.find(key)
    }

    /// The slow path, for the few misses while the cache is awake.
    #[cold]
    #[inline(never)]
    fn find_awake(&self, key: &K) -> Option<(usize, &(K, V))> {
        let found = self.find(key);
        match found {
            Some((place, _)) => self.recent.missed(place),
            None => self.recent.absent(),
        }
        found
    }

    /// Puts a new binding into the first empty slot; returns its place.
    fn put(&mut self, binding: (K, V)) -> usize {
        let mut place = self.slot(self.hash(&binding.0));
        while self.slots[place].is_some() {
            place = self.slot(place + 1);
        }
        self.slots[place] = Some(binding);
        place
    }

    fn grow(&mut self) {
        let slots = (2 * self.slots.len()).max(LEAST);
        let empty = core::iter::repeat_with(|| None).take(slots).collect();
        let before = core::mem::replace(&mut self.slots, empty);
        for binding in before.into_iter().flatten() {
            self.put(binding);
        }
    }

    /// Moves up the bindings that the one at `hole` had displaced from nearer slots.
    fn close(&mut self, mut hole: usize) {
        let mut place = self.slot(hole + 1);
        while let Some((key, _)) = &self.slots[place] {
            let wanted = self.slot(self.hash(key));
            // The distances from its preferred slot, and from the hole: it must not move beyond the
            // former.
            let away = self.slot(place.wrapping_sub(wanted));
            if away >= self.slot(place.wrapping_sub(hole)) {
                self.slots.swap(hole, place);
                self.recent.moved(place, hole);
                hole = place;
            }
            place = self.slot(place + 1);
        }
    }
}

impl<K: Key, V, H: Hashing> Map<K, V> for Open<K, V, H> {
    fn new(seed: u64) -> Self {
        Open { slots: Vec::new(), bindings: 0, recent: Recent::new(), hashing: H::new(seed) }
    }

    fn install(&mut self, key: K, value: V) -> Option<V> {
        if let Some((place, _)) = self.find(&key)
            && let Some((_, old)) = &mut self.slots[place]
        {
            self.recent.set(place);
            return Some(core::mem::replace(old, value));
        }
        if self.bindings == room(self.slots.len()) {
            self.grow();
        }
        let place = self.put((key, value));
        self.bindings += 1;
        self.recent.set(place);
        None
    }

    fn erase(&mut self, key: &K) -> Option<V> {
        let (place, _) = self.find(key)?;
        let (_, value) = self.slots[place].take()?;
        self.bindings -= 1;
        self.close(place);
        Some(value)
    }

    #[inline]
    fn lookup(&self, key: &K) -> Option<&V> {
        self.find_recent(key).map(|(_, (_, value))| value)
    }

    #[inline]
    fn lookup_mut(&mut self, key: &K) -> Option<&mut V> {
        let (place, _) = self.find_recent(key)?;
        self.slots[place].as_mut().map(|(_, value)| value)
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.slots.iter().flatten().map(|(key, value)| (key, value))
    }

    fn len(&self) -> usize {
        self.bindings
    }
}
