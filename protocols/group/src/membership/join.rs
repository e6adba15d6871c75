//! Who is in no view, and who was left behind in an old one.

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{Ballot, GroupMember, GroupView};
use stackwright_contract::{Duration, Instant, Participant};
use stackwright_wire::Message as Octets;

use super::message::{Choice, ViewKey, What, key};
use super::view::rank;
use super::{HINT, Identity, JOINERS_MOST, NAME, NEIGHBOURS_MOST, Views};
use crate::layer::GroupPlace;

/// Rounds for which a member that was left out does not join again.
const LEFT_OUT: u32 = 10;

/// How many answers have left lately.
pub(super) struct Answers(Instant);

impl Answers {
    pub(super) const NONE: Self = Answers(Instant::START);

    /// Returns whether one more may leave, of which there is one in each `time` on average, and
    /// `most` at once.
    pub(super) fn allows(&mut self, now: Instant, time: Duration, most: u32) -> bool {
        let allows = self.0.since(now) <= time * (most - 1);
        if allows {
            self.0 = self.0.max(now) + time;
        }
        allows
    }
}

impl<M: Octets> Views<M> {
    /// Asks to be a member; founds a group where there is none.
    pub(super) fn join(&mut self, at: &mut dyn GroupPlace<M>) {
        let (Some(group), now) = (self.group, at.cx().now()) else { return };
        if self.config.founding.is_some_and(|founding| now.since(self.silent) >= founding) {
            let (participant, incarnation) = self.own;
            let members = alloc::vec![GroupMember { participant, incarnation, votes: true }];
            let ballot = Ballot { count: 0, incarnation };
            let parts = Vec::new();
            let view =
                GroupView { number: 1, ballot, members, me: None, primary: !self.each, parts };
            self.is_ready = true;
            return self.enter(at, &view);
        }
        let founds = self.config.founding.is_some();
        self.say(at, group, ViewKey::default(), Ballot::default(), What::Join { founds });
    }

    /// Returns whether there is somebody who wants to join.
    #[cfg(test)]
    pub(crate) fn has_joiners(&self) -> bool {
        !self.joiners.is_empty()
    }

    /// Handles HERE: names the view.
    pub(super) fn is_answered(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Participant,
        of: ViewKey,
        first: Option<Participant>,
    ) {
        if let Some(larger) = self.larger.as_mut().filter(|larger| larger.first == from) {
            larger.of = of;
            if self.round.as_ref().is_some_and(|round| round.asks_to_merge()) {
                self.ask_to_merge(at);
            }
        } else if self.view.is_none() {
            self.silent = at.cx().now();
            let founds = self.config.founding.is_some();
            let to = first.unwrap_or(from);
            self.say(at, to, of, Ballot::default(), What::Join { founds });
        }
    }

    /// Handles JOIN. What names another view may be old, and said again by who recorded it.
    pub(super) fn asked_to_join(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Identity,
        of: ViewKey,
        founds: bool,
    ) {
        let Some(own) = &self.view else {
            if founds && from.0 < self.own.0 {
                self.silent = at.cx().now();
            }
            return;
        };
        if rank(&own.view, from).is_some() {
            // It is in the view and was never told so.
            if self.keeps(7) {
                let (of, view) = (key(&own.view), own.view.clone());
                let choice = Choice { ballot: view.ballot, view, target: Arc::new([]) };
                self.say(at, from.0, of, choice.ballot, What::Install(choice));
            }
            return;
        }
        self.waiters.retain(|_, until| *until > at.cx().now());
        if self.waiters.contains_key(&from.0) {
            return;
        }
        let (now, here) = (at.cx().now(), key(&own.view));
        if of != here {
            let asked = self.joiners.get(&from);
            let is_recent = asked.is_some_and(|asked| now.since(*asked) < self.config.round / 2);
            if !is_recent && self.hints.allows(now, HINT, JOINERS_MOST as u32) {
                // Who joins may know few of many, and not the one that proposes.
                let first = self.large_view().zip(self.first());
                let first = first.map(|(view, first)| view.members[first].participant);
                let first = first.filter(|first| *first != self.own.0);
                self.say(at, from.0, here, Ballot::default(), What::Here { first });
            }
            return;
        }
        let host = |who: &Identity| who.0.internet().map(|address| address.ip());
        let neighbours = || self.joiners.keys().filter(|other| host(other) == host(&from)).count();
        let is_known = self.joiners.contains_key(&from);
        if is_known || self.joiners.len() < JOINERS_MOST && neighbours() < NEIGHBOURS_MOST {
            self.joiners.insert(from, at.cx().now());
        } else {
            at.cx().dropped(NAME, "there are too many joiners");
        }
    }

