//! Associations that are over, of which a peer may not know that.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;

use stackwright_base::Arrival;
use stackwright_contract::{Duration, Instant, Participant};
use stackwright_wire::Message;

use crate::transport::Farewell;

/// How many associations are remembered at a time, of known peers and of strangers, unless
/// configured; the oldest is forgotten first. Forged openings do not push out those of known peers.
const MOST: [usize; 2] = [4096, 1024];

/// How many packets are answered at once for one association: its peer needs one answer, and anyone
/// can send in its name.
const ANSWERS_MOST: u8 = 8;

/// How long it is until one more is answered, and twice as long each time: on a bad link, eight
/// answers in a row are lost. Two stations that remember one association, and answer each other
/// over a long path, are soon silent.
const ANSWERED_AGAIN: Duration = Duration::from_secs(1);

/// How many times that is doubled, at most.
const DOUBLED_MOST: u32 = 10;

/// The associations of a protocol that are over, each for some time: a late copy of a packet that
/// opens makes no other, and a peer that did not hear the end is told again. `K` tells those of one
/// peer apart.
#[derive(Debug)]
pub struct Graveyard<K> {
    graves: BTreeMap<(Participant, K), Grave>,
    /// In the order in which they were buried: those of known peers, and those of strangers.
    oldest: [VecDeque<(Participant, K)>; 2],
    most: [usize; 2],
}

#[derive(Clone, Debug)]
struct Grave {
    until: Instant,
    /// The packet that tells the peer; empty: it knows.
    packet: Arc<[u8]>,
    answered: u8,
    answered_at: Instant,
    stranger: bool,
}

impl<K> Default for Graveyard<K> {
    fn default() -> Self {
        Graveyard { graves: BTreeMap::new(), oldest: Default::default(), most: MOST }
    }
}

impl<K: Copy + Ord> Graveyard<K> {
    /// Creates an empty one that remembers `most` associations of known peers.
    pub fn of(most: usize) -> Self {
        Graveyard { most: [most, MOST[1]], ..Graveyard::default() }
    }

    /// Returns whether an association is remembered.
    pub fn holds(&self, now: Instant, remote: Participant, key: K) -> bool {
        self.graves.get(&(remote, key)).is_some_and(|grave| grave.until > now)
    }

    /// Remembers one that is remembered until then.
    pub fn renew(&mut self, remote: Participant, key: K, until: Instant) {
        if let Some(grave) = self.graves.get_mut(&(remote, key)) {
            grave.until = until;
        }
    }

    /// Remembers that an association is over until then, and what tells it.
    pub fn bury(&mut self, remote: Participant, key: K, farewell: Farewell<'_>, until: Instant) {
        let Farewell { packet, stranger, .. } = farewell;
        let (packet, answered_at) = (packet.into(), Instant::START);
        let grave = Grave { until, packet, answered: 0, answered_at, stranger };
        self.enter((remote, key), grave);
    }

    /// Remembers the same association under another key.
    pub fn also(&mut self, remote: Participant, key: K, other: K) {
        if let Some(grave) = self.graves.get(&(remote, key)).cloned() {
            self.enter((remote, other), grave);
        }
    }

