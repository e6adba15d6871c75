//! Views, agreed by ballots: Paxos on the sequence of views, so that there is one primary view of
//! each number, and who goes from one to the next has delivered the same in between.
//!
//! | file | what |
//! | --- | --- |
//! | `message.rs` | what is said |
//! | `member.rs` | who is in a view: promises, accepts, installs |
//! | `round.rs` | who proposes the next view: its first voter that is not suspected and stays |
//! | `doubts.rs` | who is not heard, and by whom |
//! | `join.rs` | who is in none, and who is left behind |
//! | `parts.rs` | partitions in which each part goes on |
//! | `large.rs` | views of many, in which not all speak to all |
//! | `view.rs` | who is in a view, and how many are enough |
//!
//! ```text
//! proposer ── PREPARE(b) ──▸ all members
//!   b ≥ promised? promised = b, Block, Freeze ── PROMISE(have, accepted) ──▸
//!   all that are not suspected have promised, and a quorum: the accepted view of the highest
//!   ballot, else who promised and who joins; target = the most that any of them has
//! proposer ── ACCEPT(b, view, target) ──▸
//!   fetches up to the target, delivers none of it, then accepted = it ── ACCEPTED ──▸
//!   all of the next view that promised, and a quorum
//! proposer ── INSTALL(view, target) ──▸ old and new
//!   delivers up to the target; then Install down, View up
//! ```

mod doubts;
mod join;
mod large;
mod member;
mod message;
mod parts;
mod round;
mod view;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{
    Ballot, Batch, CastCounts, Credit, GroupKind, GroupNotice, GroupOrder, GroupProperties,
    GroupView, Outsider, Rank,
};
use stackwright_contract::{Duration, Facts, Guarantees, Instant, Participant};
use stackwright_wire::Message as Octets;

use crate::layer::{GroupHooks, GroupPlace};
use crate::log::AHEAD_MOST;
use crate::wire;
use doubts::Doubts;
use join::Answers;
use message::{Choice, Message, ViewKey, What, key};
pub use message::{ViewsHeader, reencoded};
pub use parts::PartitionedViews;
use parts::{Guest, Larger};
use round::{Promise, Round};
pub(crate) use view::quorum;
#[cfg(test)]
pub(crate) use view::quorum_of;
use view::rank;

const NAME: &str = "group membership";

/// Who may join in one view, at most.
const JOINERS_MOST: usize = 256;

/// Of these, processes of one address.
const NEIGHBOURS_MOST: usize = 8;

/// One question of a process outside of the view is answered in this time, on average, where an
/// answer is longer than its question.
const ANSWER: Duration = Duration::from_millis(100);

/// And that many at once.
const ANSWERS_MOST: u32 = 8;

/// And in this time where it is as long.
const HINT: Duration = Duration::from_millis(1);

/// How a group begins, and how fast it changes.
#[derive(Clone, Copy, Debug)]
pub struct ViewsConfig {
    /// A process that has heard of no group for this long begins one, unless it hears of a process
    /// with a lower address that would begin one; `None`: it waits for a group. Nobody begins a
    /// group twice: the second would stand beside the first.
    pub founding: Option<Duration>,
    /// A proposal without progress for this long is given up for a higher one.
    pub round: Duration,
    /// How long the application may take to stop casting; then its casts wait for the next view.
    pub patience: Duration,
    /// The rule that is left out, by its number; 0: none.
    #[cfg(test)]
    pub(crate) mutant: u8,
}

impl Default for ViewsConfig {
    fn default() -> Self {
        ViewsConfig {
            founding: None,
            round: Duration::from_millis(300),
            patience: Duration::from_secs(1),
            #[cfg(test)]
            mutant: 0,
        }
    }
}

/// A process: an address that comes back is another one.
type Identity = (Participant, u64);

