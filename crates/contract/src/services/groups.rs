//! The service of a group: messages to all members of a view or to one, and who they are.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_wire::Message;

use super::{Batch, Credit, Transfer};
use crate::{Facts, Participant};

/// Messages among the members of a group. `Open` joins the group at the address `remote`, `Close`
/// leaves it in good order, and `Ended` is the last word; credit downward is what every member has
/// room for. A service of groups has no arrivals: `Listen` and `Await` end at once.
#[derive(Debug)]
pub struct Groups<M>(PhantomData<M>);

impl<M: Message> Transfer for Groups<M> {
    const SERVICE: &'static str = "Groups";
    const MESSAGES: bool = true;
    type Message = M;
    type Properties = GroupProperties;
    type Order = GroupOrder<M>;
    type Notice = GroupNotice<M>;

    #[inline]
    fn cost(batch: &Batch<M>) -> Credit {
        batch.cost()
    }
}

/// The place of a member in a [view](GroupView), from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rank(pub u16);

/// For whom a message of a group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GroupKind {
    /// For all members, its sender included.
    #[default]
    Cast,
    /// For one member.
    Send,
    /// A piece of the state, for one member that joins.
    State,
}

/// What is said of a batch of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupProperties {
    /// Upward: from whom; downward: to whom, but for a cast.
    pub member: Rank,
    /// For whom.
    pub kind: GroupKind,
    /// The last piece of the state.
    pub last: bool,
    /// Upward: which of its sender's casts it is, from 1 in each view; downward 0.
    pub number: u32,
}

/// Which proposal of a view it is: of two, the greater wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ballot {
    /// Counted up by whoever proposes.
    pub count: u32,
    /// Its proposer's incarnation, so that no two proposals are equal.
    pub incarnation: u64,
}

/// Who is in a group, until the next view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupView {
    /// One more than that of the view before.
    pub number: u32,
    /// The proposal that made it.
    pub ballot: Ballot,
    /// The members, by their ranks; 65 535 at most.
    pub members: Vec<GroupMember>,
    /// The own rank; `None`: not a member, and only told.
    pub me: Option<Rank>,
    /// Whether a quorum of the last view is in it: of these there is one of a number.
    pub primary: bool,
    /// Of each part of the group that comes from a view of its own, the first rank, where several
    /// come together: the ranks up to the next were in one view before. Empty: there is one part.
    pub parts: Vec<Rank>,
}

impl GroupView {
    /// Returns whether these voters are a quorum, without which no view follows this one: a
    /// majority, or half of them with the first.
    pub fn is_quorum(&self, has: impl Fn(Rank) -> bool) -> bool {
        let voters = || {
            let members = self.members.iter().enumerate().filter(|(_, member)| member.votes);
            members.map(|(rank, _)| has(Rank(rank as u16)))
        };
        let (all, some) = (voters().count(), voters().filter(|has| *has).count());
        2 * some > all || 2 * some == all && voters().next() == Some(true)
    }
}

/// One member of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupMember {
    /// Its address.
    pub participant: Participant,
    /// Drawn at its start: an address that comes back is another member.
    pub incarnation: u64,
    /// Whether it has the state, and counts for a quorum.
    pub votes: bool,
}

/// How much of each sender's casts, by rank.
pub type CastCounts = Arc<[u32]>;

/// A message of a participant that is no member, or to one.
#[derive(Debug)]
pub struct Outsider<M> {
    /// The participant; the group's own address reaches whoever listens there.
    pub participant: Participant,
    /// The incarnation of its sender.
    pub incarnation: u64,
    /// The message.
    pub message: M,
}

/// What a layer of a group tells the one above.
#[derive(Debug)]
pub enum GroupNotice<M> {
    /// A view begins. Told after it went down as [`GroupOrder::Install`], in one nested call.
    View(Arc<GroupView>),
    /// The view will end: after [`GroupOrder::Blocked`] no cast follows in it.
    Block,
    /// A member was silent for too long.
    Suspected(Rank),
    /// A member that was suspected is heard again.
    Heard(Rank),
    /// A member that joins wants the state.
    StateWanted(Rank),
    /// A message of a participant that is no member.
    Outside(Box<Outsider<M>>),
    /// A member reports what it has of each sender.
    Held {
        /// The member.
        by: Rank,
        /// Whether it has the state, and counts for a quorum.
        votes: bool,
        /// Up to which cast of each sender, without a gap; empty: it only says that it lives.
        upto: CastCounts,
    },
    /// Up to which cast of each sender a quorum of the view has all: told in large views, in which
    /// the reports of the members reach only the first.
    HeldByQuorum(CastCounts),
    /// Answers [`GroupOrder::Freeze`]: up to which cast of each sender the log has all.
    Frozen(CastCounts),
    /// Answers [`GroupOrder::Fetch`] and [`GroupOrder::Fill`]: all of the target is here.
    Filled,
}

/// What a layer of a group orders of the one below.
#[derive(Debug)]
pub enum GroupOrder<M> {
    /// A layer is there, with these facts: it says so when the group is opened, so that those below
    /// know what stands on them, and the carrier can tell stacks apart.
    Layer(&'static Facts),
    /// A view begins: numbers, logs and credit of the last one are gone.
    Install(Arc<GroupView>),
    /// Answers [`GroupNotice::Block`]: what was gathered has left.
    Blocked,
    /// It has the state, and may vote.
    Ready,
    /// A member is to be excluded.
    Suspect(Rank),
    /// Sends to a participant that is no member.
    Outside(Box<Outsider<M>>),
    /// Delivers, counts and reports nothing more. Answered by [`GroupNotice::Frozen`].
    Freeze,
    /// Fetches up to this cast of each sender, and delivers none of it: another target may be the
    /// one that is agreed. Answered by [`GroupNotice::Filled`].
    Fetch(CastCounts),
    /// Fetches and delivers exactly up to this cast of each sender. Answered by
    /// [`GroupNotice::Filled`].
    Fill(CastCounts),
}
