//! Contexts that are over, of which a peer may not know that.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;

use stackwright_base::Arrival;
use stackwright_contract::{Instant, Participant};
use stackwright_wire::Message;

use crate::key::ContextKey;

/// How many contexts are remembered at a time; the oldest is forgotten first.
const MOST: usize = 4096;

/// How many packets are answered for one context: its peer needs one answer, and anyone can send in
/// its name.
const ANSWERS_MOST: u8 = 8;

/// The contexts that are over, each for some time.
#[derive(Debug, Default)]
pub(crate) struct Graveyard {
    graves: BTreeMap<Place, Grave>,
    /// In the order in which they were buried.
    oldest: VecDeque<Place>,
}

/// A key, and who uses it.
type Place = (Participant, bool, u64);

#[derive(Clone, Debug)]
struct Grave {
    until: Instant,
    /// The packet that tells the peer; empty: it knows.
    packet: Arc<[u8]>,
    answers: u8,
}

fn place(remote: Participant, key: ContextKey) -> Place {
    (remote, key.ours, key.number)
}

impl Graveyard {
    /// Remembers that a context is over until then, and the packet that tells it.
    pub(crate) fn bury(
        &mut self,
        remote: Participant,
        key: ContextKey,
        packet: &[u8],
        until: Instant,
    ) {
        let packet = packet.into();
        self.enter(place(remote, key), Grave { until, packet, answers: ANSWERS_MOST });
    }

    /// Remembers the same context under another key.
    pub(crate) fn also(&mut self, remote: Participant, key: ContextKey, other: ContextKey) {
        if let Some(grave) = self.graves.get(&place(remote, key)).cloned() {
            self.enter(place(remote, other), grave);
        }
    }

    fn enter(&mut self, place: Place, grave: Grave) {
        if self.graves.insert(place, grave).is_none() {
            self.oldest.push_back(place);
        }
        while self.oldest.len() > MOST
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.graves.remove(&oldest);
        }
    }

    /// Returns what becomes of a packet that belongs to no context; `None` if it is of none of
    /// these.
    pub(crate) fn arrival<M: Message>(
        &mut self,
        now: Instant,
        remote: Participant,
        key: ContextKey,
        headroom: usize,
    ) -> Option<Arrival<M>> {
        while let Some(oldest) = self.oldest.front()
            && self.graves.get(oldest).is_none_or(|grave| grave.until <= now)
        {
            self.graves.remove(oldest);
            self.oldest.pop_front();
        }
        let grave = self.graves.get_mut(&place(remote, key))?;
        let ignored = Arrival::Ignored("a packet of a context that is over");
        if grave.packet.is_empty() || grave.answers == 0 {
            return Some(ignored);
        }
        grave.answers -= 1;
        Some(Arrival::Answered(M::with_headroom(headroom, &grave.packet)))
    }
}
