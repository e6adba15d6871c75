//! A proposal of the next view: a ballot of the first voter that is not suspected and stays.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{Ballot, GroupMember, GroupView};
use stackwright_wire::Message as Octets;

use super::message::{Choice, What, key};
use super::{Identity, NAME, Views, quorum, rank};
use crate::layer::GroupPlace;
use crate::wire;

/// What a proposer knows of its proposal.
pub(super) struct Round {
    ballot: Ballot,
    /// What each member has that has promised, by rank, and whether it has the state.
    promises: BTreeMap<usize, (bool, Vec<u32>)>,
    /// The view of the highest ballot that one of them had accepted.
    adopted: Option<Choice>,
    pub(super) chosen: Option<Choice>,
    accepts: BTreeSet<usize>,
    since: Instant,
}

impl<M: Octets> Views<M> {
    /// Begins, goes on with, or gives up a proposal.
    pub(super) fn go_on(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, round) = (at.cx().now(), self.config.round);
        self.weigh(at);
        if let Some(own) = &self.round {
            if now.since(own.since) > round {
                self.round = None;
                self.waits = now + round.mul_f64(at.cx().random(200) as f64 / 1000.0);
            } else {
                self.advance(at);
            }
            return;
        }
        self.joiners.retain(|_, asked| now.since(*asked) < round);
        let Some(own) = &self.view else { return };
        let members = || own.view.members.iter().enumerate();
        let may_vote = |member: &GroupMember| {
            let who = (member.participant, member.incarnation);
            !member.votes && self.readies.contains(&who)
        };
        let wants = own.doubts.any()
            || own.blocked.is_some()
            || own.is_due
            || !self.joiners.is_empty()
            || !self.leavers.is_empty()
            || members().any(|(_, member)| may_vote(member));
        let lives = || members().filter(|(rank, one)| one.votes && !own.doubts.has(*rank));
        let leaves =
            |member: &GroupMember| self.leavers.contains(&(member.participant, member.incarnation));
        // A member that leaves is gone as soon as it has told of the next view, and may not be
        // heard: another proposes, where there is one.
        let first = lives().find(|(_, member)| !leaves(member)).or_else(|| lives().next());
        let is_first = first.map(|(rank, _)| rank) == own.view.me.map(|me| usize::from(me.0));
        if wants && is_first && now >= self.waits {
            self.propose(at);
        }
    }

    fn propose(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &self.view else { return };
        let count = own.promised.count.max(self.most).saturating_add(1);
        let ballot = Ballot { count, incarnation: self.own.1 };
        self.most = count;
        self.round = Some(Round {
            ballot,
            promises: BTreeMap::new(),
            adopted: None,
            chosen: None,
            accepts: BTreeSet::new(),
            since: at.cx().now(),
        });
        self.say_to_all(at, ballot, &What::Prepare);
    }

    /// Handles PROMISE.
    pub(super) fn promised(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Identity,
        ballot: Ballot,
        (votes, have): (bool, Vec<u32>),
        accepted: Option<Choice>,
    ) {
        let Some(rank) = self.rank(from) else { return };
        let Some(own) = &mut self.view else { return };
        let members = own.view.members.len();
        if !own.may_exist(&have) {
            own.doubts.suspect(rank, Some(at.cx().now()));
            return at.cx().dropped(NAME, "a promise of casts that cannot exist");
        }
        let Some(round) = &mut self.round else { return };
        let fits = accepted.as_ref().is_none_or(|choice| choice.target.len() == members);
        if round.ballot != ballot || round.chosen.is_some() || have.len() != members || !fits {
            return;
        }
        round.promises.insert(rank, (votes, have));
        if let Some(choice) = accepted
            && round.adopted.as_ref().is_none_or(|other| other.ballot < choice.ballot)
        {
            round.adopted = Some(choice);
        }
        self.advance(at);
    }

    /// Handles ACCEPTED.
    pub(super) fn accepted(&mut self, at: &mut dyn GroupPlace<M>, from: Identity, ballot: Ballot) {
        let Some(rank) = self.rank(from) else { return };
        if let Some(round) = self.round.as_mut().filter(|round| round.ballot == ballot) {
            round.accepts.insert(rank);
            self.advance(at);
        }
    }

    /// Handles REFUSE: somebody else proposes.
    pub(super) fn refused(&mut self, at: &mut dyn GroupPlace<M>, higher: Ballot) {
        self.most = self.most.max(higher.count);
        if self.round.take_if(|round| round.ballot < higher).is_some() {
            let tenth = u64::try_from(self.config.round.as_millis()).unwrap_or(u64::MAX) / 6;
            let pause = tenth + at.cx().random(2 * tenth);
            self.waits = at.cx().now() + stackwright_contract::Duration::from_millis(pause);
        }
    }

    fn advance(&mut self, at: &mut dyn GroupPlace<M>) {
        let halves = self.keeps(5);
        let (Some(own), Some(round)) = (&self.view, &self.round) else { return };
        let view = own.view.clone();
        let votes = |rank: usize| round.promises.get(&rank).is_some_and(|(votes, _)| *votes);
        let lives = |rank: &usize| !own.doubts.has(*rank);
        let Some(Choice { view: next, .. }) = &round.chosen else {
            let mut members = (0..view.members.len()).filter(lives);
            if members.all(|rank| round.promises.contains_key(&rank))
                && quorum(&view, halves, votes)
            {
                self.choose(at);
            }
            return;
        };
        let goes_on = |rank: &usize| {
            let GroupMember { participant, incarnation, .. } = view.members[*rank];
            super::rank(next, (participant, incarnation)).is_some()
        };
        let mut promised = round.promises.keys().copied().filter(lives).filter(goes_on);
        let has = |rank: usize| round.accepts.contains(&rank) && votes(rank);
        if promised.all(|rank| round.accepts.contains(&rank)) && quorum(&view, halves, has) {
            self.conclude(at);
        }
    }

    /// A quorum has promised: this is the next view, if a quorum accepts it.
    fn choose(&mut self, at: &mut dyn GroupPlace<M>) {
        let (adopts, votes_at_once) = (self.keeps(4), !self.keeps(6));
        let (Some(own), Some(round)) = (&self.view, &mut self.round) else { return };
        let (old, ballot) = (own.view.clone(), round.ballot);
        // What a quorum may have accepted stays chosen, whoever proposes.
        let adopted = round.adopted.take().filter(|_| adopts);
        let choice = adopted.map(|choice| Choice { ballot, ..choice }).unwrap_or_else(|| {
            let mut members: Vec<GroupMember> = Vec::new();
            for (rank, member) in old.members.iter().enumerate() {
                let who = (member.participant, member.incarnation);
                let Some((has_state, _)) = round.promises.get(&rank) else { continue };
                if self.leavers.contains(&who) || own.doubts.has(rank) {
                    continue;
                }
                let votes = *has_state && (member.votes || self.readies.contains(&who));
                members.push(GroupMember { votes, ..*member });
            }
            for (participant, incarnation) in self.joiners.keys().copied() {
                let is_new = members.iter().all(|member| member.participant != participant);
                if is_new && members.len() < wire::MEMBERS_MOST {
                    let votes = votes_at_once;
                    members.push(GroupMember { participant, incarnation, votes });
                }
            }
            let most = |sender: usize| {
                round.promises.values().map(|(_, have)| have[sender]).max().unwrap_or(0)
            };
            let target = (0..old.members.len()).map(most).collect();
            let number = old.number.saturating_add(1);
            let view = GroupView { number, ballot, members, me: None, primary: true };
            Choice { ballot, view: Arc::new(view), target }
        });
        round.chosen = Some(choice.clone());
        round.since = at.cx().now();
        let to: Vec<_> = round.promises.keys().map(|rank| old.members[*rank].participant).collect();
        for participant in to {
            self.say(at, participant, key(&old), ballot, What::Accept(choice.clone()));
        }
    }

    /// A quorum has accepted: both views are told.
    fn conclude(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(choice) = self.round.take().and_then(|round| round.chosen) else { return };
        let Some(old) = self.view.as_ref().map(|own| own.view.clone()) else { return };
        let is_new =
            |member: &&GroupMember| rank(&old, (member.participant, member.incarnation)).is_none();
        let members = old.members.iter().chain(choice.view.members.iter().filter(is_new));
        for member in members {
            let what = What::Install(choice.clone());
            self.say(at, member.participant, key(&old), choice.ballot, what);
        }
    }
}