    fn enter(&mut self, place: (Participant, K), grave: Grave) {
        let class = usize::from(grave.stranger);
        // One that is there already keeps its place in the order.
        if self.graves.insert(place, grave).is_none() {
            self.oldest[class].push_back(place);
        }
        if self.oldest[class].len() > self.most[class]
            && let Some(oldest) = self.oldest[class].pop_front()
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
        for order in &mut self.oldest {
            while let Some(oldest) = order.front()
                && self.graves.get(oldest).is_none_or(|grave| grave.until <= now)
            {
                self.graves.remove(oldest);
                order.pop_front();
            }
        }
        // One that was renewed keeps its place before others that are over sooner.
        let grave = self.graves.get_mut(&(remote, key)).filter(|grave| grave.until > now)?;
        let beyond = u32::from(grave.answered).checked_sub(u32::from(ANSWERS_MOST));
        let is_answered = beyond.is_none_or(|beyond| {
            now.since(grave.answered_at) >= ANSWERED_AGAIN * (1 << beyond.min(DOUBLED_MOST))
        });
        if grave.packet.is_empty() || !is_answered {
            return Some(Arrival::Ignored("a packet of an association that is over"));
        }
        (grave.answered, grave.answered_at) = (grave.answered.saturating_add(1), now);
        Some(Arrival::Answered(M::with_headroom(headroom, &grave.packet)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use stackwright_wire::BufferTree;

    use super::*;

    const fn at(seconds: u64) -> Instant {
        Instant::from_nanoseconds(seconds * 1_000_000_000)
    }

    const KNOWN: Farewell<'_> =
        Farewell { packet: b"over", wait: 0, tells: false, stranger: false };

    fn answered(yard: &mut Graveyard<u16>, now: Instant, key: u16) -> Option<bool> {
        let remote = Participant::from(([10, 0, 0, 1], 7));
        let arrival = yard.arrival::<BufferTree>(now, remote, key, 0)?;
        Some(matches!(arrival, Arrival::Answered(_)))
    }

    #[test]
    fn a_peer_is_told_eight_times_and_then_less_and_less_often() {
        let mut yard = Graveyard::default();
        let remote = Participant::from(([10, 0, 0, 1], 7));
        yard.bury(remote, 1, KNOWN, at(60));
        yard.bury(remote, 2, Farewell { packet: b"", ..KNOWN }, at(60));
        for _ in 0..8 {
            assert_eq!(answered(&mut yard, at(1), 1), Some(true));
        }
        assert_eq!(answered(&mut yard, at(1), 1), Some(false));
        let told = (2..40).filter(|second| answered(&mut yard, at(*second), 1) == Some(true));
        assert_eq!(Vec::from_iter(told), [2, 4, 8, 16, 32]);
        assert_eq!(answered(&mut yard, at(1), 2), Some(false), "it knows");
        assert_eq!(answered(&mut yard, at(1), 3), None, "it is of none of these");
        assert_eq!(answered(&mut yard, at(1) + Duration::from_secs(59), 1), None);
    }

    #[test]
    fn one_that_is_renewed_is_remembered_longer_and_no_other() {
        let mut yard = Graveyard::default();
        let remote = Participant::from(([10, 0, 0, 1], 7));
        [1, 2].into_iter().for_each(|key| yard.bury(remote, key, KNOWN, at(60)));
        yard.renew(remote, 1, at(90));
        yard.renew(remote, 3, at(90));
        let holds = |yard: &Graveyard<u16>, second| {
            [1, 2, 3].map(|key| yard.holds(at(second), remote, key))
        };
        assert_eq!(holds(&yard, 59), [true, true, false]);
        assert_eq!(holds(&yard, 60), [true, false, false]);
        assert_eq!([1, 2].map(|key| answered(&mut yard, at(60), key)), [Some(true), None]);
        assert_eq!(answered(&mut yard, at(90), 1), None);
        assert!(yard.graves.is_empty() && yard.oldest.iter().all(VecDeque::is_empty));
    }

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut yard = Graveyard::default();
        let remote = Participant::from(([10, 0, 0, 1], 7));
        for key in 0..=MOST[0] as u16 {
            yard.bury(remote, key, KNOWN, at(60));
        }
        assert_eq!(answered(&mut yard, at(1), 0), None);
        assert_eq!(answered(&mut yard, at(1), 1), Some(true));
        // However many strangers there are, they are forgotten for each other.
        for key in 10_000..20_000 {
            yard.bury(remote, key, Farewell { stranger: true, ..KNOWN }, at(60));
        }
        assert_eq!(yard.graves.len(), MOST[0] + MOST[1]);
        assert_eq!(answered(&mut yard, at(1), 10_000), None);
        assert_eq!(answered(&mut yard, at(1), 1), Some(true));
    }
}
