//! Replicas, what befalls them, and whether they are one group again.

use std::cell::RefCell;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use fastrand::Rng;
use stackwright_contract::Duration;
use stackwright_contract::Protocol;
use stackwright_contract::services::{Groups, GroupsRequest};
use stackwright_group_checker::GroupRecord;
use stackwright_simulator::{Conditions, Lanes, StationId, World};

use super::seeds::{M, Process, carries, host, open};
use crate::Views;
use crate::membership::quorum_of;

/// A stack of replicas.
pub(super) trait Replica: Protocol<Provides = Groups<M>, Uses: Lanes<M>> + 'static {
    /// Returns its layer of views.
    fn membership(&self) -> &Views<M>;
}

/// How much is lost with this seed.
pub(super) fn loss(seed: u64) -> f64 {
    [0.0, 0.01, 0.05, 0.15][(seed / 5 % 4) as usize]
}

pub(super) struct Scene<S> {
    pub(super) world: World<M>,
    pub(super) members: Vec<StationId<S, Process>>,
    pub(super) alive: Vec<bool>,
    pub(super) facts: Rc<RefCell<GroupRecord>>,
    /// Whether multicast reaches now some of them, now others.
    pub(super) reach: bool,
    random: Rng,
    loss: f64,
}

/// What came of a run.
pub(super) struct Outcome {
    pub(super) broken: Vec<&'static str>,
    /// How long after the last fault all were in one view; `None`: within 30 s they were not.
    pub(super) together: Option<Duration>,
    pub(super) installs: u64,
    pub(super) deliveries: u64,
    /// For people.
    pub(super) end: Vec<String>,
}

/// Members with different numbers do not hear each other; of what the others send, so much is lost.
pub(super) fn divide(world: &mut World<M>, loss: f64, parts: &[u8]) {
    let conditions = Conditions {
        loss: loss.into(),
        duplicate: 0.02,
        delay: Duration::from_millis(1),
        jitter: Duration::from_millis(15),
        ..Conditions::IDEAL
    };
    let parts = parts.iter().enumerate().map(|(station, part)| (host(station), *part));
    world.network_mut().split(parts, &conditions);
}

/// Ends a member, and with it its memory; it may be opened again, as another.
pub(super) fn crash<P>(world: &mut World<M>, member: StationId<P, Process>)
where
    P: Protocol<Provides = Groups<M>, Uses: Lanes<M>> + 'static,
{
    let association = world.application(member).name;
    world.application_mut(member).die();
    world.ask(member, GroupsRequest::Abort { association, code: 0 });
}

impl<S: Replica> Scene<S> {
    /// Opens the replicas that `added` returns.
    pub(super) fn new(
        seed: u64,
        loss: f64,
        added: impl FnOnce(&mut World<M>, &Rc<RefCell<GroupRecord>>) -> Vec<StationId<S, Process>>,
    ) -> Self {
        let mut world = World::new(seed);
        world.keep_drops();
        let facts: Rc<RefCell<GroupRecord>> = Rc::default();
        let members = added(&mut world, &facts);
        let (random, alive) = (Rng::with_seed(seed), vec![true; members.len()]);
        let mut scene = Scene { world, members, alive, facts, reach: false, random, loss };
        scene.heal();
        (0..scene.members.len()).for_each(|station| scene.open(station));
        scene
    }

    fn conditions(&mut self, parts: &[u8]) {
        divide(&mut self.world, self.loss, parts);
    }

    fn heal(&mut self) {
        self.conditions(&vec![0; self.members.len()]);
    }

    fn open(&mut self, station: usize) {
        let name = self.world.application(self.members[station]).name;
        self.world.ask(self.members[station], open(name, station));
    }

    pub(super) fn crash(&mut self, station: usize) {
        crash(&mut self.world, self.members[station]);
        self.alive[station] = false;
    }

    fn revive(&mut self, most: usize) {
        let dead: Vec<_> = (0..self.alive.len()).filter(|at| !self.alive[*at]).take(most).collect();
        for station in dead {
            self.alive[station] = true;
            self.open(station);
        }
    }

