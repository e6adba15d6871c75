//! A large view: what all would say to all others, few say, or to few.

use alloc::sync::Arc;

use stackwright_contract::services::{Ballot, GroupView, Rank};
use stackwright_contract::{Duration, Instant};
use stackwright_wire::Message as Octets;

use super::Views;
use super::message::{What, key};
use crate::layer::GroupPlace;

/// The members of a large view that always answer for all have smaller ranks.
const FRONT: Rank = Rank(3);

impl<M: Octets> Views<M> {
    /// Says something to every member of a small view; in a large one to those who may propose the
    /// next: the first, and the first that is not suspected here and stays.
    pub(super) fn say_to_firsts(&mut self, at: &mut dyn GroupPlace<M>, what: &What) {
        let Some(view) = self.large_view() else {
            return self.say_to_all(at, Ballot::default(), what);
        };
        let next = self.first().filter(|rank| *rank != 0);
        for rank in [0].into_iter().chain(next) {
            let to = view.members[rank].participant;
            self.say(at, to, key(&view), Ballot::default(), what.clone());
        }
    }

    /// Time passes for it this often.
    pub(super) fn often(&self) -> Duration {
        self.config.round / 12
    }

    /// Something has come: it does not wait as long as a quiet member.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.ticks = self.ticks.min(now + self.often());
    }

    /// Returns whether this member has nothing to do before something comes, as most in a large
    /// view.
    pub(super) fn is_quiet(&self) -> bool {
        let Some(own) = self.view.as_ref().filter(|own| own.view.members.len() > self.large) else {
            return false;
        };
        let votes = own.view.me.is_some_and(|me| own.view.members[usize::from(me.0)].votes);
        let is_calm = !own.doubts.any() && own.blocked.is_none() && self.leaves.is_none();
        votes && is_calm && !self.each && !self.is_first()
    }

    /// Returns the own view where it is a large one.
    pub(super) fn large_view(&self) -> Option<Arc<GroupView>> {
        let view = self.view.as_ref().map(|own| &own.view);
        view.filter(|view| view.members.len() > self.large).cloned()
    }

    /// Returns whether this member speaks where any of them may: in a large view the first ones do,
    /// and of the rest, by chance, about as many as are in a small one.
    pub(super) fn is_one_of_few(&self, at: &dyn GroupPlace<M>) -> bool {
        self.large_view().is_none_or(|view| {
            let is_front = view.me.is_some_and(|me| me < FRONT);
            is_front || at.cx().random(view.members.len() as u64) < self.large as u64
        })
    }
}
