//! What both sides agreed on when they arranged a session: a protection is bound to that and to
//! nothing else.

use alloc::vec::Vec;

use stackwright_wire::Header;

use crate::header::{Proposal, Verdict};
use crate::state::Format;

/// Both proposals, the asking side's first.
const PROPOSALS: usize = 2 * Proposal::LENGTH;

/// What both sides agreed on. All of it goes into keys and signatures: an attacker that alters a
/// proposal in transit, so that the sides agree on less than they could, gets a session in which
/// nothing can be opened.
#[derive(Clone, Debug)]
pub(crate) struct Agreed {
    /// Whether this side asked for the session.
    asked: bool,
    /// Both sides' salts.
    pub(crate) salts: [u8; 32],
    /// Both proposals as they were made.
    pub(crate) proposals: [u8; PROPOSALS],
}

/// The direction of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// To the side that granted the session.
    Onward,
    /// To the side that asked for it.
    Back,
}

impl<M> Format<M> {
    /// Writes what both sides agreed on, if they did: first whether this side asked.
    pub(crate) fn write_agreed(&self, into: &mut Vec<u8>) {
        let Some((ours, theirs)) = self.proposals() else { return };
        let asked = theirs.verdict != Verdict::Asked;
        let both = if asked { [ours, theirs] } else { [theirs, ours] };
        into.push(u8::from(asked));
        for proposal in both {
            // Without the fields that differ from one copy to the next, or depend on what its
            // sender holds.
            let proposal = Proposal { verdict: Verdict::Asked, echo: 0, ..*proposal };
            let start = into.len();
            into.resize(start + Proposal::LENGTH, 0);
            proposal.encode(&mut into[start..]);
        }
    }
}

impl Agreed {
    pub(crate) fn read(octets: &[u8]) -> Option<Self> {
        let (asked, proposals) = octets.split_first()?;
        let proposals: [u8; PROPOSALS] = proposals.try_into().ok()?;
        let (first, second) = proposals.split_at(Proposal::LENGTH);
        let mut salts = [0; 32];
        salts[..16].copy_from_slice(&Proposal::decode(first).ok()?.salt);
        salts[16..].copy_from_slice(&Proposal::decode(second).ok()?.salt);
        Some(Agreed { asked: *asked != 0, salts, proposals })
    }

    /// Whether both sides proposed this.
    pub(crate) fn both(&self, wishes: impl Fn(&Proposal) -> bool) -> bool {
        self.proposals
            .chunks(Proposal::LENGTH)
            .all(|octets| Proposal::decode(octets).is_ok_and(|one| wishes(&one)))
    }

    pub(crate) fn ours(&self) -> Direction {
        if self.asked { Direction::Onward } else { Direction::Back }
    }

    pub(crate) fn theirs(&self) -> Direction {
        if self.asked { Direction::Back } else { Direction::Onward }
    }
}
