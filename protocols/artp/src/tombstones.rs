//! Sessions that are over, of which a peer may not know that.

use alloc::collections::BTreeMap;

use stackwright_base::Arrival;
use stackwright_contract::{Instant, Participant};
use stackwright_wire::{Header as _, Message};

use crate::control::Item;
use crate::header::{Close, ControlHeader, ControlKind, Packet, Proposal};
use crate::sessions::arrangement;
use crate::state::Matter;

/// The octets of a packet that closes a session.
const CLOSE: usize = Packet::LENGTH + ControlHeader::LENGTH + Close::LENGTH;

/// How many sessions are remembered at a time; what is told beyond them is told once.
const MOST: usize = 256;

/// How many packets are answered for one session: its peer needs one answer, and anyone can send in
/// its name.
const ANSWERS_MOST: u8 = 8;

/// The sessions that are over, each for some time.
#[derive(Debug, Default)]
pub(crate) struct Tombstones(BTreeMap<(Participant, u8), Tombstone>);

#[derive(Clone, Copy, Debug)]
struct Tombstone {
    until: Instant,
    /// The packet that tells the peer; its answer to a close differs in the kind of the item.
    close: [u8; CLOSE],
    /// Whether the peer was not told: any packet is answered, and not only its own close.
    tells: bool,
    answers: u8,
}

impl Tombstones {
    /// Remembers that a session is over.
    pub(crate) fn bury(
        &mut self,
        (remote, session): (Participant, u8),
        close: &[u8],
        (now, until): (Instant, Instant),
        tells: bool,
    ) {
        let Ok(close) = close.try_into() else { return };
        if self.0.len() >= MOST {
            self.0.retain(|_, tombstone| tombstone.until > now);
        }
        if self.0.len() < MOST {
            let tombstone = Tombstone { until, close, tells, answers: ANSWERS_MOST };
            self.0.insert((remote, session), tombstone);
        }
    }

    /// Forgets a session whose number is used again.
    pub(crate) fn forget(&mut self, remote: Participant, session: u8) {
        self.0.remove(&(remote, session));
    }

    /// Returns what becomes of a packet that belongs to no session; `None` if it is not one of
    /// these.
    pub(crate) fn arrival<M: Message>(
        &mut self,
        now: Instant,
        (remote, session): (Participant, u8),
        packet: &mut M,
        headroom: usize,
    ) -> Option<Arrival<M>> {
        let tombstone = self.0.get_mut(&(remote, session))?;
        if tombstone.until <= now {
            self.forget(remote, session);
            return None;
        }
        let mut answer = tombstone.close;
        let (closes, proposes) = close_or_proposal(packet);
        if proposes.is_some_and(|nonce| !answer.ends_with(&nonce.to_be_bytes())) {
            return None; // the peer begins a new session under this number
        }
        if closes {
            // It is the answer that was lost.
            let kind = ControlHeader {
                size: (ControlHeader::LENGTH + Close::LENGTH) as u16,
                kind: ControlKind::Reply,
                id: Matter::Close.id(),
            };
            kind.encode(&mut answer[Packet::LENGTH..]);
        }
        if tombstone.answers == 0 || !(closes || tombstone.tells) {
            return Some(Arrival::Ignored("a packet of a session that is over"));
        }
        tombstone.answers -= 1;
        Some(Arrival::Answered(M::with_headroom(headroom, &answer)))
    }
}

/// Returns whether a packet closes a session, and the nonce with which it proposes one.
fn close_or_proposal<M: Message>(packet: &mut M) -> (bool, Option<u64>) {
    let Some(Item { kind: ControlKind::Request, id, value }) = arrangement(packet) else {
        return (false, None);
    };
    let nonce = || Proposal::decode(value).ok().map(|proposal| proposal.nonce);
    match Matter::of(id) {
        Some(Matter::Close) => (true, None),
        Some(Matter::Open) => (false, nonce()),
        _ => (false, None),
    }
}
