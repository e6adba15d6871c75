//! A replica: operations of its own clients are cast, applied in the one order of all casts, and
//! answered with the reply of the own state machine.
//!
//! An operation that is on its way when the view changes is not lost: a member that stays has
//! delivered all its casts of the old view, so what is not answered was not applied, and is cast
//! again. One that fell out learns from the state that it gets what was applied meanwhile.

mod cast;
mod membership;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{Credit, GroupKind, GroupView, GroupsIndication, Rank};
use stackwright_contract::{Duration, Handle, Instant, Participant, earliest};
use stackwright_wire::Message;

use crate::log::{Applied, REPLIES_MOST};
use crate::machine::Machine;
use crate::pieces::{Assembly, Cast, OPERATION_MOST, Operation};

/// How long an operation may take: then its client is answered, one way or the other.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Octets of operations on their way, at most.
const OCTETS_MOST: usize = 16 << 20;
/// Octets of operations that are made casts at a time.
const AHEAD: usize = 64 << 10;
/// How often the first member tells the time, and how often where something waits for it.
const TELLS: Duration = Duration::from_secs(1);
const TELLS_OFTEN: Duration = Duration::from_millis(100);
/// Casts of the state for each of operations, while both wait.
const GIVEN: usize = 8;
/// The longest state that is taken.
const STATE_MOST: usize = 256 << 20;

/// What became of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was applied at a quorum; the reply of the state machine.
    Done(Vec<u8>),
    /// It was not applied, and never will be.
    Refused(Hindrance),
    /// It was not applied, and never will be: its turn did not come in time.
    Late,
    /// It may have been applied, or may be later.
    Unknown,
}

/// Why no operation can be applied now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hindrance {
    /// This replica is in no group yet, or was left behind: it joins.
    NoGroup,
    /// It is in the group, and gets the state.
    NoState,
    /// These voters are silent, and `needed` of them have to answer before the group goes on.
    NoQuorum {
        /// The voters that are silent.
        silent: Vec<Participant>,
        /// How many of them are needed.
        needed: usize,
    },
}

struct Pending {
    token: u64,
    number: u64,
    reads: bool,
    octets: Vec<u8>,
    until: Instant,
}

/// A state that is on its way to a member, and how much of it has left.
struct Gift {
    to: Rank,
    octets: Arc<[u8]>,
    left: usize,
}

/// A replica with the state machine `S`.
pub struct Replica<S> {
    machine: S,
    name: Handle,
    origin: u64,
    numbers: u64,
    /// The state's time, in milliseconds, and the first member's clock: what it said, and when.
    time: u64,
    clock: (u64, Instant),
    applied: Applied,
    /// Whether there is a state, and whether it is that of the view.
    has_state: bool,
    is_current: bool,
    view: Option<Arc<GroupView>>,
    suspects: Vec<bool>,
    /// How many casts of the view each member has.
    held: Vec<u64>,
    blocked: bool,
    credit: Credit,
    /// Operations whose last piece has not left, and those whose has; by number.
    queue: VecDeque<Pending>,
    sent: VecDeque<Pending>,
    octets: usize,
    /// Casts of the first operations of the queue.
    casts: VecDeque<(Vec<u8>, Option<u64>)>,
    assemblies: Vec<Assembly>,
    /// The state at the beginning of the view, as long as it is the present one.
    snapshot: Option<Arc<[u8]>>,
    gifts: VecDeque<Gift>,
    getting: Vec<u8>,
    tells: Instant,
    outcomes: VecDeque<(u64, Outcome)>,
    /// Credit to give, and whether the end of the view is to be answered.
    back: Credit,
    stops: bool,
}

impl<S: Machine> Replica<S> {
    /// Makes a replica of the group that the caller opens as `name`; `origin`: drawn at random.
    pub fn new(machine: S, name: Handle, origin: u64) -> Self {
        Replica {
            machine,
            name,
            origin,
            numbers: 0,
            time: 0,
            clock: (0, Instant::START),
            applied: Applied::default(),
            has_state: false,
            is_current: false,
            view: None,
            suspects: Vec::new(),
            held: Vec::new(),
            blocked: false,
            credit: Credit::NONE,
            queue: VecDeque::new(),
            sent: VecDeque::new(),
            octets: 0,
            casts: VecDeque::new(),
            assemblies: Vec::new(),
            snapshot: None,
            gifts: VecDeque::new(),
            getting: Vec::new(),
            tells: Instant::START,
            outcomes: VecDeque::new(),
            back: Credit::NONE,
            stops: false,
        }
    }

    /// Returns the state machine and the group's time, for what is read here alone: its state is
    /// one that the group had. `None`: there is none yet.
    pub fn state(&self) -> Option<(&S, u64)> {
        self.has_state.then_some((&self.machine, self.time))
    }

    /// Returns the view that it is in.
    pub fn view(&self) -> Option<&GroupView> {
        self.view.as_deref()
    }

