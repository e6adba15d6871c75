//! Associations that are over, of which a peer may not know that.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;

use stackwright_base::Arrival;
use stackwright_contract::{Instant, Participant};
use stackwright_wire::Message;

/// How many associations are remembered at a time; the oldest is forgotten first.
const MOST: usize = 4096;

/// How many packets are answered for one association: its peer needs one answer, and anyone can
/// send in its name.
const ANSWERS_MOST: u8 = 8;

/// The associations of a protocol that are over, each for some time: a late copy of a packet that
/// opens makes no other, and a peer that did not hear the end is told again. `K` tells those of one
/// peer apart.
#[derive(Debug)]
pub struct Graveyard<K> {
    graves: BTreeMap<(Participant, K), Grave>,
    /// In the order in which they were buried.
    oldest: VecDeque<(Participant, K)>,
}

#[derive(Clone, Debug)]
struct Grave {
    until: Instant,
    /// The packet that tells the peer; empty: it knows.
    packet: Arc<[u8]>,
    answers: u8,
}

impl<K> Default for Graveyard<K> {
    fn default() -> Self {
        Graveyard { graves: BTreeMap::new(), oldest: VecDeque::new() }
    }
}

impl<K: Copy + Ord> Graveyard<K> {
    /// Remembers that an association is over until then, and the packet that tells it.
    pub fn bury(&mut self, remote: Participant, key: K, packet: &[u8], until: Instant) {
        let grave = Grave { until, packet: packet.into(), answers: ANSWERS_MOST };
        self.enter((remote, key), grave);
    }

    /// Remembers the same association under another key.
    pub fn also(&mut self, remote: Participant, key: K, other: K) {
        if let Some(grave) = self.graves.get(&(remote, key)).cloned() {
            self.enter((remote, other), grave);
        }
    }

    fn enter(&mut self, place: (Participant, K), grave: Grave) {
        if self.graves.insert(place, grave).is_none() {
            self.oldest.push_back(place);
        }
        while self.oldest.len() > MOST
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.graves.remove(&oldest);
        }
    }

    /// Returns what becomes of a packet that belongs to no association; `None` if it is of none of
    /// these.
    pub fn arrival<M: Message>(
        &mut self,
        now: Instant,
        remote: Participant,
        key: K,
        headroom: usize,
    ) -> Option<Arrival<M>> {
        while let Some(oldest) = self.oldest.front()
            && self.graves.get(oldest).is_none_or(|grave| grave.until <= now)
        {
            self.graves.remove(oldest);
            self.oldest.pop_front();
        }
        let grave = self.graves.get_mut(&(remote, key))?;
        if grave.packet.is_empty() || grave.answers == 0 {
            return Some(Arrival::Ignored("a packet of an association that is over"));
        }
        grave.answers -= 1;
        Some(Arrival::Answered(M::with_headroom(headroom, &grave.packet)))
    }
}

#[cfg(test)]
mod tests {
    use stackwright_contract::Duration;
    use stackwright_wire::BufferTree;

    use super::*;

    const fn at(seconds: u64) -> Instant {
        Instant::from_nanoseconds(seconds * 1_000_000_000)
    }

    fn answered(yard: &mut Graveyard<u16>, now: Instant, key: u16) -> Option<bool> {
        let remote = Participant::from(([10, 0, 0, 1], 7));
        let arrival = yard.arrival::<BufferTree>(now, remote, key, 0)?;
        Some(matches!(arrival, Arrival::Answered(_)))
    }

    #[test]
    fn a_peer_is_told_eight_times_and_until_then() {
        let mut yard = Graveyard::default();
        let remote = Participant::from(([10, 0, 0, 1], 7));
        yard.bury(remote, 1, b"over", at(60));
        yard.bury(remote, 2, b"", at(60));
        for _ in 0..8 {
            assert_eq!(answered(&mut yard, at(1), 1), Some(true));
        }
        assert_eq!(answered(&mut yard, at(1), 1), Some(false));
        assert_eq!(answered(&mut yard, at(1), 2), Some(false), "it knows");
        assert_eq!(answered(&mut yard, at(1), 3), None, "it is of none of these");
        assert_eq!(answered(&mut yard, at(1) + Duration::from_secs(59), 1), None);
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut yard = Graveyard::default();
        let remote = Participant::from(([10, 0, 0, 1], 7));
        for key in 0..=MOST as u16 {
            yard.bury(remote, key, b"over", at(60));
        }
        assert_eq!(answered(&mut yard, at(1), 0), None);
        assert_eq!(answered(&mut yard, at(1), 1), Some(true));
    }
}
