//! Processes of a group as applications, and what is checked of all of them: each promise of a
//! group, when somebody notices that it is broken.

#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use stackwright_contract::services::{
    Ballot, Batch, Credit, GroupKind, GroupMember, GroupNotice, GroupOrder, GroupProperties,
    GroupView, Groups, GroupsIndication, GroupsRequest,
};
use stackwright_contract::{Context, Guarantees, Handle, IndicationOf, Instant, Protocol};
use stackwright_wire::Message;

use stackwright_simulator::{Application, Asks};

/// What names a view: its number, and the ballot that made it.
type Key = (u32, Ballot);

/// A cast: the station that sent it, in which life, and which of its casts it is, from 1.
pub type CastMark = [u32; 3];

/// A promise that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenPromise {
    /// What does not hold, in words.
    pub what: &'static str,
    /// The promise.
    pub promise: Guarantees,
    /// When it was noticed.
    pub at: Instant,
    /// At which station.
    pub station: u32,
    /// The cast that was delivered then, where it was one.
    pub cast: Option<CastMark>,
    /// What another had delivered in its place, where that is known.
    pub instead: Option<CastMark>,
}

/// What happened to a process of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupEvent {
    /// It delivered a cast.
    Delivered(CastMark),
    /// It entered a view.
    Entered(Arc<GroupView>),
    /// It is in no view any more.
    FellOut,
}

/// What is known of a whole group.
#[derive(Default)]
pub struct GroupRecord {
    /// The members of each view; where there is one of each number, by that.
    views: BTreeMap<Key, Vec<GroupMember>>,
    numbers: BTreeMap<u32, Ballot>,
    /// Of each view, from which one a rank came.
    origins: BTreeMap<Key, BTreeMap<usize, Key>>,
    /// What who went from one view to another had delivered in the first.
    between: BTreeMap<(Key, Key), BTreeSet<CastMark>>,
    /// In which view a cast was delivered.
    delivered_in: BTreeMap<CastMark, Key>,
    /// The state: all casts in order, as any member ever delivered them.
    log: Vec<CastMark>,
    /// What its sender had delivered when it sent a cast, of each life of a member, and where.
    past: BTreeMap<CastMark, (Key, BTreeMap<[u32; 2], u32>)>,
    /// What any member delivered in a view, and what was delivered before the next.
    anybody: BTreeMap<Key, BTreeSet<CastMark>>,
    ended: BTreeMap<Key, BTreeSet<CastMark>>,
    /// In which order.
    orders: BTreeMap<(Key, Key), Vec<CastMark>>,
    /// What the stack does not promise, and what is not checked therefore.
    pub lacks: Guarantees,
    /// Views that were entered, by all.
    pub installs: u64,
    /// Casts that were delivered, by all.
    pub deliveries: u64,
    /// What was broken, each kind once, in the order in which it was noticed.
    pub broken: Vec<BrokenPromise>,
    /// What happened, when and at which station, where that is kept.
    pub events: Option<Vec<(Instant, u32, GroupEvent)>>,
    /// Who notices, and when.
    notices: (Instant, u32, Option<CastMark>),
    /// What another had delivered, where it differs.
    instead: Option<CastMark>,
}

impl GroupRecord {
    fn check(&mut self, promise: Guarantees, holds: bool, what: &'static str) {
        let is_promised = self.lacks.shared(promise) == Guarantees::ABSENT;
        if is_promised && !holds && !self.broken().contains(&what) {
            let ((at, station, cast), instead) = (self.notices, self.instead);
            self.broken.push(BrokenPromise { what, promise, at, station, cast, instead });
        }
    }

    /// Returns what was broken, in words.
    pub fn broken(&self) -> Vec<&'static str> {
        self.broken.iter().map(|broken| broken.what).collect()
    }

    fn note(&mut self, event: GroupEvent) {
        let (at, station, _) = self.notices;
        self.events.iter_mut().for_each(|events| events.push((at, station, event.clone())));
    }
}

