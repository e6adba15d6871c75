//! Sessions that may be resumed.
//!
//! rustls asks a store for sessions in the middle of a handshake, and does not say for which
//! association. So the layer tells its stores before it calls rustls: the group at a client, the
//! lineage at a server.
//!
//! A *lineage* is a session and all that were resumed from it: their clients hold the secret of the
//! first. That is how a server knows that an association for data belongs to the same client as an
//! association for control, and not to another client that was quicker.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::server::StoresServerSessions;

/// How many groups of a server a client remembers.
const GROUPS_MOST: usize = 64;
/// How many tickets of a group it remembers, as each serves once (RFC 8446 §C.4; rustls does not
/// let one be offered again).
const TICKETS_MOST: usize = 8;

/// The sessions of a client with one server.
#[derive(Default, Debug)]
pub(crate) struct ClientSessions(Mutex<ClientKept>);

#[derive(Default, Debug)]
struct ClientKept {
    /// The group of the association that is calling.
    group: u64,
    /// The group used last is the last.
    groups: VecDeque<(u64, Group)>,
}

#[derive(Default, Debug)]
struct Group {
    hint: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tickets: VecDeque<Tls13ClientSessionValue>,
    /// Whether there were ever tickets.
    had_tickets: bool,
    /// Whether it speaks TLS 1.2 alone, whose sessions serve any number of times.
    only_12: bool,
}

impl ClientSessions {
    /// Tells the group of the association that rustls is called for.
    pub(crate) fn enter(&self, group: u64) {
        self.lock().group = group;
    }

    /// Notes whether the group that begins speaks TLS 1.2 alone.
    pub(crate) fn begin(&self, only_12: bool) {
        self.lock().group().only_12 = only_12;
    }

    /// Returns whether the group that is joined speaks TLS 1.2 alone.
    pub(crate) fn is_only_12(&self) -> bool {
        self.lock().find().is_some_and(|group| group.only_12)
    }

    /// Returns whether the group that is joined had sessions, and none is left.
    pub(crate) fn is_used_up(&self) -> bool {
        self.lock().find().is_some_and(|group| {
            group.had_tickets && group.tickets.is_empty() && group.tls12.is_none()
        })
    }

    fn lock(&self) -> MutexGuard<'_, ClientKept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientKept {
    fn find(&self) -> Option<&Group> {
        self.groups.iter().find(|(number, _)| *number == self.group).map(|(_, group)| group)
    }

    /// Returns the group of the association that is calling, as the one used last.
    fn group(&mut self) -> &mut Group {
        let place = self.groups.iter().position(|(number, _)| *number == self.group);
        let found = place.and_then(|place| self.groups.remove(place));
        if self.groups.len() >= GROUPS_MOST {
            self.groups.pop_front();
        }
        self.groups.push_back(found.unwrap_or((self.group, Group::default())));
        let last = self.groups.len() - 1;
        &mut self.groups[last].1
    }
}

impl ClientSessionStore for ClientSessions {
    fn set_kx_hint(&self, _: ServerName<'static>, hint: NamedGroup) {
        self.lock().group().hint = Some(hint);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().find()?.hint
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.lock().group().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.lock().find()?.tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.lock().group().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut kept = self.lock();
        let Group { tickets, had_tickets, .. } = kept.group();
        *had_tickets = true;
        if tickets.len() >= TICKETS_MOST {
            tickets.pop_front();
        }
        tickets.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.lock().group().tickets.pop_back()
    }
}

/// The sessions of a server with all its clients.
#[derive(Debug)]
pub(crate) struct ServerSessions(Mutex<ServerKept>);

/// How many sessions of the first association of a lineage are kept: as many as it is given.
const FIRST: usize = 2;
/// How many sessions of a lineage are kept: the first ones, which many clients use again and again,
/// and the last ones.
const KEPT: usize = FIRST + 2;

#[derive(Debug)]
struct ServerKept {
    /// The most lineages.
    most: usize,
    /// The lineage of the association that is calling.
    lineage: u64,
    /// The lineage of the session that was found last.
    found: Option<u64>,
    sessions: BTreeMap<Vec<u8>, Kept>,
    /// The keys of each lineage, in the order in which they were given.
    lineages: BTreeMap<u64, Vec<Vec<u8>>>,
    /// The lineages whose first association is over. They are forgotten before others.
    over: VecDeque<u64>,
}

/// Which of its tickets a client keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeps {
    All,
    Last,
}