/// The hooks of the layer.
pub struct Views<M> {
    config: ViewsConfig,
    group: Option<Participant>,
    /// Whether a layer above has a state, so that a member that joins votes after
    /// [`GroupOrder::Ready`] only.
    has_state: bool,
    /// Whether each part of a divided group goes on.
    each: bool,
    own: Identity,
    /// Whether it has the state.
    is_ready: bool,
    view: Option<InView>,
    round: Option<Round>,
    /// Processes that want to join, each with the time of its last JOIN.
    joiners: BTreeMap<Identity, Instant>,
    /// Participants that were left out, and until when they wait.
    waiters: BTreeMap<Participant, Instant>,
    /// Members that have the state.
    readies: BTreeSet<Identity>,
    /// Members that leave.
    leavers: BTreeSet<Identity>,
    /// The way out of the last view, for members that are still in it.
    way_out: Option<(ViewKey, Choice)>,
    /// A part with a larger view, and when this one is announced next.
    larger: Option<Larger>,
    announces: Instant,
    /// Parts that want to be in the next view, by their first members; and those that came into
    /// this one.
    guests: BTreeMap<Identity, Guest>,
    merged: Vec<(Identity, Ballot, Choice)>,
    /// The highest count of all ballots that were proposed, as far as it is known.
    most: u32,
    /// Before then no proposal is begun.
    waits: Instant,
    ticks: Instant,
    /// Answers to who is outside of the view: long ones, and short ones.
    answers: Answers,
    hints: Answers,
    /// Since when no group was heard of.
    silent: Instant,
    /// Until when it waits for the view without it.
    leaves: Option<Instant>,
    /// Casts that wait for the next view.
    held: VecDeque<(Batch<M>, GroupProperties)>,
    /// What it says to itself.
    to_self: VecDeque<Message>,
    /// A view of more members is a large one.
    pub(crate) large: usize,
}

/// What a member knows of its view.
struct InView {
    view: Arc<GroupView>,
    doubts: Doubts,
    /// The most of each sender's casts that any member said it has.
    held: Vec<u32>,
    /// Since when its casts wait, and whether the layer above has stopped.
    blocked: Option<(Instant, bool)>,
    promised: Ballot,
    /// A ballot that is not known here has stopped some member.
    is_due: bool,
    /// Who proposed that, and whether it waits for the promise.
    proposer: Option<(Participant, bool)>,
    offered: Option<Choice>,
    accepted: Option<Choice>,
    installs: Option<Choice>,
    /// What the log below is to fetch.
    fills: Option<CastCounts>,
}

impl InView {
    /// Notes what a member has.
    fn holds(&mut self, upto: &[u32]) {
        let both = self.held.iter_mut().zip(upto);
        both.for_each(|(held, upto)| *held = (*held).max(*upto));
    }

    /// Returns whether so many casts of each sender may exist: the log takes none that is further
    /// ahead.
    fn may_exist(&self, upto: &[u32]) -> bool {
        let mut both = self.held.iter().zip(upto);
        both.all(|(held, upto)| *upto <= held.saturating_add(AHEAD_MOST))
    }
}

impl<M: Octets> Views<M> {
    /// Makes the hooks.
    pub fn new(config: ViewsConfig) -> Self {
        Views {
            config,
            group: None,
            has_state: false,
            each: false,
            own: (Participant::OTHER_END, 0),
            is_ready: false,
            view: None,
            round: None,
            joiners: BTreeMap::new(),
            waiters: BTreeMap::new(),
            readies: BTreeSet::new(),
            leavers: BTreeSet::new(),
            way_out: None,
            larger: None,
            announces: Instant::START,
            guests: BTreeMap::new(),
            merged: Vec::new(),
            most: 0,
            waits: Instant::START,
            ticks: Instant::END,
            answers: Answers::NONE,
            hints: Answers::NONE,
            silent: Instant::START,
            leaves: None,
            held: VecDeque::new(),
            to_self: VecDeque::new(),
            large: wire::LARGE,
        }
    }

    /// Returns the views that it is in, was offered, has accepted or proposes, and whether it has
    /// the state: what is lost with its memory.
    pub fn views(&self) -> (impl Iterator<Item = &GroupView>, bool) {
        let own = self.view.iter();
        let of = own.flat_map(|own| {
            let choices = [&own.offered, &own.accepted, &own.installs].into_iter().flatten();
            choices.map(|choice| &*choice.view).chain([&*own.view])
        });
        let proposed = self.round.iter().filter_map(|round| Some(&*round.chosen.as_ref()?.view));
        (of.chain(proposed), self.is_ready)
    }

    /// Returns which process it is.
    pub fn identity(&self) -> (Participant, u64) {
        self.own
    }

