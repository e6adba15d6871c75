//! A proposal of the next view: a ballot of the first voter that is not suspected and stays.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use core::iter::repeat;

use stackwright_contract::services::{Ballot, CastCounts, GroupMember, GroupView, Rank};
use stackwright_contract::{Duration, Instant};
use stackwright_wire::Message as Octets;

use super::message::{Choice, What, key};
use super::view::{quorum, rank};
use super::{Identity, InView, NAME, Views};
use crate::layer::GroupPlace;
use crate::wire;

/// Rounds for which a member does not propose that hears too little.
const DEAF: u32 = 3;

/// What a proposer knows of its proposal.
pub(super) struct Round {
    ballot: Ballot,
    /// What each member said that has promised, by rank.
    promises: BTreeMap<usize, Promise>,
    /// The view of the highest ballot that one of them had accepted.
    adopted: Option<Choice>,
    pub(super) chosen: Option<Choice>,
    accepts: BTreeSet<usize>,
    since: Instant,
    /// When the promises were asked for last.
    asked: Instant,
    /// Whether all have promised, and another part is asked for a view in common.
    merges: bool,
}

impl Round {
    pub(super) const fn ballot(&self) -> Ballot {
        self.ballot
    }

    /// Returns whether another part is asked for a view in common.
    pub(super) const fn asks_to_merge(&self) -> bool {
        self.merges && self.chosen.is_none()
    }

    /// Returns the most that anybody who promised has of each sender.
    fn target(&self, senders: usize) -> CastCounts {
        let promises = || self.promises.values();
        let most = |sender: usize| promises().map(|promise| promise.have[sender]).max();
        (0..senders).map(|sender| most(sender).unwrap_or(0)).collect()
    }

    /// Returns whether this ballot asks for it.
    pub(super) fn waits_for(&self, ballot: Ballot) -> bool {
        self.asks_to_merge() && self.ballot == ballot
    }
}

/// What a member promised with.
pub(super) struct Promise {
    /// Whether it has the state.
    pub(super) votes: bool,
    /// What it has of each sender.
    pub(super) have: Vec<u32>,
    /// Whom it suspects.
    pub(super) suspects: Vec<u16>,
}