    /// Says what other members have to know of it.
    pub(super) fn speak_up(&mut self, at: &mut dyn GroupPlace<M>) {
        let (Some(own), Some(group)) = (&self.view, self.group) else { return };
        let of = key(&own.view);
        let votes = own.view.me.is_some_and(|me| own.view.members[usize::from(me.0)].votes);
        let promised = own.promised;
        let unheard = own.doubts.unheard(at.cx().now(), self.config.round);
        let yields = own.view.me.is_some_and(|me| own.doubts.has_yielded(usize::from(me.0)));
        let is_stuck = own.blocked.is_some() || own.doubts.any();
        if !votes && self.is_ready {
            self.say_to_firsts(at, &What::Ready);
        }
        if self.leaves.is_some() {
            self.say_to_firsts(at, &What::Leave);
        }
        if !unheard.is_empty() {
            self.say_to_firsts(at, &What::Unheard { ranks: unheard, yields });
        }
        if is_stuck && self.keeps(9) && self.is_one_of_few(at) {
            self.say(at, group, of, promised, What::Announce { first: false });
        }
    }

    /// Handles ANNOUNCE: who is in an older view is told. In the own view a ballot that is not
    /// known here has stopped its sender, and maybe nobody else: the next view is due.
    pub(super) fn announced(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Identity,
        (of, promised): (ViewKey, Ballot),
        first: bool,
    ) {
        let goes_on = self.keeps(11) && self.rank(from).is_some();
        let is_one_of_few = self.is_one_of_few(at);
        let Some(own) = &mut self.view else {
            self.silent = at.cx().now();
            return;
        };
        if first && rank(&own.view, from).is_none() {
            self.heard_of_part(at.cx().now(), from, of);
        } else if key(&own.view) == of && promised > own.promised && goes_on {
            own.is_due = true;
            self.most = self.most.max(promised.count);
        } else if own.view.number > of.0 && is_one_of_few {
            let (newer, view) = (key(&own.view), own.view.clone());
            self.say(at, from.0, newer, of.1, What::Newer(view));
            self.show_way_out(at, from.0, of);
        }
    }

    /// Handles UNHEARD.
    pub(super) fn complained(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Identity,
        (unheard, yields): (Vec<u16>, bool),
    ) {
        let (now, round, counts) = (at.cx().now(), self.config.round, self.keeps(13));
        if let Some(by) = self.rank(from).filter(|_| counts)
            && let Some(own) = &mut self.view
        {
            own.doubts.hear(by, now, unheard);
            // It says so again while it does.
            if yields && from != self.own {
                own.doubts.yields(by, now + round);
            }
        }
    }

    /// Leaves out who and others do not hear each other: until that may be over, it would only be
    /// left out again.
    pub(super) fn weigh(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, round) = (at.cx().now(), self.config.round);
        let Some(own) = &mut self.view else { return };
        own.doubts.weigh(now, round);
        for rank in own.doubts.left_out() {
            let participant = own.view.members[rank].participant;
            self.waiters.insert(participant, now + LEFT_OUT * round);
        }
    }

    /// Tells a member of the last view how it goes on.
    pub(super) fn show_way_out(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        to: Participant,
        of: ViewKey,
    ) {
        if let Some((last, choice)) = &self.way_out
            && *last == of
        {
            let choice = choice.clone();
            self.say(at, to, of, choice.ballot, What::Install(choice));
        }
    }

    /// Handles NEWER, which names the ballot of the view of which it was asked. The view after the
    /// own one comes as INSTALL, from whoever answers; of a later one it is no member.
    pub(super) fn left_behind(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        ballot: Ballot,
        newer: &GroupView,
    ) {
        let own = self.view.as_ref().filter(|own| own.view.ballot == ballot);
        let Some(own) = own else { return };
        let is_later = newer.number > own.view.number.saturating_add(1);
        // Of parts, a view that is newer says nothing of who went there.
        if is_later && !self.each && rank(newer, self.own).is_none() {
            self.fall_out(at);
        }
    }

    /// It is in no view any more, and comes back as another.
    pub(super) fn fall_out(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &self.view else { return };
        let view = GroupView { members: Vec::new(), primary: false, ..(*own.view).clone() };
        self.own.1 = at.cx().random(u64::MAX);
        (self.is_ready, self.way_out) = (false, None);
        self.silent = at.cx().now();
        // What it had to say belongs to its old life: its application may have said it again.
        for (batch, _) in core::mem::take(&mut self.held) {
            at.give(batch.cost());
        }
        self.enter(at, &view);
    }
}
