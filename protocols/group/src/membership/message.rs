//! What members and those who want to be say to each other about views.

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::Participant;
use stackwright_contract::services::{Ballot, CastCounts, GroupView};
use stackwright_wire::Header;

use crate::wire::{self, Reader};

/// The header of a message about views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ViewsHeader {
    /// 0: PREPARE, 1: PROMISE, 2: REFUSE, 3: ACCEPT, 4: ACCEPTED, 5: INSTALL, 6: JOIN, 7: READY, 8:
    /// LEAVE, 9: ANNOUNCE, 10: NEWER, 11: UNHEARD, 12: HERE, 13: MERGE, 14: MERGED.
    pub kind: u8,
    /// Of PROMISE 1: it has the state, 2: it had accepted a view, 4: it suspects members; of JOIN
    /// 1: it may begin a group; of ANNOUNCE 1: it is the first of its part; of UNHEARD 1: another
    /// is to propose.
    pub flags: u8,
    /// The number of the view of which it speaks.
    pub number: u32,
    /// The count of the ballot that made that view.
    pub made_by_count: u32,
    /// The incarnation of who proposed that view.
    pub made_by: u64,
    /// The count of the ballot.
    pub ballot_count: u32,
    /// The incarnation of who proposes it.
    pub ballot: u64,
}

/// Reads a message about views and writes it again, for tests; `None`: it is none.
pub fn reencoded(octets: &[u8]) -> Option<Vec<u8>> {
    Message::decode(octets).map(|message| message.encode())
}

/// A view as messages name it.
pub(super) type ViewKey = (u32, Ballot);

/// Returns the name of a view.
pub(super) fn key(view: &GroupView) -> ViewKey {
    (view.number, view.ballot)
}

/// A view that was proposed, and what is delivered of each sender before it.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) ballot: Ballot,
    pub(super) view: Arc<GroupView>,
    /// Empty where it is sent to a member that has joined: it delivers nothing of the old view.
    pub(super) target: CastCounts,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// The view of its sender, or that of which it speaks.
    pub(super) of: ViewKey,
    pub(super) ballot: Ballot,
    pub(super) what: What,
}

/// What a message says.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Who hears this promises to take no lower ballot, and nothing more in this view.
    Prepare,
    /// The answer: whether it has the state, what it has, what it had accepted, and the ranks that
    /// it suspects.
    Promise { votes: bool, have: Vec<u32>, accepted: Option<Choice>, suspects: Vec<u16> },
    /// There is a higher ballot.
    Refuse,
    /// This is to be the next view.
    Accept(Choice),
    /// The answer: it has all of the target.
    Accepted,
    /// This is the next view.
    Install(Choice),
    /// Who says it wants to be a member, of the view that HERE named; and whether it begins a group
    /// where there is none.
    Join { founds: bool },
    /// It has the state.
    Ready,
    /// It does not want to be a member any more.
    Leave,
    /// It is in this view, and cannot go on alone; or it is the first of a part that does.
    Announce { first: bool },
    /// There is a newer view than that of the ballot.
    Newer(Arc<GroupView>),
    /// It has not heard the members of these ranks for long; and, where it `yields`, most of the
    /// others have, so that another is to propose.
    Unheard { ranks: Vec<u16>, yields: bool },
    /// Answers JOIN: this view is the one to be named. What was recorded of another names it not.
    /// In a large view, where its sender is not the first, it names that: this one is to be asked.
    Here { first: Option<Participant> },
    /// The first of this part wants to be in the next view with those of this view who stay.
    Merge(Arc<GroupView>),
    /// The answer: both are in this view.
    Merged(Choice),
}

impl What {
    const fn kind(&self) -> u8 {
        match self {
            What::Prepare => 0,
            What::Promise { .. } => 1,
            What::Refuse => 2,
            What::Accept(_) => 3,
            What::Accepted => 4,
            What::Install(_) => 5,
            What::Join { .. } => 6,
            What::Ready => 7,
            What::Leave => 8,
            What::Announce { .. } => 9,
            What::Newer(_) => 10,
            What::Unheard { .. } => 11,
            What::Here { .. } => 12,
            What::Merge(_) => 13,
            What::Merged(_) => 14,
        }
    }
}