impl<M: Octets> Views<M> {
    /// Begins, goes on with, or gives up a proposal.
    pub(super) fn go_on(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, round) = (at.cx().now(), self.config.round);
        let is_large = self.large_view().is_some();
        self.weigh(at);
        if let Some(own) = &self.round {
            let is_late = now.since(own.asked) > round / 6;
            let is_deaf = self.is_deaf();
            if now.since(own.since) > round && own.asks_to_merge() && self.larger.is_some() {
                // The other part does not answer.
                self.larger = None;
                self.advance(at);
            } else if now.since(own.since) > round {
                let pause = round.mul_f64(at.cx().random(200) as f64 / 1000.0);
                self.give_up(now, pause);
            } else if is_late && (is_deaf || self.each || is_large) {
                // They may have noticed meanwhile; or it was lost, as is likely among many.
                self.ask_again(at, is_deaf);
            } else {
                self.advance(at);
            }
            return;
        }
        self.joiners.retain(|_, asked| now.since(*asked) < round);
        self.guests.retain(|_, guest| now.since(guest.asked) < round / 2);
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
            || !self.guests.is_empty()
            || self.is_to_merge(now)
            || !self.readies.is_empty() && members().any(|(_, member)| may_vote(member));
        if wants && self.is_first() && now >= self.waits {
            self.propose(at);
        }
    }

    /// Returns whether it is the one that proposes.
    pub(super) fn is_first(&self) -> bool {
        let me = self.view.as_ref().and_then(|own| own.view.me);
        me.is_some() && self.first() == me.map(|me| usize::from(me.0))
    }

    /// Returns who proposes the next view, as far as it is known here.
    pub(super) fn first(&self) -> Option<usize> {
        let own = self.view.as_ref()?;
        let members = || own.view.members.iter().enumerate();
        let may = |member: &GroupMember| member.votes || self.each;
        let lives = || members().filter(|(rank, one)| may(one) && !own.doubts.has(*rank));
        let leaves =
            |member: &GroupMember| self.leavers.contains(&(member.participant, member.incarnation));
        // A member that leaves is gone as soon as it has told of the next view, and may not be
        // heard: another proposes, where there is one; also for one that does not hear.
        let stays = |rank: usize, one: &GroupMember| !leaves(one) && !own.doubts.has_yielded(rank);
        let first = lives().find(|(rank, one)| stays(*rank, one)).or_else(|| lives().next());
        first.map(|(rank, _)| rank)
    }

    /// Asks those again who have not answered; `all`: and all others.
    fn ask_again(&mut self, at: &mut dyn GroupPlace<M>, all: bool) {
        let (Some(own), Some(round)) = (&self.view, &mut self.round) else { return };
        round.asked = at.cx().now();
        let (ballot, chosen, view) = (round.ballot, round.chosen.clone(), own.view.clone());
        let asks = |rank: &usize| match &chosen {
            Some(_) => round.promises.contains_key(rank) && !round.accepts.contains(rank),
            None => all || !round.promises.contains_key(rank),
        };
        let asked: Vec<_> = (0..view.members.len()).filter(asks).collect();
        let merges = round.asks_to_merge();
        for rank in asked {
            let what = chosen.clone().map_or(What::Prepare, What::Accept);
            self.say(at, view.members[rank].participant, key(&view), ballot, what);
        }
        if merges {
            self.ask_to_merge(at);
        }
    }

    /// Gives up a proposal. If this member seems to be deaf, others have to leave it out.
    fn give_up(&mut self, now: Instant, pause: Duration) {
        let is_deaf = self.is_deaf();
        self.round = None;
        self.waits = now + pause;
        let yields = is_deaf && self.keeps(15);
        if let Some(InView { view, doubts, .. }) = self.view.as_mut().filter(|_| yields) {
            // They may not see it so, since they know of other pairs that do not hear each other.
            let me = view.me.map_or(0, |me| usize::from(me.0));
            doubts.yields(me, now + DEAF * self.config.round);
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
            asked: at.cx().now(),
            merges: false,
        });
        self.say_to_all(at, ballot, &What::Prepare);
    }

    /// Handles PROMISE.
    pub(super) fn promised(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Identity,
        ballot: Ballot,
        promise: Promise,
        accepted: Option<Choice>,
    ) {
        let Some(rank) = self.rank(from) else { return };
        let Some(own) = &mut self.view else { return };
        let members = own.view.members.len();
        if !own.may_exist(&promise.have) {
            own.doubts.suspect(rank, Some(at.cx().now()));
            return at.cx().dropped(NAME, "a promise of casts that cannot exist");
        }
        let Some(round) = &mut self.round else { return };
        let fits = accepted.as_ref().is_none_or(|choice| choice.target.len() == members);
        if round.ballot != ballot
            || round.chosen.is_some()
            || promise.have.len() != members
            || !fits
        {
            return;
        }
        round.promises.insert(rank, promise);
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
        if self.round.as_ref().is_some_and(|round| round.ballot < higher) {
            let tenth = u64::try_from(self.config.round.as_millis()).unwrap_or(u64::MAX) / 6;
            let pause = tenth + at.cx().random(2 * tenth);
            self.give_up(at.cx().now(), Duration::from_millis(pause));
        }
    }

    fn advance(&mut self, at: &mut dyn GroupPlace<M>) {
        let (halves, each) = (self.keeps(5), self.each);
        let (Some(own), Some(round)) = (&self.view, &self.round) else { return };
        let view = own.view.clone();
        let votes = |rank: usize| round.promises.get(&rank).is_some_and(|promise| promise.votes);
        let lives = |rank: &usize| !own.doubts.has(*rank);
        let Some(Choice { view: next, .. }) = &round.chosen else {
            let mut members = (0..view.members.len()).filter(lives);
            if members.all(|rank| round.promises.contains_key(&rank))
                && (each || quorum(&view, halves, votes))
                && !self.is_deaf()
            {
                self.choose_or_merge(at);
            }
            return;
        };
        let goes_on = |rank: &usize| {
            let GroupMember { participant, incarnation, .. } = view.members[*rank];
            super::rank(next, (participant, incarnation)).is_some()
        };
        let lacks = |rank: &usize| !round.accepts.contains(rank);
        let mut lacking = round.promises.keys().copied().filter(lacks).filter(lives);
        let has = |rank: usize| round.accepts.contains(&rank) && votes(rank);
        if !lacking.any(|rank| goes_on(&rank)) && (each || quorum(&view, halves, has)) {
            self.conclude(at);
        }
    }

    /// Returns whether this member seems not to hear members that the others hear, and they can go
    /// on without it: then it has not to decide who stays.
    fn is_deaf(&self) -> bool {
        let (Some(own), Some(round)) = (&self.view, &self.round) else { return false };
        if round.chosen.is_some() {
            return false;
        }
        let me = own.view.me.map(|me| usize::from(me.0));
        let is_other = |rank: usize| Some(rank) != me && !own.doubts.has(rank);
        let others = round.promises.iter().filter(|(rank, _)| is_other(**rank));
        let said: Vec<&[u16]> = others.map(|(_, promise)| &promise.suspects[..]).collect();
        let can_go_on = quorum(&own.view, true, |rank| Some(rank) != me);
        self.keeps(14) && can_go_on && own.doubts.is_deaf(&said)
    }

    /// All have promised: where there is a larger part, it says what the next view is.
    fn choose_or_merge(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(round) = &mut self.round else { return };
        if self.larger.is_none() || !self.guests.is_empty() {
            round.merges = false;
            return self.choose(at);
        }
        if !core::mem::replace(&mut round.merges, true) {
            self.ask_to_merge(at);
        }
    }

    /// Returns the members that have promised and stay.
    pub(super) fn staying<'a>(
        &'a self,
        round: &'a Round,
    ) -> impl Iterator<Item = GroupMember> + 'a {
        let own = self.view.iter();
        let members = own.flat_map(|own| own.view.members.iter().enumerate().zip(repeat(own)));
        members.filter_map(|((rank, member), own)| {
            let who = (member.participant, member.incarnation);
            let promise = round.promises.get(&rank)?;
            let stays = !self.leavers.contains(&who) && !own.doubts.has(rank);
            let votes = promise.votes && (member.votes || self.readies.contains(&who));
            stays.then_some(GroupMember { votes, ..*member })
        })
    }

    /// A quorum has promised: this is the next view, if a quorum accepts it.
    fn choose(&mut self, at: &mut dyn GroupPlace<M>) {
        let (adopts, votes_at_once) = (self.keeps(4) && !self.each, !self.keeps(6));
        let adopted = self.round.as_mut().and_then(|round| round.adopted.take());
        let (Some(own), Some(round)) = (&self.view, &self.round) else { return };
        let (old, ballot) = (own.view.clone(), round.ballot);
        // What a quorum may have accepted stays chosen, whoever proposes.
        let view = adopted.filter(|_| adopts);
        let choice = view.map(|choice| Choice { ballot, ..choice }).unwrap_or_else(|| {
            let mut members: Vec<GroupMember> = self.staying(round).collect();
            for (participant, incarnation) in self.joiners.keys().copied() {
                let is_new = members.iter().all(|member| member.participant != participant);
                if is_new && members.len() < wire::MEMBERS_MOST {
                    let votes = votes_at_once;
                    members.push(GroupMember { participant, incarnation, votes });
                }
            }
            let (mut number, mut parts) = (old.number, Vec::new());
            for guest in self.guests.values() {
                let first = members.len();
                for member in &guest.members {
                    let is_new =
                        members.iter().all(|other| other.participant != member.participant);
                    if is_new && members.len() < wire::MEMBERS_MOST {
                        members.push(*member);
                    }
                }
                if members.len() > first {
                    let firsts = parts.is_empty().then_some(Rank(0));
                    parts.extend(firsts.into_iter().chain([Rank(first as u16)]));
                    number = number.max(guest.number());
                }
            }
            let (number, me, primary) = (number.saturating_add(1), None, !self.each);
            let view = GroupView { number, ballot, members, me, primary, parts };
            let target = round.target(old.members.len());
            Choice { ballot, view: Arc::new(view), target }
        });
        self.offer_choice(at, choice);
    }

    /// Offers the view of another part, with what is delivered in this one.
    pub(super) fn offer_to_all(&mut self, at: &mut dyn GroupPlace<M>, view: Arc<GroupView>) {
        let (Some(own), Some(round)) = (&self.view, &self.round) else { return };
        let target = round.target(own.view.members.len());
        self.offer_choice(at, Choice { ballot: round.ballot, view, target });
    }

    fn offer_choice(&mut self, at: &mut dyn GroupPlace<M>, choice: Choice) {
        let (Some(own), Some(round)) = (&self.view, &mut self.round) else { return };
        let (old, ballot) = (own.view.clone(), round.ballot);
        round.chosen = Some(choice.clone());
        (round.since, round.asked) = (at.cx().now(), at.cx().now());
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
        self.tell_guests(at, &choice);
    }
}
