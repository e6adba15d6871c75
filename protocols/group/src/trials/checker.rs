//! A member as an application, and what is checked of all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::vec::Vec;

use stackwright_contract::services::{
    Ballot, Batch, Credit, GroupMember, GroupNotice, GroupOrder, GroupProperties, GroupView,
    GroupsIndication, GroupsRequest,
};
use stackwright_contract::{Context, Handle};
use stackwright_simulator::{Application, Asks};
use stackwright_wire::{Message, SingleBuffer};

use super::seeds::Stack;

type Key = (u32, Ballot);
/// A cast: who sent it, in which life, and which of its casts it is.
type Mark = [u32; 3];

/// What is known of the whole group.
#[derive(Default)]
pub(super) struct Facts {
    views: BTreeMap<u32, (Ballot, Vec<GroupMember>)>,
    /// What who went from one view to another had delivered in the first.
    between: BTreeMap<(Key, Key), BTreeSet<Mark>>,
    /// In which view a cast was sent.
    cast_in: BTreeMap<Mark, Key>,
    pub(super) installs: u64,
    pub(super) deliveries: u64,
    pub(super) broken: Vec<&'static str>,
}

impl Facts {
    fn check(&mut self, holds: bool, what: &'static str) {
        if !holds && !self.broken.contains(&what) {
            self.broken.push(what);
        }
    }
}

/// One process.
pub(super) struct Member {
    facts: Arc<Mutex<Facts>>,
    pub(super) name: Handle,
    pub(super) station: u32,
    /// How often it has begun.
    life: u32,
    casts: u32,
    pub(super) view: Option<Arc<GroupView>>,
    pub(super) blocked: bool,
    /// Whether it gives credit for what it gets, and how much it got.
    pub(super) takes: bool,
    pub(super) taken: u32,
    delivered: BTreeSet<Mark>,
    last: BTreeMap<[u32; 2], u32>,
}

impl Member {
    pub(super) fn new(facts: Arc<Mutex<Facts>>, station: u32) -> Self {
        Member {
            facts,
            name: Handle { index: 0, generation: 0 },
            station,
            life: 0,
            casts: 0,
            view: None,
            blocked: false,
            takes: true,
            taken: 0,
            delivered: BTreeSet::new(),
            last: BTreeMap::new(),
        }
    }

    /// Forgets everything; returns the name of its next life.
    pub(super) fn die(&mut self) -> Handle {
        *self = Member {
            name: Handle { index: 0, generation: self.name.generation + 1 },
            life: self.life + 1,
            ..Member::new(self.facts.clone(), self.station)
        };
        self.name
    }

    /// Returns its next cast.
    pub(super) fn cast(&mut self) -> GroupsRequest<SingleBuffer> {
        self.casts += 1;
        let mark = [self.station, self.life, self.casts];
        let octets: Vec<u8> = mark.iter().flat_map(|part| part.to_be_bytes()).collect();
        GroupsRequest::Send {
            association: self.name,
            batch: SingleBuffer::with_headroom(64, &octets).into(),
            properties: GroupProperties::default(),
        }
    }

    fn installed(&mut self, view: Arc<GroupView>) {
        let mut facts = self.facts.lock().unwrap();
        let delivered = core::mem::take(&mut self.delivered);
        self.blocked = false;
        if view.me.is_none() {
            self.view = None;
            return;
        }
        let all = facts.views.entry(view.number).or_insert((view.ballot, view.members.clone()));
        let is_one = *all == (view.ballot, view.members.clone());
        facts.check(is_one, "one primary view a number");
        if let Some(last) = &self.view {
            let both = ((last.number, last.ballot), (view.number, view.ballot));
            let same = facts.between.entry(both).or_insert_with(|| delivered.clone());
            let is_same = *same == delivered;
            facts.check(is_same, "the same deliveries from view to view");
        }
        facts.installs += 1;
        drop(facts);
        self.last.clear();
        self.view = Some(view);
    }

    fn delivered(&mut self, batch: Batch<SingleBuffer>) {
        let mut octets = [0; 12];
        batch.into_single().copy_to(&mut octets);
        let part = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
        let mark = [part(0), part(4), part(8)];
        let mut facts = self.facts.lock().unwrap();
        facts.deliveries += 1;
        let Some(view) = &self.view else {
            return facts.check(false, "nothing is delivered outside of a view");
        };
        let here = (view.number, view.ballot);
        if mark[..2] == [self.station, self.life] {
            facts.cast_in.insert(mark, here);
        }
        let was_cast = facts.cast_in.get(&mark) == Some(&here);
        facts.check(was_cast, "what is delivered was cast in this view");
        let last = self.last.insert([mark[0], mark[1]], mark[2]);
        let follows = last.is_none_or(|last| last + 1 == mark[2]);
        facts.check(follows, "each sender's order, without a gap");
        let is_new = self.delivered.insert(mark);
        facts.check(is_new, "at most once");
    }
}

impl Application<Stack> for Member {
    fn hear(&mut self, _: &Context, told: GroupsIndication<SingleBuffer>, asks: &mut Asks<Stack>) {
        if told.name() != self.name {
            return;
        }
        let association = self.name;
        match told {
            GroupsIndication::Told { notice: GroupNotice::View(view), .. } => self.installed(view),
            GroupsIndication::Told { notice: GroupNotice::Block, .. } => {
                self.blocked = true;
                asks.push_back(GroupsRequest::Tell { association, order: GroupOrder::Blocked });
            }
            GroupsIndication::Delivered { batch, .. } => {
                let credit: Credit = batch.cost();
                self.delivered(batch);
                self.taken += 1;
                if self.takes {
                    asks.push_back(GroupsRequest::Credit { association, credit });
                }
            }
            _ => {}
        }
    }
}
