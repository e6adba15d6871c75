//! Who is in a view, and how many of them are enough.

use stackwright_contract::services::{GroupMember, GroupView, Rank};

use super::Identity;

/// Returns the rank of a process in a view.
pub(super) fn rank(view: &GroupView, who: Identity) -> Option<usize> {
    let is_it = |member: &GroupMember| member.incarnation == who.1 && member.participant == who.0;
    view.members.iter().position(is_it)
}

/// Returns whether those voters that `has` names are a quorum: a majority, or half of them with the
/// first. `halves` is so but in a mutant.
pub(crate) fn quorum(view: &GroupView, halves: bool, has: impl Fn(usize) -> bool) -> bool {
    let is_half = || {
        let voters = || view.members.iter().enumerate().filter(|(_, member)| member.votes);
        2 * voters().filter(|(rank, _)| has(*rank)).count() == voters().count()
    };
    view.is_quorum(|Rank(rank)| has(usize::from(rank))) && (halves || !is_half())
}

/// Returns whether the processes that `has` names are a quorum of a view.
#[cfg(test)]
pub(crate) fn quorum_of(view: &GroupView, has: impl Fn(Identity) -> bool) -> bool {
    quorum(view, true, |rank| {
        let member = view.members[rank];
        has((member.participant, member.incarnation))
    })
}