    fn living(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|station| self.alive[*station])
    }

    /// Whether a quorum of every view that is current, offered or accepted keeps its memory without
    /// this station: more than that loses the group.
    fn can_lose(&self, station: usize) -> bool {
        let membership = |at: usize| self.world.stack(self.members[at]).membership();
        self.living().all(|other| {
            let (mut views, _) = membership(other).views();
            views.all(|view| {
                quorum_of(view, |member| {
                    self.living().any(|one| {
                        let (_, ready) = membership(one).views();
                        one != station && ready && membership(one).identity() == member
                    })
                })
            })
        })
    }

    /// Lets 10 ms pass; in six of ten times a member casts.
    pub(super) fn step(&mut self) {
        self.world.run_for(Duration::from_millis(10));
        let any = self.random.usize(..self.members.len());
        let member = self.world.application_mut(self.members[any]);
        if self.alive[any] && member.view.is_some() && !member.blocked && self.random.u8(..10) < 6 {
            let cast = member.cast();
            self.world.ask(self.members[any], cast);
        }
    }

    fn fault(&mut self) {
        let count = self.members.len();
        match self.random.u32(..if self.reach { 8 } else { 4 }) {
            0 => {
                let parts: Vec<u8> = (0..count).map(|_| self.random.u8(..2)).collect();
                self.conditions(&parts);
            }
            1 => self.heal(),
            2 => {
                let any = self.random.usize(..count);
                let dead = count - self.living().count();
                if dead < (count - 1) / 2 && self.alive[any] && self.can_lose(any) {
                    self.crash(any);
                }
            }
            3 => self.revive(1),
            _ => {
                let hosts: Vec<_> = (0..count).filter(|_| self.random.u8(..3) > 0).collect();
                carries(&mut self.world, hosts.into_iter());
            }
        }
    }

    /// Returns whether all that live are in one view of them alone, and have the state.
    fn are_together(&self) -> bool {
        let application = |at: usize| self.world.application(self.members[at]);
        let first = self.living().next().and_then(|at| application(at).view.as_ref());
        first.is_some_and(|first| {
            self.living().all(|at| {
                let (member, count) = (application(at), self.living().count());
                let view = member.view.as_ref();
                let is_it = view
                    .is_some_and(|view| view.number == first.number && view.members.len() == count);
                is_it && member.index.is_some()
            })
        })
    }

    /// Returns whether that is so within `steps`.
    pub(super) fn comes_together(&mut self, steps: usize) -> bool {
        (0..steps).any(|_| {
            self.step();
            self.are_together()
        })
    }

    /// Lets 20 seconds of faults pass, and then heals all.
    pub(super) fn run(mut self) -> Outcome {
        let count = self.members.len();
        for step in 0..2100 {
            self.step();
            let faults = if self.reach { 4 } else { 2 };
            if step >= 100 && self.random.u32(..100) < faults {
                self.fault();
            }
        }
        self.loss = self.loss.min(0.05);
        self.heal();
        carries(&mut self.world, 0..count);
        self.revive(count);
        let calm = self.world.now();
        let together = self.comes_together(3000).then(|| self.world.now().since(calm));
        let facts = self.facts.borrow();
        let (installs, deliveries) = (facts.installs, facts.deliveries);
        Outcome { broken: facts.broken(), together, installs, deliveries, end: self.describe() }
    }

    /// For people.
    pub(super) fn describe(&self) -> Vec<String> {
        let all = (0..self.members.len()).map(|station| {
            let member = self.world.application(self.members[station]);
            let view = member.view.as_ref().map(|view| {
                let voters = view.members.iter().filter(|member| member.votes).count();
                (view.number, view.me, view.members.len(), voters)
            });
            let (blocked, state, alive) = (member.blocked, member.index, self.alive[station]);
            let drops = self.world.drops(self.members[station]);
            format!("{station}, alive {alive}: {view:?}, blocked {blocked}, {state:?}, {drops:?}")
        });
        all.collect()
    }
}