    /// Returns whether it is the first voter of the view, whose clock the group has.
    pub fn is_first(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.me.is_some() && first(view) == view.me)
    }

    /// Returns how a member of the view is: whether it is silent, and how many casts it lacks that
    /// another has, as far as it was heard here.
    pub fn member(&self, Rank(rank): Rank) -> (bool, u64) {
        let rank = usize::from(rank);
        let held = self.held.get(rank).copied().unwrap_or(0);
        let most = self.held.iter().max().copied().unwrap_or(0);
        (self.suspects.get(rank).is_some_and(|silent| *silent), most - held)
    }

    /// Returns why no operation can be applied now.
    pub fn hindrance(&self) -> Option<Hindrance> {
        let Some(view) = &self.view else { return Some(Hindrance::NoGroup) };
        if !self.is_current {
            return Some(Hindrance::NoState);
        }
        let suspected = |rank: usize| self.suspects.get(rank).is_some_and(|suspect| *suspect);
        let silent: Vec<usize> = (0..view.members.len())
            .filter(|rank| view.members[*rank].votes && suspected(*rank))
            .collect();
        let enough = |more: usize| {
            let back = &silent[..more];
            view.is_quorum(|Rank(rank)| {
                let rank = usize::from(rank);
                !suspected(rank) || back.contains(&rank)
            })
        };
        let needed = (0..=silent.len()).find(|more| enough(*more)).unwrap_or(silent.len());
        let silent = silent.iter().map(|rank| view.members[*rank].participant).collect();
        (needed > 0).then_some(Hindrance::NoQuorum { silent, needed })
    }

    /// Returns whether [`submit`](Replica::submit) takes an operation.
    pub fn has_room(&self) -> bool {
        let most = REPLIES_MOST / 2;
        self.octets < OCTETS_MOST && self.queue.len() + self.sent.len() < most
    }

    /// Takes an operation; its [outcome](Replica::next_outcome) has the same `token`, which the
    /// caller gives to one operation only. `reads`: it changes nothing.
    pub fn submit(&mut self, now: Instant, token: u64, operation: Vec<u8>, reads: bool) {
        let hindrance = self.hindrance();
        if let Some(hindrance) = hindrance {
            return self.outcomes.push_back((token, Outcome::Refused(hindrance)));
        }
        if operation.len() > OPERATION_MOST {
            return self.outcomes.push_back((token, Outcome::Late));
        }
        self.numbers += 1;
        self.octets += operation.len();
        let (number, until) = (self.numbers, now + PATIENCE);
        self.queue.push_back(Pending { token, number, reads, octets: operation, until });
    }

    /// Returns what became of an operation.
    pub fn next_outcome(&mut self) -> Option<(u64, Outcome)> {
        self.outcomes.pop_front()
    }

    /// Handles a word of the group.
    pub fn hear<M: Message>(&mut self, now: Instant, told: GroupsIndication<M>) {
        match told {
            GroupsIndication::Opened { credit, .. } | GroupsIndication::Credit { credit, .. } => {
                self.credit += credit;
            }
            GroupsIndication::Delivered { batch, properties, .. } => {
                self.back += batch.cost();
                let mut message = batch.into_single();
                let length = message.len();
                let octets = message.front(length).unwrap_or_default();
                if properties.kind == GroupKind::State {
                    self.get(now, octets, properties.last);
                } else {
                    self.delivered(now, properties.member, octets);
                }
            }
            GroupsIndication::Told { notice, .. } => self.told(now, notice),
            GroupsIndication::Ended { .. } => self.leave(),
            _ => {}
        }
    }

    fn delivered(&mut self, now: Instant, Rank(member): Rank, cast: &[u8]) {
        if !self.is_current {
            return;
        }
        self.snapshot = None;
        let Some(place) = self.assemblies.get_mut(usize::from(member)) else { return };
        let mut assembly = core::mem::take(place);
        match assembly.take(cast) {
            Some(Cast::Time(time)) => {
                self.time = self.time.max(time);
                if !self.is_first() {
                    self.clock = (time, now);
                }
                self.machine.pass(self.time);
            }
            Some(Cast::Operations(origin, operations)) => {
                operations.for_each(|operation| self.apply(origin, operation));
            }
            None => self.assemblies[usize::from(member)] = assembly,
        }
    }

    fn apply(&mut self, origin: u64, operation: Operation<'_>) {
        let Operation { number, time, reads, octets } = operation;
        self.time = self.time.max(time);
        if !self.applied.begin(origin, number) {
            return;
        }
        let reply = self.machine.apply(self.time, octets);
        if !reads {
            self.applied.keep(origin, number, &reply);
        }
        let own = self.sent.iter().position(|own| origin == self.origin && own.number == number);
        if let Some(own) = own.and_then(|own| self.sent.remove(own)) {
            self.octets -= own.octets.len();
            self.outcomes.push_back((own.token, Outcome::Done(reply)));
        }
    }

    /// Returns the first member's clock, as far as it is known here.
    fn time_at(&self, now: Instant) -> u64 {
        let (said, when) = self.clock;
        let since = now.since(when).as_millis() as u64;
        self.time.max(said.saturating_add(since))
    }

    /// Handles the passage of time.
    pub fn timeout(&mut self, now: Instant) {
        let is_late = |pending: &Pending| pending.until <= now;
        // Its pieces that have left are nothing without the last.
        if self.queue.iter().any(is_late) {
            self.casts.clear();
        }
        let lists = [(&mut self.queue, Outcome::Late), (&mut self.sent, Outcome::Unknown)];
        for (list, outcome) in lists {
            list.retain(|pending| {
                if is_late(pending) {
                    self.octets -= pending.octets.len();
                    self.outcomes.push_back((pending.token, outcome.clone()));
                }
                !is_late(pending)
            });
        }
    }

    /// Returns when to call [`timeout`](Replica::timeout), and then [`pump`](Replica::pump).
    pub fn next_deadline(&self) -> Option<Instant> {
        let until = self.queue.iter().chain(&self.sent).map(|pending| pending.until).min();
        let tells = (self.is_first() && !self.blocked).then_some(self.tells);
        earliest(until, tells)
    }
}

/// Returns the first voter of a view.
fn first(view: &GroupView) -> Option<Rank> {
    let first = view.members.iter().position(|member| member.votes);
    first.map(|rank| Rank(rank as u16))
}