impl Message {
    /// Returns its octets: kind, flags, view, ballot, and what the kind has.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut octets = alloc::vec![0; ViewsHeader::LENGTH];
        ViewsHeader {
            kind: self.what.kind(),
            flags: 0,
            number: self.of.0,
            made_by_count: self.of.1.count,
            made_by: self.of.1.incarnation,
            ballot_count: self.ballot.count,
            ballot: self.ballot.incarnation,
        }
        .encode(&mut octets);
        match &self.what {
            What::Promise { votes, have, accepted, suspects } => {
                octets[1] = u8::from(*votes)
                    | u8::from(accepted.is_some()) << 1
                    | u8::from(!suspects.is_empty()) << 2;
                wire::push_counts(&mut octets, have);
                if let Some(choice) = accepted {
                    wire::push_ballot(&mut octets, choice.ballot);
                    push_choice(&mut octets, choice);
                }
                if !suspects.is_empty() {
                    wire::push_ranks(&mut octets, suspects);
                }
            }
            What::Accept(choice) | What::Install(choice) | What::Merged(choice) => {
                push_choice(&mut octets, choice);
            }
            What::Announce { first } => octets[1] = u8::from(*first),
            What::Join { founds } => octets[1] = u8::from(*founds),
            What::Newer(view) | What::Merge(view) => wire::push_view(&mut octets, view),
            What::Unheard { ranks, yields } => {
                octets[1] = u8::from(*yields);
                wire::push_ranks(&mut octets, ranks);
            }
            What::Here { first: Some(first) } => wire::push_participant(&mut octets, *first),
            _ => {}
        }
        octets
    }

    /// Reads a message; `None`: it is none.
    pub(super) fn decode(octets: &[u8]) -> Option<Self> {
        let (head, rest) = octets.split_at_checked(ViewsHeader::LENGTH)?;
        let header = ViewsHeader::decode(head).ok()?;
        let made_by = Ballot { count: header.made_by_count, incarnation: header.made_by };
        let ballot = Ballot { count: header.ballot_count, incarnation: header.ballot };
        let (of, flags) = ((header.number, made_by), header.flags);
        let mut front = Reader(rest);
        let what = match header.kind {
            0 => What::Prepare,
            1 => {
                let have = front.counts()?;
                let accepted = if flags & 2 != 0 {
                    let ballot = front.ballot()?;
                    Some(choice(&mut front, ballot)?)
                } else {
                    None
                };
                let suspects = if flags & 4 != 0 { front.ranks()? } else { Vec::new() };
                What::Promise { votes: flags & 1 != 0, have, accepted, suspects }
            }
            2 => What::Refuse,
            3 => What::Accept(choice(&mut front, ballot)?),
            4 => What::Accepted,
            5 => What::Install(choice(&mut front, ballot)?),
            6 => What::Join { founds: flags & 1 != 0 },
            7 => What::Ready,
            8 => What::Leave,
            9 => What::Announce { first: flags & 1 != 0 },
            10 => What::Newer(front.view()?.into()),
            11 => What::Unheard { ranks: front.ranks()?, yields: flags & 1 != 0 },
            12 => What::Here { first: front.participant() },
            13 => What::Merge(front.view()?.into()),
            14 => What::Merged(choice(&mut front, ballot)?),
            _ => return None,
        };
        Some(Message { of, ballot, what })
    }
}

fn push_choice(octets: &mut Vec<u8>, choice: &Choice) {
    wire::push_view(octets, &choice.view);
    wire::push_counts(octets, &choice.target);
}

fn choice(front: &mut Reader<'_>, ballot: Ballot) -> Option<Choice> {
    let (view, target) = (front.view()?.into(), front.counts()?.into());
    Some(Choice { ballot, view, target })
}
