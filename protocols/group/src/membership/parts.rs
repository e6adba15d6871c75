//! Partitions in which each part goes on. When parts hear each other again, the one with the
//! smaller view ends that as for any next view, and asks the first member of the other to have the
//! next one in common. What each delivers before is agreed in each.
//!
//! ```text
//! first of the larger ── ANNOUNCE ──▸ the group
//!   first of the smaller: PREPARE to its members, all promise
//! first of the smaller ── MERGE(its members) ──▸ first of the larger
//!   its own round, whose next view has both
//! first of the larger ── INSTALL ──▸ its members,   MERGED(view) ──▸ first of the smaller
//!   ACCEPT(view, own target) to its members, all accept, INSTALL
//! ```

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{
    Ballot, Batch, Credit, GroupMember, GroupNotice, GroupOrder, GroupProperties, GroupView,
};
use stackwright_contract::{Duration, Facts, Guarantees, Instant, Participant};
use stackwright_wire::Message as Octets;

use super::message::{Choice, ViewKey, What, key};
use super::view::rank;
use super::{Identity, JOINERS_MOST, Views, ViewsConfig};
use crate::layer::{GroupHooks, GroupPlace};
use crate::wire;

/// One question of a part that wants to merge is answered in this time, on average.
const MERGE: Duration = Duration::from_millis(10);

/// The hooks of a membership in which each part of a divided group goes on, so that there may be
/// several views of a number, of which none is primary. What needs one history of all members, as
/// safe delivery or a state, does not stand on it.
pub struct PartitionedViews<M>(Views<M>);

/// Another part of the group, and its first member.
pub(super) struct Larger {
    pub(super) first: Participant,
    pub(super) of: ViewKey,
    /// Since when one is known.
    pub(super) since: Instant,
}

/// A part that wants to be in the next view.
pub(super) struct Guest {
    /// The ballot that has ended its view, and that view's name.
    ballot: Ballot,
    of: ViewKey,
    pub(super) asked: Instant,
    pub(super) members: Vec<GroupMember>,
}

impl Guest {
    /// Returns the number of its view.
    pub(super) const fn number(&self) -> u32 {
        self.of.0
    }
}

impl<M: Octets> PartitionedViews<M> {
    /// Makes the hooks.
    pub fn new(config: ViewsConfig) -> Self {
        PartitionedViews(Views { each: true, ..Views::new(config) })
    }

    /// Returns the views that it is in, was offered, has accepted or proposes.
    pub fn views(&self) -> impl Iterator<Item = &GroupView> {
        self.0.views().0
    }
}

impl<M: Octets> Views<M> {
    /// Tells other parts, if there are any, of this one.
    pub(super) fn announce(&mut self, at: &mut dyn GroupPlace<M>) {
        let now = at.cx().now();
        if !self.each || now < self.announces || !self.is_first() {
            return;
        }
        let (Some(own), Some(group)) = (&self.view, self.group) else { return };
        let (of, promised) = (key(&own.view), own.promised);
        self.announces = now + self.config.round;
        self.say(at, group, of, promised, What::Announce { first: true });
    }

    /// Handles ANNOUNCE of the first member of another part. All of them are waited for: who joins
    /// the largest one does it once.
    pub(super) fn heard_of_part(&mut self, now: Instant, from: Identity, of: ViewKey) {
        let Some(own) = self.view.as_ref().filter(|_| self.each) else { return };
        let known = self.larger.as_ref();
        if of > key(&own.view) && known.is_none_or(|larger| larger.of <= of) {
            let since = known.map_or(now, |larger| larger.since);
            self.larger = Some(Larger { first: from.0, of, since });
        }
    }

    /// Returns whether another part has been known for long enough.
    pub(super) fn is_to_merge(&self, now: Instant) -> bool {
        let larger = self.larger.as_ref();
        larger.is_some_and(|larger| now.since(larger.since) > self.config.round)
    }

    /// Asks the first of the larger part for a view in common, once all have promised.
    pub(super) fn ask_to_merge(&mut self, at: &mut dyn GroupPlace<M>) {
        let (Some(own), Some(round), Some(larger)) = (&self.view, &self.round, &self.larger) else {
            return;
        };
        let GroupView { number, ballot, .. } = *own.view;
        let members = self.staying(round).collect();
        let (me, primary, parts) = (None, false, Vec::new());
        let view = GroupView { number, ballot, members, me, primary, parts };
        let (to, of, ballot) = (larger.first, larger.of, round.ballot());
        self.say(at, to, of, ballot, What::Merge(view.into()));
    }

