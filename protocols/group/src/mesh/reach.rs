//! Who hears whom by multicast. A network may carry it to some members only, in one direction, or
//! for a while. A member whose own packets come back does not know whether others receive them.
//!
//! ```text
//! member ── PROBE(whom it hears by multicast) ──▸ the group's address
//!                                             ──▸ members that it hears, and that may not hear it
//! ```
//!
//! What is not said again is soon forgotten: then the member is sent copies, which cost more, and
//! need no multicast. Both times are short, since a member that hears nothing suspects the others.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use stackwright_contract::services::{GroupView, Rank};
use stackwright_contract::{Duration, Handle, Instant, Participant};

/// In larger views members speak more rarely, so that each hears no more of it.
const MANY: usize = 16;

/// How many times as often members speak when a view begins; and then half as often each time.
const SOON: u32 = 8;

/// How many members have to be reached: one alone costs as much without multicast.
const PAYS: usize = 2;

/// What is known of the members of the last view.
pub(super) struct Reach {
    often: Duration,
    /// The association with the group's address, and the listener there.
    pub(super) all: Handle,
    pub(super) listener: Handle,
    members: Vec<(Identity, Path)>,
    /// When this member speaks next, and how many times as often as later.
    probes: Instant,
    haste: u32,
}

/// A process: an address that comes back is another one.
type Identity = (Participant, u64);

/// Until when a member is heard here by multicast, and hears this one.
#[derive(Clone, Copy)]
struct Path {
    heard: Instant,
    hears: Instant,
}

impl Path {
    const NONE: Self = Path { heard: Instant::START, hears: Instant::START };
}

impl Reach {
    pub(super) const fn new(often: Duration, all: Handle, listener: Handle) -> Self {
        let members = Vec::new();
        Reach { often, all, listener, members, probes: Instant::START, haste: SOON }
    }

    /// Begins a view. Who was in the last one, too, hears what it heard.
    pub(super) fn install(&mut self, view: &GroupView, now: Instant) {
        let before: BTreeMap<Identity, Path> = self.members.drain(..).collect();
        let members = view.members.iter().map(|member| (member.participant, member.incarnation));
        let path = |who| (who, before.get(&who).copied().unwrap_or(Path::NONE));
        self.members.extend(members.map(path));
        (self.probes, self.haste) = (now, SOON);
    }

    /// Returns where the members of the last view are.
    pub(super) fn members(&self) -> impl Iterator<Item = Participant> {
        self.members.iter().map(|((participant, _), _)| *participant)
    }

    /// Returns whether a member hears what is sent to the group's address.
    pub(super) fn is_reached(&self, rank: usize, now: Instant) -> bool {
        self.members.get(rank).is_some_and(|(_, path)| path.hears > now)
    }

    /// Returns whether as many do as make it cheaper than copies.
    pub(super) fn pays(&self, now: Instant) -> bool {
        self.members.iter().filter(|(_, path)| path.hears > now).take(PAYS).count() == PAYS
    }

    /// A packet of a member has arrived by multicast.
    pub(super) fn hear(&mut self, Rank(member): Rank, now: Instant) {
        let until = now + self.lasts();
        if let Some((_, path)) = self.members.get_mut(usize::from(member)) {
            path.heard = until;
        }
    }

    /// A member says whom it hears; returns whether that is as long as it has to be.
    pub(super) fn told(&mut self, by: Rank, me: Rank, octets: &[u8], now: Instant) -> bool {
        let until = now + self.lasts();
        let is_whole = octets.len() == self.members.len().div_ceil(8);
        if is_whole && let Some((_, path)) = self.members.get_mut(usize::from(by.0)) {
            let (octet, bit) = place(me.0.into());
            let hears = octets.get(octet).is_some_and(|octet| octet & bit != 0);
            path.hears = if hears { until } else { Instant::START };
        }
        is_whole
    }

    /// Returns whom this member hears, and who is to be told that apart.
    pub(super) fn probe(&mut self, me: Rank, now: Instant) -> (Vec<u8>, Vec<Participant>) {
        self.probes = now + self.pause() / self.haste;
        self.haste = (self.haste / 2).max(1);
        let mut octets = alloc::vec![0; self.members.len().div_ceil(8)];
        let mut others = Vec::new();
        for (rank, ((participant, _), path)) in self.members.iter().enumerate() {
            if path.heard > now && rank != usize::from(me.0) {
                let (octet, bit) = place(rank);
                octets[octet] |= bit;
                others.extend((path.hears <= now).then_some(*participant));
            }
        }
        (octets, others)
    }

    /// Returns when to call [`probe`](Reach::probe): never where it cannot pay.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        (self.members.len() > PAYS).then_some(self.probes)
    }

    fn pause(&self) -> Duration {
        self.often * (self.members.len().div_ceil(MANY) as u32)
    }

    /// How long what is said is true: one in a row may be lost.
    fn lasts(&self) -> Duration {
        self.pause() * 5 / 2
    }
}

/// Returns the octet of a rank, and its bit there.
const fn place(rank: usize) -> (usize, u8) {
    (rank / 8, 0x80 >> (rank % 8))
}
