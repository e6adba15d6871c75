//! Connection migration: a session whose peer's address has changed goes on at the new one (RFC
//! 9000 §9).
//!
//! ```text
//!  peer, at a new address                              this side
//!     ── any packet of the session ──────────────────▸  the session is not known there
//!     ◂─────────────────────────────────── unknown ──
//!     ── identify, request: both nonces ─────────────▸  the session is found by its own nonce
//!     ◂───────────────────────────────── challenge ──   at most three times what it received
//!     ── identify, reply: both nonces, challenge ────▸  the session moves
//!     ◂═════ data, acknowledgements ═════════════════▸
//! ```
//!
//! The challenge is computed from the address, so that no state is kept for it; until it is
//! answered, the session sends to the old address.

use alloc::collections::BTreeMap;

use stackwright_contract::{Instant, Participant};
use stackwright_policies::connection::TwoStage;
use stackwright_transport::words::{Dropped, Nanoseconds, Opening, SECOND, Signals};
use stackwright_wire::Header;

use crate::control::Item;
use crate::header::{Challenge, ControlHeader, ControlKind, Identity, Packet, Unknown};
use crate::reset;
use crate::state::Format;

/// How long a session is not challenged again.
const CHALLENGED_EVERY: Nanoseconds = SECOND / 3;

/// The octets of a challenge and its answer, with the headers of UDP and IPv4.
const EXCHANGED: usize =
    2 * (28 + Packet::LENGTH + ControlHeader::LENGTH) + Challenge::LENGTH + Identity::LENGTH;

/// The sessions that may move.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    sessions: BTreeMap<u64, Movable>,
}

#[derive(Debug)]
struct Movable {
    session: u8,
    remote: Participant,
    /// When it was last challenged, and how often since it moved.
    challenged: Option<(Instant, u32)>,
}

impl Moves {
    pub(crate) fn insert(&mut self, place: u64, session: u8, remote: Participant) {
        self.sessions.insert(place, Movable { session, remote, challenged: None });
    }

    pub(crate) fn remove(&mut self, place: u64) {
        self.sessions.remove(&place);
    }

    /// Returns the address of a session, if it is the one of this number.
    pub(crate) fn whose(&self, place: u64, session: u8) -> Option<Participant> {
        let movable = self.sessions.get(&place).filter(|movable| movable.session == session)?;
        Some(movable.remote)
    }

    /// Returns whether a session may be challenged now, and counts that.
    pub(crate) fn admits(&mut self, place: u64, now: Instant) -> bool {
        let Some(movable) = self.sessions.get_mut(&place) else { return false };
        let last = movable.challenged;
        let admits = last.is_none_or(|(at, _)| at.later(CHALLENGED_EVERY) <= now);
        if admits {
            movable.challenged = Some((now, last.map_or(1, |(_, times)| times.saturating_add(1))));
        }
        admits
    }

    /// Records that a session has moved. Returns what the challenge has shown of the path.
    pub(crate) fn moved(&mut self, place: u64, now: Instant, to: Participant) -> Option<Opening> {
        let movable = self.sessions.get_mut(&place)?;
        movable.remote = to;
        let (at, tries) = movable.challenged.unwrap_or((now, 2));
        // The old address is challenged now.
        movable.challenged = Some((now, 0));
        let took = now.nanoseconds_since(at);
        Some(Opening { took, tries: tries.max(1), octets: EXCHANGED, peer_delay: None })
    }
}

impl<M> Format<M> {
    /// Handles that the peer does not know the session where packets of this side come from.
    pub(crate) fn unknown(&self, said: &Unknown) -> Signals {
        match &self.reset {
            Some(reset) if reset::is_equal(reset, &said.reset) => TwoStage::LOST,
            _ => TwoStage::UNKNOWN,
        }
    }

    /// Handles a peer that identifies itself where it is known: a repetition, which is to cease.
    pub(crate) fn identified(&self, item: Item<'_>) -> Result<Signals, Dropped> {
        let identity = Identity::decode(item.value)?;
        if identity.session != self.session || identity.token != self.ours.nonce {
            return Err(Dropped::NotOurs);
        }
        Ok(TwoStage::PROBE)
    }

    pub(crate) fn challenged(&mut self, item: Item<'_>) -> Result<Signals, Dropped> {
        let challenge = Challenge::decode(item.value)?;
        if challenge.session != self.session || challenge.token != self.ours.nonce {
            return Err(Dropped::NotOurs);
        }
        self.challenge = challenge.challenge;
        if challenge.reset != [0; 16] {
            self.reset = Some(challenge.reset);
        }
        Ok(Signals::MOVED)
    }

    /// Returns how this side identifies itself: of its own accord, or as the answer to a challenge.
    pub(crate) fn identity(&self, kind: ControlKind) -> Identity {
        Identity {
            session: self.session,
            reserved: (),
            token: self.theirs.as_ref().map_or(0, |theirs| theirs.nonce),
            own: self.ours.nonce,
            challenge: if kind == ControlKind::Reply { self.challenge } else { 0 },
        }
    }
}