    /// Handles MERGE.
    pub(super) fn asked_to_merge(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: Identity,
        (of, ballot): (ViewKey, Ballot),
        theirs: &GroupView,
    ) {
        let now = at.cx().now();
        self.waiters.retain(|_, until| *until > now);
        let is_first = self.is_first();
        let Some(own) = self.view.as_ref().filter(|_| self.each) else { return };
        if self.waiters.contains_key(&from.0) {
            return;
        }
        // The answer was lost.
        let merged = self.merged.iter().find(|(first, with, _)| (*first, *with) == (from, ballot));
        if let Some((.., choice)) = merged {
            let choice = choice.clone();
            return self.say(at, from.0, of, ballot, What::Merged(choice));
        }
        let here = key(&own.view);
        if of != here {
            if self.hints.allows(now, MERGE, JOINERS_MOST as u32) {
                self.say(at, from.0, here, Ballot::default(), What::Here { first: None });
            }
            return;
        }
        // Who is still in the own view has gone another way. Once it is left out, it may come.
        let is_here =
            |one: &GroupMember| rank(&own.view, (one.participant, one.incarnation)).is_some();
        if theirs.members.iter().any(is_here) {
            return self.goes_alone(now, theirs);
        }
        let is_busy = self.larger.is_some() && self.round.is_some();
        let others = self.guests.iter().filter(|(first, _)| **first != from);
        let waits: usize = others.map(|(_, guest)| guest.members.len()).sum();
        let all = own.view.members.len() + waits + theirs.members.len();
        if is_first && !is_busy && all <= wire::MEMBERS_MOST && rank(theirs, from).is_some() {
            self.larger = None;
            let (of, members) = (key(theirs), theirs.members.clone());
            // What was asked for before, of any of them, is over.
            let is_theirs =
                |one: &GroupMember| rank(theirs, (one.participant, one.incarnation)).is_some();
            self.guests.retain(|_, guest| !guest.members.iter().any(is_theirs));
            self.guests.insert(from, Guest { ballot, of, asked: now, members });
        }
    }

    /// Handles MERGED: what the other part has installed is offered in this one.
    pub(super) fn is_merged(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        ballot: Ballot,
        view: &Arc<GroupView>,
    ) {
        let Some(own) = self.view.as_ref().filter(|_| self.larger.is_some()) else { return };
        let is_next =
            view.number > own.view.number && !view.primary && rank(view, self.own).is_some();
        let is_it = self.round.as_ref().is_some_and(|round| round.waits_for(ballot));
        if is_next && is_it {
            self.offer_to_all(at, view.clone());
        }
    }

    /// Tells the first members of the parts in a view that was installed; they may ask again.
    pub(super) fn tell_guests(&mut self, at: &mut dyn GroupPlace<M>, choice: &Choice) {
        self.merged.clear();
        for (first, Guest { ballot, of, .. }) in core::mem::take(&mut self.guests) {
            if rank(&choice.view, first).is_some() {
                self.merged.push((first, ballot, choice.clone()));
                self.say(at, first.0, of, ballot, What::Merged(choice.clone()));
            }
        }
    }

    /// These have gone on without this member: it goes on without them.
    pub(super) fn goes_alone(&mut self, now: Instant, without: &GroupView) {
        let Some(own) = &mut self.view else { return };
        for (rank, member) in own.view.members.iter().enumerate() {
            let who = (member.participant, member.incarnation);
            if who != self.own && super::view::rank(without, who).is_some() {
                own.doubts.suspect(rank, Some(now));
            }
        }
    }
}

impl<M: Octets> GroupHooks<M> for PartitionedViews<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::VIEWS.and(Guarantees::SYNCHRONY),
        name: "group parts",
        ..<Views<M> as GroupHooks<M>>::FACTS
    };

    fn open(&mut self, at: &mut dyn GroupPlace<M>, group: Participant, credit: Credit) {
        self.0.open(at, group, credit);
    }

    fn opened(&mut self, at: &mut dyn GroupPlace<M>, local: Participant, credit: Credit) {
        self.0.opened(at, local, credit);
    }

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, to: GroupProperties) {
        self.0.send(at, batch, to);
    }

    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        self.0.order(at, order);
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        self.0.notice(at, notice);
    }

    fn close(&mut self, at: &mut dyn GroupPlace<M>) {
        self.0.close(at);
    }

    fn ended(&mut self) {
        GroupHooks::<M>::ended(&mut self.0);
    }

    fn timeout(&mut self, at: &mut dyn GroupPlace<M>) {
        self.0.timeout(at);
    }

    fn next_deadline(&self) -> Option<Instant> {
        GroupHooks::<M>::next_deadline(&self.0)
    }
}
