//! The feature Session: whether associations are distinguished, and how one is found by its key.

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_contract::{Handle, Mirror};

use crate::features;
use crate::map::{self, ChainedHashCached, Key, Map};

/// An alternative of the feature.
pub trait Alternative {
    /// The same alternative as a value.
    const SELECTED: features::Session;
    /// The store of the associations.
    type Table<K: Key, A>: Table<K, A>;
}

/// Associations by name, and by key.
pub trait Table<K, A> {
    /// Creates an empty table; see [`Map::new`] for the seed.
    fn new(seed: u64) -> Self;

    /// Installs an association. If there is one already to which `name` may belong too, the new one
    /// is returned.
    ///
    /// # Errors
    /// If the key is taken.
    fn insert(&mut self, name: Handle, key: K, association: A) -> Result<Option<A>, Taken>;

    /// Returns the association of `key`.
    fn find(&self, key: &K) -> Option<Handle>;

    /// Returns the association of `name`.
    fn get(&self, name: Handle) -> Option<&A>;

    /// Returns the association of `name`, to be changed.
    fn get_mut(&mut self, name: Handle) -> Option<&mut A>;

    /// Gives the association of `name` another key.
    ///
    /// # Errors
    /// If the key is taken.
    fn rekey(&mut self, name: Handle, key: K) -> Result<(), Taken>;

    /// Ends a name. Returns the association if this was its last name.
    fn remove(&mut self, name: Handle) -> Removed<A>;

    /// Returns the number of live names.
    fn len(&self) -> usize;

    /// Returns whether no name is live.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all names, in the order of their index.
    fn iter<'a>(&'a self) -> impl Iterator<Item = (Handle, &'a A)>
    where
        A: 'a;
}

/// The error that an association of that key exists already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken;

/// What became of an association when a name of it ended.
#[derive(Debug)]
pub enum Removed<A> {
    /// There was no such name.
    Unknown,
    /// It has other names.
    Shared,
    /// That was its last name.
    Last(A),
}

/// Associations are distinguished by their keys, found by a map of the kind `M`.
pub struct Present<M = ChainedHashCached>(PhantomData<fn() -> M>);

impl<M: map::MapKind> Alternative for Present<M> {
    const SELECTED: features::Session = features::Session::Present(M::SELECTED);
    type Table<K: Key, A> = Apart<M::Of<K, Handle>, K, A>;
}

/// Associations that are distinguished.
pub struct Apart<M, K, A> {
    names: Mirror<(K, A)>,
    keys: M,
}

impl<M: Map<K, Handle>, K: Key, A> Table<K, A> for Apart<M, K, A> {
    fn new(seed: u64) -> Self {
        Apart { names: Mirror::default(), keys: M::new(seed) }
    }

    fn insert(&mut self, name: Handle, key: K, association: A) -> Result<Option<A>, Taken> {
        if self.keys.lookup(&key).is_some() {
            return Err(Taken);
        }
        self.keys.install(key.clone(), name);
        self.names.insert(name, (key, association));
        Ok(None)
    }

    #[inline]
    fn find(&self, key: &K) -> Option<Handle> {
        self.keys.resolve(key)
    }

    #[inline]
    fn get(&self, name: Handle) -> Option<&A> {
        self.names.get(name).map(|(_, association)| association)
    }

    #[inline]
    fn get_mut(&mut self, name: Handle) -> Option<&mut A> {
        self.names.get_mut(name).map(|(_, association)| association)
    }

    fn rekey(&mut self, name: Handle, key: K) -> Result<(), Taken> {
        if self.keys.lookup(&key).is_some() {
            return Err(Taken);
        }
        if let Some((known, _)) = self.names.get_mut(name) {
            self.keys.erase(known);
            *known = key.clone();
            self.keys.install(key, name);
        }
        Ok(())
    }

    fn remove(&mut self, name: Handle) -> Removed<A> {
        let Some((key, association)) = self.names.remove(name) else { return Removed::Unknown };
        self.keys.erase(&key);
        Removed::Last(association)
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Handle, &'a A)>
    where
        A: 'a,
    {
        self.names.iter().map(|(name, (_, association))| (name, association))
    }
}

/// Associations are not distinguished: all names belong to one default endpoint, and each of them
/// counts.
pub struct Absent;

impl Alternative for Absent {
    const SELECTED: features::Session = features::Session::Absent;
    type Table<K: Key, A> = Shared<A>;
}

/// The default endpoint.
pub struct Shared<A> {
    names: Vec<Handle>,
    endpoint: Option<A>,
}

impl<K, A> Table<K, A> for Shared<A> {
    fn new(_seed: u64) -> Self {
        Shared { names: Vec::new(), endpoint: None }
    }

    fn insert(&mut self, name: Handle, _key: K, association: A) -> Result<Option<A>, Taken> {
        self.names.push(name);
        if self.endpoint.is_some() {
            return Ok(Some(association));
        }
        self.endpoint = Some(association);
        Ok(None)
    }

    fn find(&self, _key: &K) -> Option<Handle> {
        self.names.first().copied()
    }

    fn get(&self, name: Handle) -> Option<&A> {
        self.names.contains(&name).then_some(self.endpoint.as_ref())?
    }

    fn get_mut(&mut self, name: Handle) -> Option<&mut A> {
        self.names.contains(&name).then_some(self.endpoint.as_mut())?
    }

    fn rekey(&mut self, _name: Handle, _key: K) -> Result<(), Taken> {
        Ok(())
    }

    fn remove(&mut self, name: Handle) -> Removed<A> {
        let Some(place) = self.names.iter().position(|living| *living == name) else {
            return Removed::Unknown;
        };
        self.names.remove(place);
        match self.endpoint.take_if(|_| self.names.is_empty()) {
            Some(endpoint) => Removed::Last(endpoint),
            None => Removed::Shared,
        }
    }

    fn len(&self) -> usize {
        self.names.len()
    }

    fn iter<'a>(&'a self) -> impl Iterator<Item = (Handle, &'a A)>
    where
        A: 'a,
    {
        self.endpoint
            .iter()
            .flat_map(|endpoint| self.names.iter().map(move |name| (*name, endpoint)))
    }
}