#[derive(Debug)]
struct Kept {
    lineage: u64,
    value: Vec<u8>,
    /// How often the ticket was shown.
    shown: u32,
}

impl ServerSessions {
    pub(crate) fn new(most: usize) -> Self {
        ServerSessions(Mutex::new(ServerKept {
            most,
            lineage: 0,
            found: None,
            sessions: BTreeMap::new(),
            lineages: BTreeMap::new(),
            over: VecDeque::new(),
        }))
    }

    /// Notes that the first association of a lineage is over.
    pub(crate) fn end(&self, lineage: u64) {
        let mut kept = self.lock();
        if kept.lineages.contains_key(&lineage) {
            kept.over.push_back(lineage);
        }
    }

    /// Returns whether the client of a lineage, which shows no ticket twice, has none left: it has
    /// shown each, or the last one where it may `keep` only that.
    pub(crate) fn are_spent(&self, lineage: u64, keeps: Keeps) -> bool {
        let kept = self.lock();
        let shown = |key: &Vec<u8>| kept.sessions.get(key).map_or(0, |session| session.shown);
        let Some(keys) = kept.lineages.get(&lineage) else { return false };
        let needed = if keeps == Keeps::All { 0 } else { keys.len().saturating_sub(1) };
        keys.iter().all(|key| shown(key) < 2)
            && !keys.is_empty()
            && keys[needed..].iter().all(|key| shown(key) == 1)
    }

    /// Tells the lineage of the association that rustls is called for.
    pub(crate) fn enter(&self, lineage: u64) {
        let mut kept = self.lock();
        (kept.lineage, kept.found) = (lineage, None);
    }

    /// Returns the lineage of the session that was found since [`enter`](Self::enter).
    pub(crate) fn found(&self) -> Option<u64> {
        self.lock().found
    }

    fn lock(&self) -> MutexGuard<'_, ServerKept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoresServerSessions for ServerSessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let mut kept = self.lock();
        if kept.most == 0 {
            return false;
        }
        let lineage = kept.lineage;
        let session = Kept { lineage, value, shown: 0 };
        if kept.sessions.insert(key.clone(), session).is_none() {
            let keys = kept.lineages.entry(lineage).or_default();
            keys.push(key);
            if keys.len() > KEPT {
                let gone = keys.remove(FIRST);
                kept.sessions.remove(&gone);
            }
        }
        while kept.lineages.len() > kept.most {
            // Smaller numbers are older.
            let oldest = kept.over.pop_front().or_else(|| kept.lineages.keys().next().copied());
            for key in oldest.and_then(|oldest| kept.lineages.remove(&oldest)).unwrap_or_default() {
                kept.sessions.remove(&key);
            }
        }
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut kept = self.lock();
        let Kept { lineage, value, .. } = kept.sessions.get(key)?;
        let (lineage, value) = (*lineage, value.clone());
        kept.found = Some(lineage);
        Some(value)
    }

    /// A ticket may serve again, as long as its lineage lasts: clients with OpenSSL resume all
    /// their data associations with one. There is no early data, which could be replayed.
    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        if let Some(session) = self.lock().sessions.get_mut(key) {
            session.shown = session.shown.saturating_add(1);
        }
        self.get(key)
    }

    fn can_cache(&self) -> bool {
        self.lock().most > 0
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_client_is_out_of_tickets_when_it_has_shown_those_that_it_keeps() {
        let sessions = ServerSessions::new(8);
        let spent =
            |lineage| [Keeps::All, Keeps::Last].map(|keeps| sessions.are_spent(lineage, keeps));
        assert_eq!(spent(1), [false, false], "it has none");
        sessions.enter(1);
        for key in [1, 2] {
            assert!(sessions.put(vec![key], vec![9]));
            assert_eq!(spent(1), [false, false]);
        }
        assert_eq!(sessions.take(&[2]), Some(vec![9]));
        assert_eq!(spent(1), [false, true]);
        assert_eq!(sessions.take(&[1]), Some(vec![9]));
        assert_eq!(spent(1), [true, true]);
        assert_eq!(spent(2), [false, false]);
        assert_eq!(sessions.take(&[2]), Some(vec![9]));
        assert_eq!(spent(1), [false, false], "it shows one as often as it likes");
        // A session of TLS 1.2 serves as often as its client likes in any case.
        sessions.enter(2);
        sessions.put(vec![3], vec![9]);
        sessions.get(&[3]);
        assert_eq!(spent(2), [false, false]);
    }
}