    /// Returns whether a rule of the algorithm holds: a mutant lacks one.
    #[inline(always)]
    fn keeps(&self, _rule: u8) -> bool {
        #[cfg(test)]
        return self.config.mutant != _rule;
        #[cfg(not(test))]
        true
    }

    fn key(&self) -> Option<ViewKey> {
        self.view.as_ref().map(|own| key(&own.view))
    }

    /// Says something of a view to a participant, which may be oneself.
    fn say(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        participant: Participant,
        of: ViewKey,
        ballot: Ballot,
        what: What,
    ) {
        let message = Message { of, ballot, what };
        if participant == self.own.0 {
            return self.to_self.push_back(message);
        }
        let (incarnation, octets) = (self.own.1, message.encode());
        let message = M::with_headroom(64, &octets);
        at.order(GroupOrder::Outside(Box::new(Outsider { participant, incarnation, message })));
    }

    /// Says something to every member of the own view.
    fn say_to_all(&mut self, at: &mut dyn GroupPlace<M>, ballot: Ballot, what: &What) {
        let Some(view) = self.view.as_ref().map(|own| own.view.clone()) else { return };
        for member in &view.members {
            self.say(at, member.participant, key(&view), ballot, what.clone());
        }
    }

    /// Handles what was said, by others and then by oneself.
    fn hear(&mut self, at: &mut dyn GroupPlace<M>, from: Identity, message: Message) {
        self.handle(at, from, message);
        self.hear_self(at);
    }

    fn hear_self(&mut self, at: &mut dyn GroupPlace<M>) {
        while let Some(message) = self.to_self.pop_front() {
            self.handle(at, self.own, message);
        }
    }

    fn handle(&mut self, at: &mut dyn GroupPlace<M>, from: Identity, message: Message) {
        let Message { of, ballot, what } = message;
        let is_here = self.key() == Some(of);
        // A joiner is answered only where it is in the view already.
        let asks = match what {
            What::Prepare | What::Announce { first: false } => true,
            What::Join { .. } => self.rank(from).is_some(),
            _ => false,
        };
        let is_outside = asks && !is_here && self.view.is_some() && from != self.own;
        if is_outside && !self.answers.allows(at.cx().now(), ANSWER, ANSWERS_MOST) {
            return at.cx().dropped(NAME, "too many questions from outside of the view");
        }
        match what {
            What::Prepare if is_here => self.prepare(at, from, ballot),
            What::Prepare => self.show_way_out(at, from.0, of),
            What::Promise { votes, have, accepted, suspects } if is_here => {
                self.promised(at, from, ballot, Promise { votes, have, suspects }, accepted);
            }
            What::Refuse if is_here => self.refused(at, ballot),
            What::Accept(choice) if is_here => self.offer(at, from.0, choice),
            What::Accepted if is_here => self.accepted(at, from, ballot),
            What::Install(choice) => self.told_to_install(at, of, choice),
            What::Join { founds } => self.asked_to_join(at, from, of, founds),
            What::Here { first } => self.is_answered(at, from.0, of, first),
            What::Ready if self.rank(from).is_some() => drop(self.readies.insert(from)),
            What::Leave if self.rank(from).is_some() => drop(self.leavers.insert(from)),
            What::Announce { first } => self.announced(at, from, (of, ballot), first),
            What::Merge(view) => self.asked_to_merge(at, from, (of, ballot), &view),
            What::Merged(choice) => self.is_merged(at, ballot, &choice.view),
            What::Unheard { ranks, yields } if is_here => {
                self.complained(at, from, (ranks, yields));
            }
            What::Newer(view) => self.left_behind(at, ballot, &view),
            _ => {}
        }
    }

    /// Returns the rank of a process in the own view.
    fn rank(&self, who: Identity) -> Option<usize> {
        rank(&self.view.as_ref()?.view, who)
    }