/// One process, which casts marks and checks those of others. Its state is how much of the log it
/// has.
pub struct GroupProcess<M> {
    record: Rc<RefCell<GroupRecord>>,
    /// The name of the group in its stack.
    pub name: Handle,
    /// Which station it is.
    pub station: u32,
    /// How often it has begun.
    life: u32,
    casts: u32,
    /// The view in which it is.
    pub view: Option<Arc<GroupView>>,
    /// Whether it may not cast before the next view.
    pub blocked: bool,
    /// How much of the log it has; `None`: it has no state.
    pub index: Option<usize>,
    /// Whether it had the state from the view's beginning.
    whole: bool,
    first_half: usize,
    /// Whether it gives credit for what it gets.
    pub takes: bool,
    /// How much it got.
    pub taken: u32,
    delivered: BTreeSet<CastMark>,
    order: Vec<CastMark>,
    last: BTreeMap<[u32; 2], u32>,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> GroupProcess<M> {
    /// Makes the process of a station.
    pub fn new(record: Rc<RefCell<GroupRecord>>, station: u32) -> Self {
        GroupProcess {
            record,
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
            message: PhantomData,
        }
    }

    /// Forgets everything; returns the name of its next life.
    pub fn die(&mut self) -> Handle {
        *self = GroupProcess {
            name: Handle { index: 0, generation: self.name.generation + 1 },
            life: self.life + 1,
            ..GroupProcess::new(self.record.clone(), self.station)
        };
        self.name
    }

    /// Returns the mark of its last cast.
    pub fn last_cast(&self) -> CastMark {
        [self.station, self.life, self.casts]
    }

    /// Returns its next cast.
    pub fn cast(&mut self) -> GroupsRequest<M> {
        self.casts += 1;
        let mark = self.last_cast();
        let mut record = self.record.borrow_mut();
        // Of long runs, in which all is promised, one of eight.
        let is_noted = record.lacks != Guarantees::ABSENT || self.casts.is_multiple_of(8);
        if let Some(view) = self.view.as_ref().filter(|_| is_noted) {
            record.past.insert(mark, ((view.number, view.ballot), self.last.clone()));
        }
        drop(record);
        let octets: Vec<u8> = mark.iter().flat_map(|part| part.to_be_bytes()).collect();
        GroupsRequest::Send {
            association: self.name,
            batch: M::with_headroom(64, &octets).into(),
            properties: GroupProperties::default(),
        }
    }

    fn installed(&mut self, view: Arc<GroupView>) {
        let mut record = self.record.borrow_mut();
        let delivered = core::mem::take(&mut self.delivered);
        let order = core::mem::take(&mut self.order);
        let has_state = !record.lacks.has(Guarantees::STATE);
        self.blocked = false;
        if view.me.is_none() {
            (self.view, self.index) = (None, None);
            return record.note(GroupEvent::FellOut);
        }
        if !has_state || view.members.len() == 1 && self.view.is_none() {
            self.index = Some(0);
        }
        let was_whole = core::mem::replace(&mut self.whole, self.index.is_some());
        record.note(GroupEvent::Entered(view.clone()));
        let here = (view.number, view.ballot);
        let is_one = *record.numbers.entry(view.number).or_insert(view.ballot) == view.ballot;
        record.check(Guarantees::PRIMARY, is_one, "one primary view a number");
        let all = record.views.entry(here).or_insert(view.members.clone());
        let is_same = *all == view.members;
        record.check(Guarantees::VIEWS, is_same, "the same members at all of a view");
        if let (Some(last), Some(me)) = (&self.view, view.me) {
            let (me, from) = (usize::from(me.0), (last.number, last.ballot));
            let part = |rank: usize| {
                view.parts.iter().filter(|first| usize::from(first.0) <= rank).count()
            };
            let origins = record.origins.entry(here).or_default();
            let mut others = origins.iter();
            let is_right =
                others.all(|(rank, other)| (part(*rank) == part(me)) == (*other == from));
            origins.insert(me, from);
            record.check(Guarantees::VIEWS, is_right, "who was in one view before is one part");
        }
        if let Some(last) = self.view.as_ref().filter(|_| was_whole) {
            let both = ((last.number, last.ballot), here);
            let same = record.between.entry(both).or_insert_with(|| delivered.clone());
            let is_same = *same == delivered;
            record.check(Guarantees::SYNCHRONY, is_same, "the same deliveries from view to view");
            if !has_state {
                let is_same = *record.orders.entry(both).or_insert_with(|| order.clone()) == order;
                record.check(Guarantees::TOTAL, is_same, "the same order from view to view");
                let any = record.anybody.entry(both.0).or_default();
                let is_safe = any.is_subset(&delivered);
                record.check(Guarantees::SAFE, is_safe, "what any delivered, the next view has");
                record.ended.entry(both.0).or_insert(delivered);
            }
        }
        record.installs += 1;
        drop(record);
        self.last.clear();
        self.view = Some(view);
    }

    /// Takes a piece of the state: half of a number.
    fn state(&mut self, batch: Batch<M>, last: bool) {
        let mut octets = [0; 2];
        batch.into_single().copy_to(&mut octets);
        let half = usize::from(u16::from_be_bytes(octets));
        if last {
            self.index = Some(self.first_half | half);
        } else {
            self.first_half = half << 16;
        }
    }

    fn delivered(&mut self, batch: Batch<M>) {
        let mut octets = [0; 12];
        batch.into_single().copy_to(&mut octets);
        let (parts, _) = octets.as_chunks();
        let mark = [0, 1, 2].map(|part: usize| u32::from_be_bytes(parts[part]));
        let mut record = self.record.borrow_mut();
        record.deliveries += 1;
        record.notices.2 = Some(mark);
        record.note(GroupEvent::Delivered(mark));
        let Some(view) = &self.view else {
            let promise = Guarantees::VIEWS;
            return record.check(promise, false, "nothing is delivered outside of a view");
        };
        let here = (view.number, view.ballot);
        let is_here = *record.delivered_in.entry(mark).or_insert(here) == here;
        record.check(Guarantees::SYNCHRONY, is_here, "a cast is delivered in one view");
        let last = self.last.insert([mark[0], mark[1]], mark[2]);
        let follows = last.is_none_or(|last| last + 1 == mark[2]);
        let promise = Guarantees::RELIABLE.and(Guarantees::ORDERED);
        record.check(promise, follows, "each sender's order, without a gap");
        if let Some((view, past)) = record.past.get(&mark)
            && *view == here
        {
            let has = |(who, upto): (&[u32; 2], &u32)| {
                *who == [mark[0], mark[1]] || self.last.get(who).is_some_and(|last| last >= upto)
            };
            let follows = past.iter().all(has);
            record.check(Guarantees::CAUSAL, follows, "nothing before what its sender had");
        }
        let is_new = self.delivered.insert(mark);
        record.check(Guarantees::ONCE, is_new, "at most once");
        if record.lacks.has(Guarantees::STATE) {
            self.order.push(mark);
            record.anybody.entry(here).or_default().insert(mark);
            let is_safe = record.ended.get(&here).is_none_or(|all| all.contains(&mark));
            return record.check(
                Guarantees::SAFE,
                is_safe,
                "what any delivered, the next view has",
            );
        }
        let Some(index) = &mut self.index else {
            return record.check(Guarantees::STATE, false, "nothing before the state");
        };
        if record.log.len() == *index {
            record.log.push(mark);
        }
        record.instead = record.log.get(*index).copied().filter(|other| *other != mark);
        let is_it = record.instead.is_none();
        let promise = Guarantees::TOTAL.and(Guarantees::SAFE);
        record.check(promise, is_it, "one log at all, those who vanished included");
        *index += 1;
    }
}

impl<M: Message, P: Protocol<Provides = Groups<M>>> Application<P> for GroupProcess<M> {
    fn hear(&mut self, cx: &Context, told: IndicationOf<P>, asks: &mut Asks<P>) {
        if told.name() != self.name {
            return;
        }
        let association = self.name;
        let mut record = self.record.borrow_mut();
        (record.notices, record.instead) = ((cx.now(), self.station, None), None);
        drop(record);
        match told {
            GroupsIndication::Told { notice: GroupNotice::View(view), .. } => self.installed(view),
            GroupsIndication::Told { notice: GroupNotice::Block, .. } => {
                self.blocked = true;
                asks.push_back(GroupsRequest::Tell { association, order: GroupOrder::Blocked });
            }
            GroupsIndication::Told { notice: GroupNotice::StateWanted(member), .. } => {
                let index = self.index.unwrap_or(0) as u32;
                for (last, piece) in [(false, index >> 16), (true, index & 0xffff)] {
                    let batch = M::with_headroom(64, &(piece as u16).to_be_bytes());
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
