//! A member as an application, and what is checked of all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::vec::Vec;

use stackwright_contract::services::{
    Ballot, Batch, Credit, GroupKind, GroupMember, GroupNotice, GroupOrder, GroupProperties,
    GroupView, Groups, GroupsIndication, GroupsRequest,
};
use stackwright_contract::{Context, Guarantees, Handle, IndicationOf, Protocol};
use stackwright_simulator::{Application, Asks};
use stackwright_wire::{Message, SingleBuffer};

type Key = (u32, Ballot);
/// A cast: who sent it, in which life, and which of its casts it is.
type Mark = [u32; 3];

/// What is known of the whole group.
#[derive(Default)]
pub(super) struct Facts {
    views: BTreeMap<u32, (Ballot, Vec<GroupMember>)>,
    /// What who went from one view to another had delivered in the first.
    between: BTreeMap<(Key, Key), BTreeSet<Mark>>,
    /// In which view a cast was delivered.
    delivered_in: BTreeMap<Mark, Key>,
    /// The state: all casts in order, as any member ever delivered them.
    log: Vec<Mark>,
    /// What its sender had delivered when it sent a cast, of each life of a member, and where.
    past: BTreeMap<Mark, (Key, BTreeMap<[u32; 2], u32>)>,
    /// What any member delivered in a view, and what was delivered before the next.
    anybody: BTreeMap<Key, BTreeSet<Mark>>,
    ended: BTreeMap<Key, BTreeSet<Mark>>,
    /// In which order.
    orders: BTreeMap<(Key, Key), Vec<Mark>>,
    /// What the stack does not promise.
    pub(super) lacks: Guarantees,
    pub(super) installs: u64,
    pub(super) deliveries: u64,
    pub(super) broken: Vec<&'static str>,
}