    /// Begins a view: below, then above, then with what waited for it.
    fn enter(&mut self, at: &mut dyn GroupPlace<M>, view: &GroupView) {
        let me = rank(view, self.own).map(|rank| Rank(rank as u16));
        let view = Arc::new(GroupView { me, ..view.clone() });
        self.round = None;
        self.larger = None;
        self.guests.clear();
        self.joiners.clear();
        self.readies.clear();
        self.leavers.clear();
        self.view = me.is_some().then(|| InView {
            doubts: Doubts::new(view.members.len()),
            held: alloc::vec![0; view.members.len()],
            blocked: None,
            promised: Ballot::default(),
            is_due: false,
            proposer: None,
            offered: None,
            accepted: None,
            installs: None,
            fills: None,
            view: view.clone(),
        });
        at.order(GroupOrder::Install(view.clone()));
        if self.is_ready {
            at.order(GroupOrder::Ready);
        }
        at.notice(GroupNotice::View(view));
        if me.is_none() {
            return;
        }
        self.config.founding = None;
        for (batch, properties) in core::mem::take(&mut self.held) {
            // A rank of the last view names nobody in this one.
            if properties.kind == GroupKind::Cast {
                at.send(batch, properties);
            } else {
                at.give(batch.cost());
            }
        }
    }
}

impl<M: Octets> GroupHooks<M> for Views<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        gives: Guarantees::VIEWS.and(Guarantees::SYNCHRONY).and(Guarantees::PRIMARY),
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        ..Facts::named(NAME)
    };

    fn open(&mut self, _: &mut dyn GroupPlace<M>, group: Participant, _: Credit) {
        self.group = Some(group);
    }

    fn opened(&mut self, at: &mut dyn GroupPlace<M>, local: Participant, credit: Credit) {
        self.own = (local, at.cx().random(u64::MAX));
        (self.silent, self.ticks) = (at.cx().now(), at.cx().now());
        at.opened(local, credit);
    }

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, to: GroupProperties) {
        match &self.view {
            Some(InView { blocked: None | Some((_, false)), .. }) => at.send(batch, to),
            _ => self.held.push_back((batch, to)),
        }
    }

    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        match order {
            GroupOrder::Layer(layer) => {
                self.has_state |= layer.gives.has(Guarantees::STATE);
                at.order(GroupOrder::Layer(layer));
            }
            GroupOrder::Blocked => self.stopped(at),
            GroupOrder::Ready => {
                self.is_ready = true;
                at.order(GroupOrder::Ready);
            }
            GroupOrder::Suspect(member) => self.suspect(member, Some(at.cx().now())),
            other => at.order(other),
        }
        self.hear_self(at);
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        match notice {
            GroupNotice::Outside(mut outsider) => {
                let length = outsider.message.len();
                match outsider.message.front(length).and_then(Message::decode) {
                    Some(said) => {
                        let from = (outsider.participant, outsider.incarnation);
                        self.hear(at, from, said);
                    }
                    None => at.cx().dropped(NAME, "no message about views"),
                }
            }
            GroupNotice::Held { by, votes, upto } => {
                if let Some(own) = &mut self.view {
                    own.holds(&upto);
                }
                return at.notice(GroupNotice::Held { by, votes, upto });
            }
            GroupNotice::Frozen(have) => self.frozen(at, &have),
            GroupNotice::Filled => self.filled(at),
            GroupNotice::Suspected(member) => {
                self.suspect(member, Some(at.cx().now()));
                at.notice(GroupNotice::Suspected(member));
            }
            // A ballot that has begun goes on without it: it comes back as a joiner.
            GroupNotice::Heard(member) => {
                self.suspect(member, None);
                at.notice(GroupNotice::Heard(member));
            }
            other => return at.notice(other),
        }
        self.hear_self(at);
    }

    fn close(&mut self, at: &mut dyn GroupPlace<M>) {
        let is_alone = self.view.as_ref().is_none_or(|own| own.view.members.len() == 1);
        if is_alone {
            return at.close();
        }
        self.leaves = Some(at.cx().now() + self.config.patience);
        self.ticks = at.cx().now();
    }

    fn ended(&mut self) {
        let Views { each, large, .. } = *self;
        *self = Views { each, large, ..Views::new(self.config) };
    }

    fn timeout(&mut self, at: &mut dyn GroupPlace<M>) {
        let now = at.cx().now();
        self.ticks = now + self.often();
        if self.leaves.is_some_and(|leaves| leaves <= now) {
            return at.close();
        }
        if self.view.is_some() {
            self.lose_patience(at);
            self.speak_up(at);
            self.announce(at);
            self.go_on(at);
            if self.is_quiet() {
                self.ticks = now + self.config.round;
            }
        } else {
            self.join(at);
        }
        self.hear_self(at);
    }

    fn next_deadline(&self) -> Option<Instant> {
        Some(self.ticks)
    }
}
