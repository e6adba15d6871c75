//! A member: it promises, accepts, and goes to the next view.

use stackwright_contract::services::{Ballot, GroupNotice, GroupOrder, Rank};
use stackwright_contract::{Instant, Participant};
use stackwright_wire::Message as Octets;

use super::message::{Choice, ViewKey, What, key};
use super::view::rank;
use super::{Identity, NAME, Views};
use crate::layer::GroupPlace;

impl<M: Octets> Views<M> {
    pub(super) fn suspect(&mut self, member: Rank, since: Option<Instant>) {
        if let Some(own) = &mut self.view {
            own.doubts.suspect(usize::from(member.0), since);
        }
        since.into_iter().for_each(|now| self.hurry(now));
    }

    /// Handles PREPARE: promises, once nothing more is delivered.
    pub(super) fn prepare(&mut self, at: &mut dyn GroupPlace<M>, from: Identity, ballot: Ballot) {
        self.most = self.most.max(ballot.count);
        let Some(own) = &mut self.view else { return };
        if ballot < own.promised {
            let (of, higher) = (key(&own.view), own.promised);
            return self.say(at, from.0, of, higher, What::Refuse);
        }
        own.promised = ballot;
        own.proposer = Some((from.0, true));
        if self.each {
            // Who has what an agreed view waits for may be in another part now.
            own.installs.take_if(|choice| choice.ballot < ballot);
        }
        self.block(at);
    }

    /// Stops the layers above, and then the log below.
    fn block(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &mut self.view else { return };
        match own.blocked {
            None => {
                own.blocked = Some((at.cx().now(), false));
                self.hurry(at.cx().now());
                at.notice(GroupNotice::Block);
            }
            Some((_, false)) => {}
            Some((_, true)) => self.halt(at),
        }
    }

    /// The layers above cast no more, or were given up.
    pub(super) fn stopped(&mut self, at: &mut dyn GroupPlace<M>) {
        if let Some(own) = &mut self.view
            && let Some((_, stopped @ false)) = &mut own.blocked
        {
            *stopped = true;
            self.halt(at);
        }
    }

    pub(super) fn lose_patience(&mut self, at: &mut dyn GroupPlace<M>) {
        let blocked = self.view.as_ref().and_then(|own| own.blocked);
        if blocked.is_some_and(|(since, _)| at.cx().now().since(since) > self.config.patience) {
            self.stopped(at);
        }
    }

    /// Does what the highest ballot, or the next view, waits for.
    fn halt(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &mut self.view else { return };
        if own.proposer.is_some_and(|(_, waits)| waits) {
            own.fills = None;
            at.order(GroupOrder::Freeze);
        }
        let offered = own.offered.as_ref().filter(|choice| choice.ballot == own.promised);
        let is_agreed = own.installs.is_some();
        let target = own.installs.as_ref().or(offered).map(|choice| choice.target.clone());
        if let Some(target) = target {
            own.fills = Some(target.clone());
            // A target that was offered may lose against another that names less.
            let fill = if is_agreed { GroupOrder::Fill } else { GroupOrder::Fetch };
            at.order(fill(target));
        }
    }

    /// The log below delivers nothing more: the promise leaves.
    pub(super) fn frozen(&mut self, at: &mut dyn GroupPlace<M>, have: &[u32]) {
        let (votes, stops) = (self.is_ready, self.keeps(2));
        let Some(own) = &mut self.view else { return };
        own.holds(have);
        let Some((proposer, waits @ true)) = &mut own.proposer else { return };
        *waits = false;
        let (of, ballot, to) = (key(&own.view), own.promised, *proposer);
        let (have, accepted) = (have.into(), own.accepted.clone());
        let suspects = own.doubts.suspects();
        if !stops {
            let all = own.held.iter().map(|_| u32::MAX).collect();
            at.order(GroupOrder::Fill(all));
        }
        self.say(at, to, of, ballot, What::Promise { votes, have, accepted, suspects });
    }

    /// Handles ACCEPT.
    pub(super) fn offer(&mut self, at: &mut dyn GroupPlace<M>, from: Participant, choice: Choice) {
        let waits_for_target = self.keeps(3);
        let Some(own) = &mut self.view else { return };
        let fits = choice.target.len() == own.view.members.len()
            && (choice.view.number == own.view.number.saturating_add(1)
                || self.each && choice.view.number > own.view.number);
        if choice.ballot < own.promised {
            let (of, higher) = (key(&own.view), own.promised);
            return self.say(at, from, of, higher, What::Refuse);
        }
        if !fits {
            return;
        }
        if !own.may_exist(&choice.target) {
            return at.cx().dropped(NAME, "a target of casts that cannot exist");
        }
        own.promised = choice.ballot;
        own.proposer = Some((from, false));
        if !waits_for_target {
            own.accepted = Some(choice.clone());
        }
        own.offered = Some(choice);
        self.block(at);
    }

    /// Handles INSTALL.
    pub(super) fn told_to_install(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        of: ViewKey,
        choice: Choice,
    ) {
        let own_rank = rank(&choice.view, self.own);
        let Some(own) = &mut self.view else {
            // It has joined: nothing of the view before is delivered.
            if own_rank.is_some() {
                self.is_ready = !self.has_state;
                self.enter(at, &choice.view);
            }
            return;
        };
        if key(&own.view) != of || choice.view.number <= own.view.number {
            return;
        }
        if choice.target.len() != own.view.members.len() {
            return;
        }
        if !own.may_exist(&choice.target) {
            return at.cx().dropped(NAME, "a target of casts that cannot exist");
        }
        if own_rank.is_none() {
            // It keeps the way: others of the old view may have nobody else to ask.
            if self.leaves.is_some() {
                return at.close();
            }
            if self.each {
                return self.goes_alone(at.cx().now(), &choice.view);
            }
            self.fall_out(at);
            if self.keeps(8) {
                self.way_out = Some((of, choice));
            }
            return;
        }
        own.installs = Some(choice);
        self.block(at);
    }

    /// All of the target was delivered: it is accepted, or the next view begins.
    pub(super) fn filled(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &mut self.view else { return };
        let Some(filled) = own.fills.take() else { return };
        if let Some(choice) = own.installs.take_if(|choice| choice.target == filled) {
            self.way_out = Some((key(&own.view), choice.clone()));
            return self.enter(at, &choice.view);
        }
        let offered = own.offered.clone();
        let offered = offered.filter(|choice| choice.ballot == own.promised);
        if let Some(choice) = offered.filter(|choice| choice.target == filled)
            && let Some((proposer, _)) = own.proposer
        {
            let (of, ballot) = (key(&own.view), choice.ballot);
            own.accepted = Some(choice);
            self.say(at, proposer, of, ballot, What::Accepted);
        }
    }
}
