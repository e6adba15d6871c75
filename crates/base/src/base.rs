//! The generated base: associations, enable objects and timers, put together from a selection of
//! features.

use stackwright_contract::{Handle, Instant, Names};

use crate::Configuration;
use crate::events::{Alternative as _, Expires as _, Pending as _, Store as _};
use crate::features::Selection;
use crate::map::Key;
use crate::opening::Enabled;
use crate::session::{Removed, Table, Taken};
use crate::{events, opening, session};

/// What the author of a protocol specifies of its associations: the types that fill the base.
pub trait Subject {
    /// The key that distinguishes associations (PIX's ActiveId).
    type Key: Key;
    /// The key that distinguishes listeners (PIX's PassiveId).
    type PassiveKey: Key;
    /// The state of an association.
    type Association;
    /// The state of a listener.
    type Enabled;
    /// The kinds of timers. An association has at most one of each.
    type Timer: Copy + PartialEq;
}

type TableOf<C, K, A> = <<C as Configuration>::Session as session::Alternative>::Table<K, A>;
type EnabledOf<C, K, E> = <<C as Configuration>::Opening as opening::Alternative>::Enabled<K, E>;
type EventsOf<C, T> = <<C as Configuration>::Events as events::Alternative>::Store<(Handle, T)>;

type PendingOf<C, T> = <<C as Configuration>::Events as events::Alternative>::Pending<T>;

/// A base of the selection `C` for the associations of `S`.
pub struct Base<C: Configuration, S: Subject> {
    table: TableOf<C, S::Key, Entry<C, S>>,
    enabled: EnabledOf<C, S::PassiveKey, S::Enabled>,
    events: EventsOf<C, S::Timer>,
    /// The names that the base assigns itself, where no layer above assigns them.
    own: Names<()>,
}

struct Entry<C: Configuration, S: Subject> {
    association: S::Association,
    timers: PendingOf<C, S::Timer>,
}

impl<C: Configuration, S: Subject> Base<C, S> {
    /// The features that were selected.
    pub const SELECTION: Selection = C::SELECTION;

    /// Creates an empty base. The keys of its hashes are derived from `seed`: a peer must not know
    /// it.
    pub fn new(seed: u64) -> Self {
        Base {
            table: Table::new(seed),
            enabled: Enabled::new(seed.rotate_left(32)),
            events: EventsOf::<C, S::Timer>::default(),
            own: Names::default(),
        }
    }

    /// Installs an association under the name that the caller assigned. Where associations are not
    /// distinguished and there is one already, `name` becomes another name of that one, and
    /// `association` is returned.
    ///
    /// # Errors
    /// If the key is taken.
    pub fn install(
        &mut self,
        name: Handle,
        key: S::Key,
        association: S::Association,
    ) -> Result<Option<S::Association>, Taken> {
        let entry = Entry { association, timers: PendingOf::<C, S::Timer>::default() };
        Ok(self.table.insert(name, key, entry)?.map(|entry| entry.association))
    }

    /// Installs an association under a name that the base assigns.
    ///
    /// # Errors
    /// If the key is taken.
    pub fn open(&mut self, key: S::Key, association: S::Association) -> Result<Handle, Taken> {
        let name = self.own.name(());
        match self.install(name, key, association) {
            Ok(_) => Ok(name),
            Err(taken) => {
                self.own.forget(name);
                Err(taken)
            }
        }
    }

    /// Returns the association of `key`: the lookup of a layer for every message that arrives.
    #[inline]
    pub fn find(&self, key: &S::Key) -> Option<Handle> {
        self.table.find(key)
    }

    /// Returns the association of `name`.
    #[inline]
    pub fn get(&self, name: Handle) -> Option<&S::Association> {
        self.table.get(name).map(|entry| &entry.association)
    }

    /// Returns the association of `name`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, name: Handle) -> Option<&mut S::Association> {
        self.table.get_mut(name).map(|entry| &mut entry.association)
    }

    /// Returns the association of `name`, and its timers beside it.
    #[inline]
    pub(crate) fn with_timers(
        &mut self,
        name: Handle,
    ) -> Option<(&mut S::Association, Timers<'_, C, S>)> {
        let Entry { association, timers } = self.table.get_mut(name)?;
        Some((association, Timers { name, timers, events: &mut self.events }))
    }

    /// Gives the association of `name` another key.
    ///
    /// # Errors
    /// If the key is taken.
    pub(crate) fn rekey(&mut self, name: Handle, key: S::Key) -> Result<(), Taken> {
        self.table.rekey(name, key)
    }

    /// Ends `name`. With its last name the association is removed, and its timers with it.
    pub fn close(&mut self, name: Handle) -> Removed<S::Association> {
        let removed = match self.table.remove(name) {
            Removed::Unknown => return Removed::Unknown,
            Removed::Shared => Removed::Shared,
            Removed::Last(mut entry) => {
                while let Some(ticket) = entry.timers.take_any() {
                    self.events.try_cancel(ticket);
                }
                Removed::Last(entry.association)
            }
        };
        self.own.forget(name);
        removed
    }

    /// Returns all names with their associations, in the order of their index.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &S::Association)> {
        self.table.iter().map(|(name, entry)| (name, &entry.association))
    }

    /// Returns the number of live names.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether no name is live.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Returns the enable objects.
    pub fn enabled(&mut self) -> &mut impl Enabled<S::PassiveKey, S::Enabled> {
        &mut self.enabled
    }

    /// Sets the timer of this kind to expire at `at`, and no longer at its earlier deadline. Does
    /// nothing for a name that has ended.
    ///
    /// # Panics
    /// If the selection has no event manager.
    pub fn schedule(&mut self, name: Handle, timer: S::Timer, at: Instant) {
        if let Some((_, mut timers)) = self.with_timers(name) {
            timers.schedule(timer, at);
        }
    }

    /// Cancels the timer of this kind.
    pub fn cancel(&mut self, name: Handle, timer: S::Timer) {
        if let Some((_, mut timers)) = self.with_timers(name) {
            timers.cancel(timer);
        }
    }

    /// Returns when the next timer expires.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.events.next_deadline()
    }

    /// Removes and returns the next timer that has expired at `now`, if there is one.
    pub fn expire(&mut self, now: Instant) -> Option<(Handle, S::Timer)> {
        let (mut name, timer) = self.events.expire(now)?;
        if self.table.get(name).is_none() {
            // A shared endpoint keeps its timers when the name that set them has ended.
            name = self.table.iter().next()?.0;
        }
        if let Some(entry) = self.table.get_mut(name) {
            entry.timers.take(timer);
        }
        Some((name, timer))
    }
}

/// The timers of one association.
pub(crate) struct Timers<'a, C: Configuration, S: Subject> {
    name: Handle,
    timers: &'a mut PendingOf<C, S::Timer>,
    events: &'a mut EventsOf<C, S::Timer>,
}

impl<C: Configuration, S: Subject> Timers<'_, C, S> {
    pub(crate) fn schedule(&mut self, timer: S::Timer, at: Instant) {
        self.cancel(timer);
        match self.events.try_schedule(at, (self.name, timer)) {
            Some(ticket) => self.timers.set(timer, ticket),
            None => panic!(
                "a protocol that has timers says so in its NEEDS: {}",
                C::Events::SELECTED.name()
            ),
        }
    }

    pub(crate) fn cancel(&mut self, timer: S::Timer) {
        if let Some(ticket) = self.timers.take(timer) {
            self.events.try_cancel(ticket);
        }
    }
}
