//! Members on links that lose nothing but what a trial says: one fault at a time, at any moment.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::vec::Vec;

use fastrand::Rng;
use stackwright_contract::services::{GroupView, GroupsRequest};
use stackwright_contract::{Duration, Participant};
use stackwright_group_checker::GroupRecord;
use stackwright_simulator::{Conditions, Deed, Event, StationId, World};

use super::scene::{Replica, crash};
use super::seeds::{M, Process, Stack, added, host, open};

/// A group, and whoever may join it.
pub(super) struct Calm {
    pub(super) world: World<M>,
    pub(super) members: Vec<StationId<Stack, Process>>,
    pub(super) facts: Rc<RefCell<GroupRecord>>,
    random: Rng,
}

impl Calm {
    /// Returns `first` of `all` members in one view.
    pub(super) fn new(first: usize, all: usize, seed: u64, mutant: u8) -> Self {
        let mut world = World::new(seed);
        let facts: Rc<RefCell<GroupRecord>> = Rc::default();
        let members = added(&mut world, all, mutant, &facts);
        let random = Rng::with_seed(seed);
        let mut calm = Calm { world, members, facts, random };
        calm.heal();
        (0..first).for_each(|station| calm.open(station));
        let founders: Vec<_> = (0..first).collect();
        let all_vote = |calm: &Calm| calm.view(0).unwrap().members.iter().all(|one| one.votes);
        let is_there = |calm: &Calm| calm.are_together(&founders) && all_vote(calm);
        assert!(calm.passes(3000, is_there), "the group begins");
        calm
    }

    pub(super) fn open(&mut self, station: usize) {
        let name = self.world.application(self.members[station]).name;
        self.world.ask(self.members[station], open(name, station));
    }

    pub(super) fn crash(&mut self, station: usize) {
        crash(&mut self.world, self.members[station]);
    }

    pub(super) fn leave(&mut self, station: usize) {
        let name = self.world.application(self.members[station]).name;
        self.world.ask(self.members[station], GroupsRequest::Close { name });
    }

    /// Loses everything from one member to another, or nothing.
    pub(super) fn cut(&mut self, from: usize, to: usize, is_cut: bool) {
        let loss = f64::from(u8::from(is_cut)).into();
        let conditions = Conditions { loss, delay: Duration::from_millis(1), ..Conditions::IDEAL };
        self.world.network_mut().set_link(host(from), host(to), conditions);
    }

    /// All hear all.
    pub(super) fn heal(&mut self) {
        let all = self.members.len();
        for from in 0..all {
            (0..all).filter(|to| *to != from).for_each(|to| self.cut(from, to, false));
        }
    }

    /// Does this to the `nth` packet that a member sends from now on to each of the others.
    pub(super) fn script(&mut self, from: usize, others: &[usize], nth: u64, deed: Deed) {
        for to in others.iter().copied().filter(|to| *to != from) {
            let events = Vec::from([Event { nth, deed }]);
            self.world.network_mut().script(host(from), host(to), events);
        }
    }

    pub(super) fn view(&self, station: usize) -> Option<&Arc<GroupView>> {
        self.world.application(self.members[station]).view.as_ref()
    }

    /// Returns whether somebody wants to join the view of a member.
    pub(super) fn has_joiners(&self, station: usize) -> bool {
        let stack = self.world.stack(self.members[station]);
        stack.membership().has_joiners()
    }

    /// Returns whether a member has accepted the next view.
    pub(super) fn accepted(&self, station: usize) -> bool {
        let stack = self.world.stack(self.members[station]);
        let (views, _) = stack.membership().views();
        // It was offered, and accepted.
        views.filter(|view| view.number > self.view(station).unwrap().number).count() == 2
    }

    /// Lets one of `who` cast, and 10 ms pass.
    pub(super) fn step(&mut self, who: &[usize]) {
        let station = self.members[who[self.random.usize(..who.len())]];
        let member = self.world.application_mut(station);
        if member.view.is_some() && !member.blocked {
            let cast = member.cast();
            self.world.ask(station, cast);
        }
        self.world.run_for(Duration::from_millis(10));
    }

    /// Returns whether these are in one view, and nobody else.
    pub(super) fn are_together(&self, who: &[usize]) -> bool {
        let mut own: Vec<Participant> = who.iter().map(|at| super::seeds::at(*at)).collect();
        own.sort();
        let number = self.view(who[0]).map(|view| view.number);
        who.iter().all(|station| {
            let has_state = self.world.application(self.members[*station]).index.is_some();
            let is_it = |view: &Arc<GroupView>| {
                let mut members: Vec<_> =
                    view.members.iter().map(|member| member.participant).collect();
                members.sort();
                Some(view.number) == number && members == own
            };
            has_state && self.view(*station).is_some_and(is_it)
        })
    }

    /// Lets up to so many milliseconds pass until these are in one view.
    pub(super) fn comes_together(&mut self, who: &[usize], most: u64) -> bool {
        self.passes(most, |calm| calm.are_together(who))
    }

    /// Lets up to so many milliseconds pass, a quarter at a time, until this is so.
    pub(super) fn passes(&mut self, most: u64, is_so: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..4 * most {
            if is_so(self) {
                return true;
            }
            self.world.run_for(Duration::from_micros(250));
        }
        is_so(self)
    }

    /// Returns what of the promises was broken.
    pub(super) fn broken(&self) -> Vec<&'static str> {
        self.facts.borrow().broken()
    }
}