impl Facts {
    fn check(&mut self, promise: Guarantees, holds: bool, what: &'static str) {
        let is_promised = self.lacks.shared(promise) == Guarantees::ABSENT;
        if is_promised && !holds && !self.broken.contains(&what) {
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
    /// How much of the log it has; `None`: it has no state. And whether it had it from the view's
    /// beginning.
    pub(super) index: Option<usize>,
    whole: bool,
    first_half: usize,
    /// Whether it gives credit for what it gets, and how much it got.
    pub(super) takes: bool,
    pub(super) taken: u32,
    delivered: BTreeSet<Mark>,
    order: Vec<Mark>,
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
            index: None,
            whole: false,
            first_half: 0,
            takes: true,
            taken: 0,
            delivered: BTreeSet::new(),
            order: Vec::new(),
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
        let mut facts = self.facts.lock().unwrap();
        // Of long runs, in which all is promised, one of eight.
        let is_noted = facts.lacks != Guarantees::ABSENT || self.casts.is_multiple_of(8);
        if let Some(view) = self.view.as_ref().filter(|_| is_noted) {
            facts.past.insert(mark, ((view.number, view.ballot), self.last.clone()));
        }
        drop(facts);
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
        let order = core::mem::take(&mut self.order);
        let has_state = !facts.lacks.has(Guarantees::STATE);
        self.blocked = false;
        if view.me.is_none() {
            (self.view, self.index) = (None, None);
            return;
        }
        if !has_state || view.members.len() == 1 && self.view.is_none() {
            self.index = Some(0);
        }
        let was_whole = core::mem::replace(&mut self.whole, self.index.is_some());
        let all = facts.views.entry(view.number).or_insert((view.ballot, view.members.clone()));
        let is_one = *all == (view.ballot, view.members.clone());
        facts.check(Guarantees::VIEWS, is_one, "one primary view a number");
        if let Some(last) = self.view.as_ref().filter(|_| was_whole) {
            let both = ((last.number, last.ballot), (view.number, view.ballot));
            let same = facts.between.entry(both).or_insert_with(|| delivered.clone());
            let is_same = *same == delivered;
            facts.check(Guarantees::SYNCHRONY, is_same, "the same deliveries from view to view");
            if !has_state {
                let is_same = *facts.orders.entry(both).or_insert_with(|| order.clone()) == order;
                facts.check(Guarantees::TOTAL, is_same, "the same order from view to view");
                let any = facts.anybody.entry(both.0).or_default();
                let is_safe = any.is_subset(&delivered);
                facts.check(Guarantees::SAFE, is_safe, "what any delivered, the next view has");
                facts.ended.entry(both.0).or_insert(delivered);
            }
        }
        facts.installs += 1;
        drop(facts);
        self.last.clear();
        self.view = Some(view);
    }

    /// Takes a piece of the state: half of a number.
    fn state(&mut self, batch: Batch<SingleBuffer>, last: bool) {
        let mut octets = [0; 2];
        batch.into_single().copy_to(&mut octets);
        let half = usize::from(u16::from_be_bytes(octets));
        if last {
            self.index = Some(self.first_half | half);
        } else {
            self.first_half = half << 16;
        }
    }

    fn delivered(&mut self, batch: Batch<SingleBuffer>) {
        let mut octets = [0; 12];
        batch.into_single().copy_to(&mut octets);
        let part = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
        let mark = [part(0), part(4), part(8)];
        let mut facts = self.facts.lock().unwrap();
        facts.deliveries += 1;
        let Some(view) = &self.view else {
            let promise = Guarantees::VIEWS;
            return facts.check(promise, false, "nothing is delivered outside of a view");
        };
        let here = (view.number, view.ballot);
        let is_here = *facts.delivered_in.entry(mark).or_insert(here) == here;
        facts.check(Guarantees::SYNCHRONY, is_here, "a cast is delivered in one view");
        let last = self.last.insert([mark[0], mark[1]], mark[2]);
        let follows = last.is_none_or(|last| last + 1 == mark[2]);
        let promise = Guarantees::RELIABLE.and(Guarantees::ORDERED);
        facts.check(promise, follows, "each sender's order, without a gap");
        if let Some((view, past)) = facts.past.get(&mark)
            && *view == here
        {
            let has = |(who, upto): (&[u32; 2], &u32)| {
                *who == [mark[0], mark[1]] || self.last.get(who).is_some_and(|last| last >= upto)
            };
            let follows = past.iter().all(has);
            facts.check(Guarantees::CAUSAL, follows, "nothing before what its sender had");
        }
        let is_new = self.delivered.insert(mark);
        facts.check(Guarantees::ONCE, is_new, "at most once");
        if facts.lacks.has(Guarantees::STATE) {
            self.order.push(mark);
            facts.anybody.entry(here).or_default().insert(mark);
            let is_safe = facts.ended.get(&here).is_none_or(|all| all.contains(&mark));
            return facts.check(Guarantees::SAFE, is_safe, "what any delivered, the next view has");
        }
        let Some(index) = &mut self.index else {
            return facts.check(Guarantees::STATE, false, "nothing before the state");
        };
        if facts.log.len() == *index {
            facts.log.push(mark);
        }
        let is_it = facts.log.get(*index) == Some(&mark);
        let promise = Guarantees::TOTAL.and(Guarantees::SAFE);
        facts.check(promise, is_it, "one log at all, those who vanished included");
        *index += 1;
    }
}

impl<P: Protocol<Provides = Groups<SingleBuffer>>> Application<P> for Member {
    fn hear(&mut self, _: &Context, told: IndicationOf<P>, asks: &mut Asks<P>) {
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
            GroupsIndication::Told { notice: GroupNotice::StateWanted(member), .. } => {
                let index = self.index.unwrap_or(0) as u32;
                for (last, piece) in [(false, index >> 16), (true, index & 0xffff)] {
                    let batch = SingleBuffer::with_headroom(64, &(piece as u16).to_be_bytes());
                    let kind = GroupKind::State;
                    let properties = GroupProperties { member, kind, last, number: 0 };
                    let batch = batch.into();
                    asks.push_back(GroupsRequest::Send { association, batch, properties });
                }
            }
            GroupsIndication::Delivered { batch, properties, .. } => {
                let credit: Credit = batch.cost();
                if properties.kind == GroupKind::State {
                    self.state(batch, properties.last);
                } else {
                    self.taken += 1;
                    self.delivered(batch);
                }
                if self.takes {
                    asks.push_back(GroupsRequest::Credit { association, credit });
                }
            }
            _ => {}
        }
    }
}
